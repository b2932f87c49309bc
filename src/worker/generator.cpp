// SPDX-License-Identifier: Apache-2.0
#include "worker/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"
#include "tensor/random.hpp"
#include "tensor/recipe.hpp"
#include "tensor/ulp.hpp"

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

void put(Tensor& tokens, std::size_t row, std::int64_t id) {
  if (tokens.dtype() == DType::kInt64)
    tokens.as<std::int64_t>()[row] = id;
  else
    tokens.as<std::int32_t>()[row] = static_cast<std::int32_t>(id);
}

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
  if (generation.cache_tokens > 0) {
    if (!same) return fail(ErrorCode::kUnsupported, "static KV caches need one graph for prompt and steps");
    bool shares = prompt.shares_memory();
    const bool may_refuse = shares;
    Result<Generator> made = create_with_caches(prompt, generation, sets, shares);
    if (shares == may_refuse) return made;
    return create_with_caches(prompt, generation, sets, shares);
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
  for (const Generation::State& state : generation_.states) {
    State found{};
    ASSAY_TRY(found.prompt_output, index_of(prompt.outputs(), state.prompt_output, "output"));
    ASSAY_TRY(found.step_input, index_of(step.inputs(), state.step_input, "input"));
    if (!state.step_output.empty()) {
      ASSAY_TRY(found.step_output, index_of(step.outputs(), state.step_output, "output"));
    }
    states_.push_back(found);
  }
  return {};
}

// The context of a separate program for steps. Inputs that are neither token, mask nor state are those of the prompt,
// such as an encoder's mask.
Status Generator::bind_steps(const LoadedProgram& step, const std::vector<ValueSignature>& prompt_inputs) {
  const std::vector<Tensor>& first_set = sets_->front();
  const std::map<std::string, std::int64_t> bound = bound_symbols(prompt_inputs, first_set);
  const std::int64_t batch = tokens_.shape().front();
  std::vector<TensorView> shapes, values(step.inputs().size());
  for (std::size_t i = 0; i < step.inputs().size(); ++i) {
    const ValueSignature& input = step.inputs()[i];
    const bool state = std::ranges::any_of(states_, [&](const State& s) { return s.step_input == i; });
    Shape shape = input.shape;
    if (i == tokens_input_) {
      values[i] = tokens_.view();
    } else if (!state && !(mask_input_ && *mask_input_ == i)) {
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
  const std::int64_t columns = generation_.prompt_tokens + further_;
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
    for (const State& state : states_) {
      ASSAY_TRY(const TensorView left, prompt_.output(state.prompt_output));
      ASSAY_CHECK_OK(step_->set_input(0, state.step_input, left));
    }
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
