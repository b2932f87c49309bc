// SPDX-License-Identifier: Apache-2.0
// Generators with static KV caches.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/worker/generator.hpp"
#include "core/base/clock.hpp"

namespace assay {
namespace {

// The shape for a run on `tokens` of each of `batch` sequences; nullopt: any number.
std::vector<TensorView> shapes_of(const LoadedProgram& program, const Generation& generation,
                                  const std::vector<Tensor>& first, std::int64_t batch,
                                  std::optional<std::int64_t> tokens) {
  std::vector<TensorView> shapes;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const ValueSignature& input = program.inputs()[i];
    Shape shape = input.shape;
    if (input.name == generation.positions) {
      shape = {tokens.value_or(-1)};
    } else if (input.name == generation.tokens) {
      shape = {batch, tokens.value_or(-1)};
    } else if (input.name == generation.mask) {
      shape = {batch, -1};
    } else if (!generation.makes(input.name)) {
      shape = first[i].shape();
    } else {
      if (!shape.empty() && shape.front() < 0) shape.front() = batch;
      std::ranges::replace_if(
          shape, [](std::int64_t extent) { return extent < 0; }, generation.cache_tokens);
    }
    shapes.push_back({input.dtype, std::move(shape), {}});
  }
  return shapes;
}

// Copies a state to the beginning of a longer one: of the axis in which they differ.
Status copy_to_beginning(const TensorView& state, Tensor& cache) {
  const Shape& shape = cache.shape();
  const auto [own, other] = std::ranges::mismatch(state.shape, shape);
  const bool fits = state.dtype == cache.dtype() && state.shape.size() == shape.size() && own != state.shape.end() &&
                    *own < *other && std::equal(own + 1, state.shape.end(), other + 1);
  if (!fits)
    return fail(
        ErrorCode::kMismatch,
        fmt::format("a state is {} {} after the prompt, which does not begin the cache {} {}", to_string(state.dtype),
                    to_string(state.shape), to_string(cache.dtype()), to_string(shape)));
  const std::int64_t rows = std::accumulate(state.shape.begin(), own, std::int64_t{1}, std::multiplies<>());
  if (rows == 0) return {};
  const std::size_t from = state.bytes.size() / static_cast<std::size_t>(rows);
  const std::size_t to = cache.bytes().size() / static_cast<std::size_t>(rows);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
    std::memcpy(cache.bytes().data() + row * to, state.bytes.data() + row * from, from);
  return {};
}

}  // namespace

Status Generator::hand_over(State& state) {
  ASSAY_TRY(const TensorView left, prompt_.output(state.prompt_output));
  if (state.cache.dtype() == DType::kUndefined || left.shape == state.cache.shape())
    return step_->set_input(0, state.step_input, left);
  ASSAY_CHECK_OK(copy_to_beginning(left, state.cache));
  return step_->set_input(0, state.step_input, state.cache.view());
}

Result<Generator> Generator::create_with_caches(const LoadedProgram& prompt, const LoadedProgram& step,
                                                const Generation& generation,
                                                const std::vector<std::vector<Tensor>>& sets, bool& shares) {
  const std::vector<Tensor>& first = sets.front();
  if (!std::ranges::equal(prompt.inputs(), step.inputs(), {}, &ValueSignature::name, &ValueSignature::name))
    return fail(ErrorCode::kMismatch, "the programs of the prompt and of the steps have different inputs");
  ASSAY_TRY(const std::size_t ids, index_of(prompt.inputs(), generation.tokens, "input"));
  const std::int64_t batch = first[ids].shape().empty() ? 1 : first[ids].shape().front();
  std::optional<std::int64_t> tokens;
  if (!shares) tokens = generation.prompt_tokens;
  const std::vector<TensorView> shapes = shapes_of(prompt, generation, first, batch, tokens);
  const std::vector<TensorView> step_shapes = shapes_of(step, generation, first, batch, 1);
  ASSAY_CHECK_OK(prompt.prepare_context(shapes));
  std::int64_t begun = SteadyClock().now_ns();
  ASSAY_TRY(LoadedContext context, prompt.create_context(shapes));
  Generator made(generation, std::move(context), sets);
  made.compilation_ns_ = SteadyClock().now_ns() - begun;
  ASSAY_CHECK_OK(made.find(prompt, step));
  ASSAY_CHECK_OK(made.make_tokens(prompt, step));
  if (shares) {
    made.step_set_ = sets.size();
  } else {
    ASSAY_CHECK_OK(step.prepare_context(step_shapes));
    begun = SteadyClock().now_ns();
    ASSAY_TRY(made.step_, step.create_context(step_shapes));
    made.compilation_ns_ += SteadyClock().now_ns() - begun;
  }
  ASSAY_CHECK_OK(made.bind_others(prompt));
  ASSAY_CHECK_OK(made.keep_caches(step_shapes, shares));
  return made;
}

// All inputs except the states. Inputs that are neither tokens, mask nor positions are the same as in the prompt.
Status Generator::bind_others(const LoadedProgram& prompt) {
  const std::vector<std::vector<Tensor>>& sets = *sets_;
  if (positions_input_) {
    ASSAY_TRY(prompt_places_, Tensor::create(DType::kInt64, {generation_.prompt_tokens}));
    const auto places = prompt_places_.as<std::int64_t>();
    std::iota(places.begin(), places.end(), 0);
  }
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (std::size_t i = 0; i < sets[set].size(); ++i) {
      if (positions_input_ == i) ASSAY_CHECK_OK(prompt_.set_input(set, i, prompt_places_.view()));
      if (!generation_.makes(prompt.inputs()[i].name)) ASSAY_CHECK_OK(prompt_.set_input(set, i, sets[set][i].view()));
    }
  }
  for (std::size_t i = 0; i < sets.front().size(); ++i) {
    const bool made = generation_.makes(prompt.inputs()[i].name);
    if (positions_input_ == i) {
      ASSAY_CHECK_OK(steps().set_input(step_set_, i, step_place_.view()));
    } else if (i == tokens_input_) {
      ASSAY_CHECK_OK(steps().set_input(step_set_, i, tokens_.view()));
    } else if (!made && mask_input_ != i) {
      ASSAY_CHECK_OK(steps().set_input(step_set_, i, sets.front()[i].view()));
      carried_.push_back({i, i});
    }
  }
  return {};
}

// Shares memory with the output; else zeros for the prompt, whose outputs are the states of the steps.
Status Generator::keep_caches(const std::vector<TensorView>& shapes, bool& shares) {
  for (const State& state : states_) {
    if (!state.step_output) return fail(ErrorCode::kMismatch, "a static KV cache needs a step output");
    if (!step_) {
      const Status shared = prompt_.share_output_with_input(*state.step_output, state.step_input);
      if (!shared && shared.error().code == ErrorCode::kUnsupported) shares = false;
      ASSAY_CHECK_OK(shared);
      continue;
    }
    const TensorView& shape = shapes[state.step_input];
    ASSAY_TRY(Tensor zeros, Tensor::create(shape.dtype, shape.shape));
    for (std::size_t set = 0; set < sets_->size(); ++set)
      ASSAY_CHECK_OK(prompt_.set_input(set, state.step_input, zeros.view()));
    caches_.push_back(std::move(zeros));
    ASSAY_CHECK_OK(step_->alias_output_to_input(*state.step_output, state.step_input));
  }
  return {};
}

}  // namespace assay
