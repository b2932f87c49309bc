// SPDX-License-Identifier: Apache-2.0
// How a generator gets its memory, and what it binds to its programs.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/worker/generator.hpp"
#include "core/base/clock.hpp"
#include "core/tensor/recipe.hpp"

namespace assay {
namespace {

// Keeps the extents open that change from run to run: every unknown extent of an input except its batch.
Shape opened(const ValueSignature& input, Shape shape) {
  for (std::size_t axis = 1; axis < shape.size(); ++axis)
    if (axis >= input.shape.size() || input.shape[axis] < 0) shape[axis] = -1;
  return shape;
}

// The extent of each symbol of the prompt's inputs.
std::map<std::string, std::int64_t> bound_symbols(const std::vector<ValueSignature>& inputs,
                                                  const std::vector<Tensor>& tensors) {
  std::map<std::string, std::int64_t> bound;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t axis = 0; axis < inputs[i].symbols.size() && axis < tensors[i].shape().size(); ++axis)
      if (!inputs[i].symbols[axis].empty()) bound.emplace(inputs[i].symbols[axis], tensors[i].shape()[axis]);
  return bound;
}

bool has_caches(const LoadedProgram& program, const Generation& generation) {
  return std::ranges::any_of(program.inputs(), [&](const ValueSignature& input) {
    return std::ranges::find(generation.states, input.name, &Generation::State::step_input) != generation.states.end();
  });
}

}  // namespace

Result<std::size_t> Generator::index_of(const std::vector<ValueSignature>& values, const std::string& name,
                                        const char* what) {
  const auto found = std::ranges::find(values, name, &ValueSignature::name);
  if (found == values.end())
    return fail(ErrorCode::kMismatch, fmt::format("the program has no {} '{}', which generation needs", what, name));
  return static_cast<std::size_t>(found - values.begin());
}

Result<Generator> Generator::create(const LoadedProgram& prompt, const LoadedProgram& step,
                                    const Generation& generation, const std::vector<std::vector<Tensor>>& sets) {
  const bool same = &prompt == &step;
  const std::vector<Tensor>& first = sets.front();
  if (generation.cache_tokens > 0 && (same || has_caches(prompt, generation))) {
    bool shares = same && prompt.shares_memory();
    const bool may_refuse = shares;
    Result<Generator> made = create_with_caches(prompt, step, generation, sets, shares);
    if (shares == may_refuse) return made;
    return create_with_caches(prompt, step, generation, sets, shares);
  }
  std::vector<TensorView> shapes;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const ValueSignature& input = prompt.inputs()[i];
    shapes.push_back({first[i].dtype(), same ? opened(input, first[i].shape()) : first[i].shape(), {}});
  }
  ASSAY_CHECK_OK(prompt.prepare_context(shapes));
  const std::int64_t begun = SteadyClock().now_ns();
  ASSAY_TRY(LoadedContext context, prompt.create_context(shapes));
  Generator made(generation, std::move(context), sets);
  made.compilation_ns_ = SteadyClock().now_ns() - begun;
  ASSAY_CHECK_OK(made.find(prompt, step));
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (std::size_t i = 0; i < first.size(); ++i) ASSAY_CHECK_OK(made.prompt_.set_input(set, i, sets[set][i].view()));
  }
  ASSAY_CHECK_OK(made.make_tokens(prompt, step));
  if (same) {
    made.step_set_ = sets.size();
    ASSAY_CHECK_OK(made.steps().set_input(made.step_set_, made.tokens_input_, made.tokens_.view()));
  } else {
    ASSAY_CHECK_OK(made.bind_steps(step, prompt.inputs()));
  }
  for (const State& state : made.states_)
    if (state.step_output) ASSAY_CHECK_OK(made.steps().alias_output_to_input(*state.step_output, state.step_input));
  return made;
}

// Memory for a step's tokens and for the longest mask.
Status Generator::make_tokens(const LoadedProgram& prompt, const LoadedProgram& step) {
  ASSAY_TRY(const std::size_t ids, index_of(prompt.inputs(), generation_.tokens, "input"));
  const Shape& shape = sets_->front()[ids].shape();
  if (shape.size() != 2)
    return fail(ErrorCode::kMismatch,
                fmt::format("'{}' is {}; tokens are [batch, sequence]", generation_.tokens, to_string(shape)));
  const std::int64_t batch = shape.front();
  ASSAY_TRY(tokens_, Tensor::create(step.inputs()[tokens_input_].dtype, {batch, 1}));
  timed_tokens_ =
      TimedTokens(sets_->size(), static_cast<std::size_t>(batch), static_cast<std::size_t>(generation_.output_tokens));
  return mask_input_ ? make_masks(prompt, step) : Status();
}

