// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/base/clock.hpp"

namespace assay {
namespace {

// Maps 16-bit floats to integers in the order of their values.
std::uint16_t ordered(std::uint16_t bits) {
  constexpr std::uint16_t kSign = 0x8000;
  return static_cast<std::uint16_t>((bits & kSign) != 0 ? ~bits : bits | kSign);
}

// The index of the largest value in a row of logits; logits() has checked their type. This is part of a token's time.
template <class T>
std::size_t largest(const std::byte* row, std::size_t width) {
  const auto* values = reinterpret_cast<const T*>(row);
  if constexpr (std::is_same_v<T, std::uint16_t>)
    return static_cast<std::size_t>(std::ranges::max_element(values, values + width, {}, &ordered) - values);
  else
    return static_cast<std::size_t>(std::max_element(values, values + width) - values);
}

}  // namespace

void Generator::put(Tensor& tokens, std::size_t row, std::int64_t id) {
  if (tokens.dtype() == DType::kInt64)
    tokens.as<std::int64_t>()[row] = id;
  else
    tokens.as<std::int32_t>()[row] = static_cast<std::int32_t>(id);
}

Status Generator::reset(std::size_t set) {
  further_ = 0;
  set_ = set;
  if (set != bound_set_) {
    for (const auto& [to, from] : carried_)
      ASSAY_CHECK_OK(steps().set_input(step_set_, to, (*sets_)[set][from].view()));
    bound_set_ = set;
  }
  return steps().reset_state();
}

Status Generator::begin() {
  prompt_set_.reset();
  ASSAY_CHECK_OK(prompt_.run(set_));
  prompt_set_ = set_;
  return {};
}

Status Generator::begin_again(std::size_t set) {
  ASSAY_CHECK_OK(reset(set));
  return step_ && generation_.cache_tokens == 0 && prompt_set_ == set ? Status() : begin();
}

Status Generator::bind_mask() {
  // With places for the tokens, the mask is over the whole cache; else over the tokens so far.
  const std::int64_t columns = positions_input_ ? generation_.cache_tokens : generation_.prompt_tokens + further_;
  mask_.shape[1] = columns;
  ASSAY_TRY(const std::uint64_t bytes, byte_size(mask_.dtype, mask_.shape));
  mask_.bytes = std::as_const(ones_).bytes().first(bytes);
  if (const std::optional<TensorView>& padding = padding_[set_]) {
    const std::size_t prompt = padding->bytes.size() / static_cast<std::size_t>(mask_.shape[0]);
    const std::size_t row = bytes / static_cast<std::size_t>(mask_.shape[0]);
    std::byte* to = padded_.bytes().data();
    std::memcpy(to, mask_.bytes.data(), bytes);
    for (std::size_t from = 0; from < padding->bytes.size(); from += prompt, to += row)
      std::memcpy(to, padding->bytes.data() + from, prompt);
    mask_.bytes = std::as_const(padded_).bytes().first(bytes);
  }
  return steps().set_input(step_set_, *mask_input_, mask_);
}

Status Generator::next() {
  if (step_ && further_ == 0) {
    for (State& state : states_) ASSAY_CHECK_OK(hand_over(state));
  }
  ++further_;
  if (positions_input_) step_place_.as<std::int64_t>()[0] = generation_.prompt_tokens + further_ - 1;
  if (mask_input_) ASSAY_CHECK_OK(bind_mask());
  return steps().run(step_set_);
}

Status Generator::next(const Tensor& tokens) {
  further_ += tokens.shape()[1];
  ASSAY_CHECK_OK(steps().set_input(step_set_, tokens_input_, tokens.view()));
  if (mask_input_) ASSAY_CHECK_OK(bind_mask());
  ASSAY_CHECK_OK(steps().run(step_set_));
  return steps().set_input(step_set_, tokens_input_, tokens_.view());
}

Result<TensorView> Generator::logits() {
  ASSAY_CHECK_OK(read_logits());
  return logits_;
}

Status Generator::read_logits() {
  TensorView& view = logits_;
  ASSAY_CHECK_OK(further_ == 0 ? prompt_.output(prompt_logits_, view) : steps().output(step_logits_, view));
  const Shape& shape = view.shape;
  const bool narrow = view.dtype == DType::kFloat16 || view.dtype == DType::kBFloat16;
  if ((view.dtype != DType::kFloat32 && !narrow) || shape.size() != 3 || shape[0] != tokens_.shape()[0] ||
      shape[1] != 1 || shape[2] < 1)
    return fail(ErrorCode::kMismatch,
                fmt::format("'{}' is {} {}; logits of the last position are floats [{}, 1, n]", generation_.logits,
                            to_string(view.dtype), to_string(shape), tokens_.shape()[0]));
  return {};
}

Status Generator::choose(std::size_t place) {
  ASSAY_CHECK_OK(read_logits());
  const TensorView& view = logits_;
  const auto width = static_cast<std::size_t>(view.shape[2]);
  const std::size_t bytes = view.bytes.size() / static_cast<std::size_t>(view.shape[0]);
  const auto best = view.dtype == DType::kFloat32 ? &largest<float> : &largest<std::uint16_t>;
  for (std::size_t row = 0; row < static_cast<std::size_t>(view.shape[0]); ++row) {
    const auto id = static_cast<std::int64_t>(best(view.bytes.data() + row * bytes, width));
    put(tokens_, row, id);
    timed_tokens_.put(row, place, id);
  }
  return {};
}

Status Generator::run_timed(std::size_t n, std::size_t first_set, SampleColumns& out) {
  const SteadyClock clock;
  const std::size_t each = samples_per_run();
  out.count = 0;
  const auto put_sample = [&](std::size_t at, SampleKind kind, std::int64_t start, std::int64_t end) {
    out.kind[at] = static_cast<std::uint8_t>(kind);
    out.start_ns[at] = start;
    out.duration_ns[at] = end - start;
  };
  for (std::size_t i = 0; i < n; ++i) {
    // The sample of a run is before those of its tokens, so that a series that begins with a run includes its tokens.
    const std::size_t base = i * each;
    std::size_t done = 0;
    ASSAY_CHECK_OK(reset((first_set + i) % timed_sets_));
    const std::int64_t start = clock.now_ns();
    Status status = begin();
    std::int64_t last = start;
    for (;;) {
      if (status) status = choose(done);
      if (!status) break;
      const std::int64_t now = clock.now_ns();
      put_sample(base + 1 + done, done == 0 ? SampleKind::kFirstToken : SampleKind::kToken, last, now);
      last = now;
      if (++done + 1 == each) break;
      status = next();
    }
    if (!status) {
      // A generation that was cut short has tokens but no run.
      for (std::size_t k = 0; k < done; ++k) {
        out.kind[base + k] = out.kind[base + k + 1];
        out.start_ns[base + k] = out.start_ns[base + k + 1];
        out.duration_ns[base + k] = out.duration_ns[base + k + 1];
      }
      out.count = base + done;
      return status;
    }
    put_sample(base, SampleKind::kRun, start, last);
    timed_tokens_.finish(set_);
    out.count = base + each;
  }
  return {};
}

}  // namespace assay
