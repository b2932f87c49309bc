// SPDX-License-Identifier: Apache-2.0
// Generators with static KV caches.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "worker/generator.hpp"

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

}  // namespace

Result<Generator> Generator::create_with_caches(const LoadedProgram& program, const Generation& generation,
                                                const std::vector<std::vector<Tensor>>& sets, bool& shares) {
  const std::vector<Tensor>& first = sets.front();
  ASSAY_TRY(const std::size_t ids, index_of(program.inputs(), generation.tokens, "input"));
  const std::int64_t batch = first[ids].shape().empty() ? 1 : first[ids].shape().front();
  std::optional<std::int64_t> tokens;
  if (!shares) tokens = generation.prompt_tokens;
  const std::vector<TensorView> shapes = shapes_of(program, generation, first, batch, tokens);
  const std::vector<TensorView> step_shapes = shapes_of(program, generation, first, batch, 1);
  ASSAY_CHECK_OK(program.prepare_context(shapes));
  std::int64_t begun = SteadyClock().now_ns();
  ASSAY_TRY(LoadedContext context, program.create_context(shapes));
  Generator made(generation, std::move(context), sets);
  made.compilation_ns_ = SteadyClock().now_ns() - begun;
  ASSAY_CHECK_OK(made.find(program, program));
  ASSAY_CHECK_OK(made.make_tokens(program, program));
  if (shares) {
    made.step_set_ = sets.size();
  } else {
    ASSAY_CHECK_OK(program.prepare_context(step_shapes));
    begun = SteadyClock().now_ns();
    ASSAY_TRY(made.step_, program.create_context(step_shapes));
    made.compilation_ns_ += SteadyClock().now_ns() - begun;
  }
  ASSAY_CHECK_OK(made.bind_others(program));
  ASSAY_CHECK_OK(made.keep_caches(step_shapes, shares));
  return made;
}

// All inputs except the states. Inputs that are neither tokens, mask nor positions are the same as in the prompt.
Status Generator::bind_others(const LoadedProgram& program) {
  const std::vector<std::vector<Tensor>>& sets = *sets_;
  if (!generation_.positions.empty()) {
    ASSAY_TRY(positions_input_, index_of(program.inputs(), generation_.positions, "input"));
    if (program.inputs()[*positions_input_].dtype != DType::kInt64)
      return fail(ErrorCode::kMismatch, fmt::format("'{}' is not int64", generation_.positions));
    ASSAY_TRY(prompt_places_, Tensor::create(DType::kInt64, {generation_.prompt_tokens}));
    ASSAY_TRY(step_place_, Tensor::create(DType::kInt64, {1}));
    const auto places = prompt_places_.as<std::int64_t>();
    std::iota(places.begin(), places.end(), 0);
  }
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (std::size_t i = 0; i < sets[set].size(); ++i) {
      if (positions_input_ == i) ASSAY_CHECK_OK(prompt_.set_input(set, i, prompt_places_.view()));
      if (!generation_.makes(program.inputs()[i].name)) ASSAY_CHECK_OK(prompt_.set_input(set, i, sets[set][i].view()));
    }
  }
  for (std::size_t i = 0; i < sets.front().size(); ++i) {
    const bool made = generation_.makes(program.inputs()[i].name);
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