Status Generator::make_masks(const LoadedProgram& prompt, const LoadedProgram& step) {
  const std::int64_t batch = tokens_.shape().front();
  const InputRecipe ones{.name = generation_.mask,
                         .dtype = step.inputs()[*mask_input_].dtype,
                         .shape = {batch, generation_.prompt_tokens + generation_.output_tokens},
                         .fill = Fill::kConstant,
                         .low = 1.0};
  ASSAY_TRY(ones_, make_input(ones, 0, 0));
  mask_ = {ones_.dtype(), {batch, generation_.prompt_tokens}, {}};
  padding_.assign(sets_->size(), std::nullopt);
  const auto given = std::ranges::find(prompt.inputs(), generation_.mask, &ValueSignature::name);
  if (given == prompt.inputs().end()) return {};
  const auto place = static_cast<std::size_t>(given - prompt.inputs().begin());
  for (std::size_t set = 0; set < sets_->size(); ++set) {
    const TensorView mask = (*sets_)[set][place].view();
    const auto same = std::as_const(ones_).bytes().first(std::min(mask.bytes.size(), ones_.bytes().size()));
    if (std::ranges::equal(mask.bytes, same)) continue;
    if (mask.dtype != ones_.dtype() || mask.shape != Shape{batch, generation_.prompt_tokens})
      return fail(ErrorCode::kMismatch,
                  fmt::format("'{}' is {} {} for the prompt and {} {} for its {} tokens in a step", generation_.mask,
                              to_string(mask.dtype), to_string(mask.shape), to_string(ones_.dtype()),
                              to_string(mask_.shape), generation_.prompt_tokens));
    padding_[set] = mask;
  }
  if (std::ranges::any_of(padding_, [](const auto& mask) { return mask.has_value(); })) {
    ASSAY_TRY(padded_, make_input(ones, 0, 0));
  }
  return {};
}

Status Generator::find(const LoadedProgram& prompt, const LoadedProgram& step) {
  ASSAY_TRY(prompt_logits_, index_of(prompt.outputs(), generation_.logits, "output"));
  ASSAY_TRY(step_logits_, index_of(step.outputs(), generation_.logits, "output"));
  ASSAY_TRY(tokens_input_, index_of(step.inputs(), generation_.tokens, "input"));
  const DType ids = step.inputs()[tokens_input_].dtype;
  if (ids != DType::kInt64 && ids != DType::kInt32)
    return fail(ErrorCode::kMismatch, fmt::format("'{}' has tokens of type {}", generation_.tokens, to_string(ids)));
  if (!generation_.mask.empty()) {
    ASSAY_TRY(mask_input_, index_of(step.inputs(), generation_.mask, "input"));
  }
  if (generation_.cache_tokens > 0 && !generation_.positions.empty()) {
    ASSAY_TRY(positions_input_, index_of(step.inputs(), generation_.positions, "input"));
    if (step.inputs()[*positions_input_].dtype != DType::kInt64)
      return fail(ErrorCode::kMismatch, fmt::format("'{}' is not int64", generation_.positions));
    ASSAY_TRY(step_place_, Tensor::create(DType::kInt64, {1}));
  }
  for (const Generation::State& state : generation_.states) {
    State found{};
    ASSAY_TRY(found.prompt_output, index_of(prompt.outputs(), state.prompt_output, "output"));
    ASSAY_TRY(found.step_input, index_of(step.inputs(), state.step_input, "input"));
    if (!state.step_output.empty()) {
      ASSAY_TRY(found.step_output, index_of(step.outputs(), state.step_output, "output"));
    }
    states_.push_back(std::move(found));
  }
  return {};
}

// The context of a separate program for steps. Inputs that are neither token, mask nor state are those of the prompt,
// such as an encoder's mask.
Status Generator::bind_steps(const LoadedProgram& step, const std::vector<ValueSignature>& prompt_inputs) {
  const std::vector<Tensor>& first_set = sets_->front();
  const std::map<std::string, std::int64_t> bound = bound_symbols(prompt_inputs, first_set);
  const std::int64_t cache = generation_.cache_tokens;
  const std::int64_t batch = tokens_.shape().front();
  std::vector<TensorView> shapes, values(step.inputs().size());
  for (std::size_t i = 0; i < step.inputs().size(); ++i) {
    const ValueSignature& input = step.inputs()[i];
    const auto state = std::ranges::find(states_, i, &State::step_input);
    const bool is_mask = mask_input_ && *mask_input_ == i;
    Shape shape = input.shape;
    if (i == tokens_input_) {
      values[i] = tokens_.view();
    } else if (positions_input_ == i) {
      values[i] = step_place_.view();
    } else if (state == states_.end() && !is_mask) {
      const auto same = std::ranges::find(prompt_inputs, input.name, &ValueSignature::name);
      if (same == prompt_inputs.end())
        return fail(ErrorCode::kMismatch, fmt::format("no value for decode-step input '{}'", input.name));
      const auto place = static_cast<std::size_t>(same - prompt_inputs.begin());
      values[i] = first_set[place].view();
      carried_.push_back({i, place});
    }
    if (values[i].dtype != DType::kUndefined) {
      shape = values[i].shape;
    } else {
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] >= 0) continue;
        const auto known = axis < input.symbols.size() ? bound.find(input.symbols[axis]) : bound.end();
        if (known != bound.end() && !known->first.empty()) shape[axis] = known->second;
      }
      if (!shape.empty() && shape.front() < 0) shape.front() = batch;
      // What is still open is the axis of tokens.
      if (cache > 0 && (is_mask || state->step_output)) std::ranges::replace(shape, std::int64_t{-1}, cache);
      if (cache > 0 && !is_mask && state->step_output) {
        ASSAY_TRY(state->cache, Tensor::create(input.dtype, shape));
      }
    }
    shapes.push_back({input.dtype, std::move(shape), {}});
  }
  ASSAY_CHECK_OK(step.prepare_context(shapes));
  const std::int64_t begun = SteadyClock().now_ns();
  ASSAY_TRY(step_, step.create_context(shapes));
  compilation_ns_ += SteadyClock().now_ns() - begun;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].dtype != DType::kUndefined) ASSAY_CHECK_OK(step_->set_input(0, i, values[i]));
  return {};
}

}  // namespace assay
