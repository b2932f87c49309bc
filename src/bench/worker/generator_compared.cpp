// SPDX-License-Identifier: Apache-2.0
// What generators return to be compared with a reference: logits, and the largest of them.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "bench/worker/generator.hpp"
#include "core/base/clock.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/ulp.hpp"

namespace assay {
namespace {

// A row of logits of the last position, as float32.
void copy_row(const TensorView& view, std::size_t row, std::span<float> to) {
  const std::size_t bytes = view.bytes.size() / static_cast<std::size_t>(view.shape[0]);
  const auto from = view.bytes.subspan(row * bytes, bytes);
  if (view.dtype == DType::kFloat32)
    std::memcpy(to.data(), from.data(), bytes);
  else
    widen(view.dtype, from, to);
}

}  // namespace

Result<Tensor> Generator::run_teacher_forced(std::size_t set, std::uint64_t seed, double& prompt_ms) {
  const SteadyClock clock;
  ASSAY_CHECK_OK(reset(set));
  const std::int64_t start = clock.now_ns();
  ASSAY_CHECK_OK(begin());
  prompt_ms = static_cast<double>(clock.now_ns() - start) / 1e6;
  const std::vector<std::int64_t> compared = compared_tokens(generation_.output_tokens);
  const CounterRandom random(seed, "taught tokens");  // the same for every set: files of a set may be bound as another
                                                      // one. The tag decides the tokens of stored references
  Tensor all;
  for (std::size_t place = 0;;) {
    ASSAY_TRY(const TensorView view, logits());
    const std::int64_t batch = view.shape[0], width = view.shape[2];
    if (all.shape().empty()) {
      ASSAY_TRY(all, Tensor::create(DType::kFloat32, {batch, std::ssize(compared), width}));
    } else if (width != all.shape()[2]) {
      return fail(ErrorCode::kMismatch, fmt::format("'{}' has {} columns after the prompt and {} after a further token",
                                                    generation_.logits, all.shape()[2], width));
    }
    if (further_ == compared[place]) {
      const auto columns = static_cast<std::size_t>(width);
      for (std::size_t row = 0; row < static_cast<std::size_t>(batch); ++row)
        copy_row(view, row, all.as<float>().subspan((row * compared.size() + place) * columns, columns));
      if (++place == compared.size()) return all;
    }
    const std::int64_t n = at_once_ ? compared[place] - further_ : 1;
    ASSAY_TRY(Tensor tokens, Tensor::create(tokens_.dtype(), {batch, n}));
    for (std::int64_t row = 0; row < batch; ++row)
      for (std::int64_t i = 0; i < n; ++i)
        put(tokens, static_cast<std::size_t>(row * n + i),
            random.integer(static_cast<std::uint64_t>((further_ + i) * batch + row), 0, width - 1));
    if (at_once_) {
      ASSAY_CHECK_OK(next(tokens));
    } else {
      std::ranges::copy(tokens.bytes(), tokens_.bytes().begin());
      ASSAY_CHECK_OK(next());
    }
  }
}

Result<Generator::Largest> Generator::run_largest(std::size_t set, const std::optional<TensorView>& forced) {
  const Shape expected{tokens_.shape()[0], generation_.output_tokens};
  Largest found;
  if (forced) {
    if (forced->dtype != DType::kInt64 || forced->shape != expected)
      return fail(ErrorCode::kMismatch,
                  fmt::format("tokens of {} {} cannot be forced, only int64 {}", to_string(forced->dtype),
                              to_string(forced->shape), to_string(expected)));
    ASSAY_TRY(found.forced, Tensor::create(DType::kFloat32, expected));
  }
  ASSAY_CHECK_OK(begin_again(set));
  std::vector<float> values;
  std::vector<std::size_t> order;
  const auto tokens = static_cast<std::size_t>(generation_.output_tokens);
  for (std::size_t token = 0;; ++token) {
    ASSAY_TRY(const TensorView view, logits());
    const auto batch = static_cast<std::size_t>(view.shape[0]), width = static_cast<std::size_t>(view.shape[2]);
    const std::size_t n = std::min(kLargestLogits, width);
    if (token == 0) {
      const Shape shape{view.shape[0], generation_.output_tokens, static_cast<std::int64_t>(n)};
      ASSAY_TRY(found.ids, Tensor::create(DType::kInt64, shape));
      ASSAY_TRY(found.logits, Tensor::create(DType::kFloat32, shape));
      values.resize(width);
      order.resize(width);
    } else if (width != values.size()) {
      return fail(ErrorCode::kMismatch,
                  fmt::format("'{}' changes its width from {} to {}", generation_.logits, values.size(), width));
    }
    for (std::size_t row = 0; row < batch; ++row) {
      copy_row(view, row, values);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(n), [&](auto a, auto b) {
        return values[a] > values[b] || (values[a] == values[b] && a < b);
      });
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t to = (row * tokens + token) * n + i;
        found.ids.as<std::int64_t>()[to] = static_cast<std::int64_t>(order[i]);
        found.logits.as<float>()[to] = values[order[i]];
      }
      auto chosen = static_cast<std::int64_t>(order.front());
      if (forced) {
        const std::size_t at = row * tokens + token;
        chosen = reinterpret_cast<const std::int64_t*>(forced->bytes.data())[at];
        if (chosen < 0 || chosen >= view.shape[2])
          return fail(ErrorCode::kMismatch, fmt::format("token {} is outside of the vocabulary of {}", chosen, width));
        found.forced.as<float>()[at] = values[static_cast<std::size_t>(chosen)];
      }
      put(tokens_, row, chosen);
    }
    if (token + 1 == tokens) return found;
    ASSAY_CHECK_OK(next());
  }
}

}  // namespace assay
