// SPDX-License-Identifier: Apache-2.0
#include <assay/support/runtime_context.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {

RuntimeContext::RuntimeContext(std::vector<ValueInfo> inputs, std::vector<ValueInfo> outputs,
                               std::span<const TensorShape> shapes)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)), shapes_(shapes.begin(), shapes.end()) {
  if (shapes_.empty()) bound_.resize(1);  // set_input is never called
}

bool RuntimeContext::is_aliased(std::size_t input) const {
  return std::ranges::find(aliases_, input, &Alias::input) != aliases_.end();
}

bool RuntimeContext::is_shared(std::size_t input) const {
  return std::ranges::find(shares_, input, &Alias::input) != shares_.end();
}

bool RuntimeContext::has_open_extents() const {
  return std::ranges::any_of(shapes_, [](const TensorShape& shape) { return std::ranges::count(shape.dims, -1) > 0; });
}

Status RuntimeContext::set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) {
  if (set > bound_.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("input set {} before set {}: bind the sets in order", set, bound_.size()));
  }
  ASSAY_CHECK_OK(check_input(inputs_, shapes_, index, tensor));
  if (is_shared(index)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("input '{}' shares memory with an output: it cannot be bound", inputs_[index].name));
  }
  static std::byte nothing[64];  // never read: runtimes refuse a null pointer even for 0 elements
  assay_tensor given = tensor;
  if (given.data == nullptr) given.data = nothing;
  ASSAY_CHECK_OK(do_set_input(set, index, given));
  if (set == bound_.size()) bound_.emplace_back(shapes_.size());
  bound_[set][index] = true;
  return {};
}

Status RuntimeContext::check_ready(std::size_t set, bool has_state) const {
  bool ready = set < bound_.size();
  for (std::size_t i = 0; ready && i < shapes_.size(); ++i) {
    ready = bound_[set][i] || (has_state && is_aliased(i)) || is_shared(i);
  }
  if (ready) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("input set {} is not completely bound", set));
}

Status RuntimeContext::run(std::size_t set) {
  ASSAY_CHECK_OK(check_ready(set, state_begun_));
  assay_samples sample{};
  return burst(1, set, set + 1, sample);
}

Status RuntimeContext::run_timed(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples) {
  samples.count = 0;
  ASSAY_CHECK_OK(check_burst(runs, sets, bound_.size(), samples));
  const std::size_t first = first_set % sets;
  for (std::size_t set = 0; set < sets; ++set)
    ASSAY_CHECK_OK(check_ready(set, state_begun_ || (set != first && !aliases_.empty())));
  return burst(runs, first, sets, samples);
}

Status RuntimeContext::burst(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples) {
  Interval took;
  for (std::size_t i = 0; i < runs; ++i) {
    if (Status done = do_run((first_set + i) % sets, took); !done) {
      (void)reset_state();  // the run may have written a part of it
      return done;
    }
    add_sample(samples, took.start_ns, took.end_ns);
    ran_ = true;
    state_begun_ = !aliases_.empty();
  }
  return {};
}

Status RuntimeContext::get_output(std::size_t index, assay_tensor& out) {
  if (!ran_) return fail(ErrorCode::kInvalidArgument, "there is no output before the first run");
  if (index >= outputs_.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("output {} of {} does not exist", index, outputs_.size()));
  }
  return do_get_output(index, out);
}

Status RuntimeContext::check_pair(std::size_t output, std::size_t input) const {
  if (output >= outputs_.size() || input >= inputs_.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("output {} of {} cannot become input {} of {}", output,
                                                         outputs_.size(), input, inputs_.size()));
  }
  return check_alias(outputs_[output], inputs_[input].name, shapes_[input]);
}

Status RuntimeContext::alias_output_to_input(std::size_t output, std::size_t input) {
  ASSAY_CHECK_OK(check_pair(output, input));
  const Alias alias{output, input};
  for (std::vector<Alias>* list : {&aliases_, &shares_})
    std::erase_if(*list, [&](const Alias& a) { return a.input == input; });
  aliases_.push_back(alias);
  ASSAY_CHECK_OK(reset_state());
  return do_alias(alias);
}

Status RuntimeContext::share_output_with_input(std::size_t output, std::size_t input) {
  ASSAY_CHECK_OK(check_pair(output, input));
  if (std::ranges::count(shapes_[input].dims, -1) > 0) {
    return fail(ErrorCode::kMismatch,
                fmt::format("input '{}' has open extents: an input that shares memory with an output has a fixed size",
                            inputs_[input].name));
  }
  const Alias share{output, input};
  ASSAY_CHECK_OK(do_share(share));
  for (std::vector<Alias>* list : {&aliases_, &shares_})
    std::erase_if(*list, [&](const Alias& a) { return a.input == input; });
  shares_.push_back(share);
  return reset_state();
}

Status RuntimeContext::do_share(const Alias&) {
  return fail(ErrorCode::kUnsupported, "this runtime cannot write an output over an input");
}

Status RuntimeContext::reset_state() {
  state_begun_ = false;
  return do_reset_state();
}

}  // namespace assay::plugin
