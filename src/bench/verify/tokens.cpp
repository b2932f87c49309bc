// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/tensor/safetensors.hpp"

namespace assay {
namespace {

template <class T>
std::span<const T> values_of(const TensorView& view) {
  return {reinterpret_cast<const T*>(view.bytes.data()), view.bytes.size() / sizeof(T)};
}

// Whether `ids` are tokens for these largest logits.
bool fits(const TensorView& ids, const TensorView& best_ids, const TensorView& best_logits) {
  const Shape& shape = best_ids.shape;
  return ids.dtype == DType::kInt64 && best_ids.dtype == DType::kInt64 && best_logits.dtype == DType::kFloat32 &&
         shape.size() == 3 && shape[2] >= 1 && best_logits.shape == shape && ids.shape == Shape{shape[0], shape[1]};
}

tl::unexpected<Error> misfit(const TensorView& ids, const Shape& shape) {
  return fail(ErrorCode::kMismatch, fmt::format("the tokens are {} {}, those of the reference {}", to_string(ids.dtype),
                                                to_string(ids.shape), to_string(shape)));
}

}  // namespace

Result<TokenCheck> check_tokens(const std::filesystem::path& largest, const TensorView& ids, double margin) {
  ASSAY_TRY(const SafetensorsFile file, SafetensorsFile::open(largest));
  ASSAY_TRY(const TensorView best_ids, file.tensor("ids"));
  ASSAY_TRY(const TensorView best_logits, file.tensor("logits"));
  const Shape& shape = best_ids.shape;
  if (!fits(ids, best_ids, best_logits)) return misfit(ids, shape);
  const auto n = static_cast<std::size_t>(shape[2]);
  const std::span<const std::int64_t> given = values_of<std::int64_t>(ids), best = values_of<std::int64_t>(best_ids);
  const std::span<const float> logits = values_of<float>(best_logits);
  TokenCheck check;
  check.tokens = std::ssize(given);
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    for (std::int64_t place = 0; place < shape[1]; ++place) {
      const auto at = static_cast<std::size_t>(row * shape[1] + place);
      const auto candidates = best.subspan(at * n, n);
      ++check.compared;
      if (given[at] == candidates.front()) continue;
      // A token that is not among the largest has at most the least of them.
      const auto found = std::ranges::find(candidates, given[at]);
      const auto rank = static_cast<std::size_t>(std::min(found, candidates.end() - 1) - candidates.begin());
      const double deficit = static_cast<double>(logits[at * n]) - static_cast<double>(logits[at * n + rank]);
      if (!(deficit <= margin) && check.message.empty())
        check.message = fmt::format(
            "token {} of sequence {} is {} instead of {}: the reference's logit of it is {}{:.3g} less, {:.3g} may be",
            place + 1, row + 1, given[at], candidates.front(), found == candidates.end() ? "at least " : "", deficit,
            margin);
      break;
    }
  }
  return check;
}

Result<TokenCheck> check_forced_tokens(const std::filesystem::path& largest, const TensorView& ids, double margin) {
  ASSAY_TRY(const SafetensorsFile file, SafetensorsFile::open(largest));
  ASSAY_TRY(const TensorView best_ids, file.tensor("ids"));
  ASSAY_TRY(const TensorView best_logits, file.tensor("logits"));
  ASSAY_TRY(const TensorView forced, file.tensor("forced"));
  if (!fits(ids, best_ids, best_logits) || forced.dtype != DType::kFloat32 || forced.shape != ids.shape)
    return misfit(ids, best_ids.shape);
  const auto n = static_cast<std::size_t>(best_ids.shape[2]);
  const std::span<const std::int64_t> given = values_of<std::int64_t>(ids), best = values_of<std::int64_t>(best_ids);
  const std::span<const float> logits = values_of<float>(best_logits), own = values_of<float>(forced);
  const auto length = static_cast<std::size_t>(ids.shape[1]);
  TokenCheck check{.tokens = std::ssize(given), .compared = std::ssize(given), .message = {}};
  for (std::size_t at = 0; at < given.size() && check.message.empty(); ++at) {
    const double deficit = static_cast<double>(logits[at * n]) - static_cast<double>(own[at]);
    if (!(deficit <= margin))
      check.message = fmt::format(
          "token {} of sequence {} is {}; after the same tokens the reference's logit of it is {:.3g} less than "
          "that of {}, {:.3g} may be",
          at % length + 1, at / length + 1, given[at], deficit, best[at * n], margin);
  }
  return check;
}

}  // namespace assay
