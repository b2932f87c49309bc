// SPDX-License-Identifier: Apache-2.0
#include "ov_context.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {
namespace {

/// A view: OpenVINO copies the extents. Its own function that creates a shape refuses rank 0.
ov_shape_t shape_of(std::vector<std::int64_t>& dims) {
  return {static_cast<std::int64_t>(dims.size()), dims.empty() ? nullptr : dims.data()};
}

}  // namespace

Result<std::unique_ptr<Context>> OvContext::create(std::shared_ptr<const OvCompiled> compiled,
                                                   const std::vector<ValueInfo>& inputs,
                                                   std::span<const TensorShape> shapes) {
  std::unique_ptr<OvContext> context(new OvContext(std::move(compiled), inputs, shapes));
  if (shapes.empty()) context->sets_.resize(1);  // set_input is never called
  ASSAY_CHECK_OK(context->create_request());
  return std::unique_ptr<Context>(std::move(context));
}

Status OvContext::create_request() {
  const OvRuntime& runtime = *compiled_->runtime;
  ov_infer_request_t* request = nullptr;
  ASSAY_CHECK_OK(runtime.check(runtime.api().ov_compiled_model_create_infer_request(compiled_->model.get(), &request)));
  request_ = OvRequestPtr(request, {&runtime.api()});
  selected_ = kNone;
  return {};
}

Status OvContext::do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) {
  const OvRuntime& runtime = *compiled_->runtime;
  std::vector<std::int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
  ov_tensor_t* made = nullptr;
  ASSAY_CHECK_OK(runtime.check(
      runtime.api().ov_tensor_create_from_host_ptr(element_type_of(tensor.dtype), shape_of(dims), tensor.data, &made)));
  if (set == sets_.size()) sets_.emplace_back(shapes().size());
  sets_[set][index] = OvTensorPtr(made, {&runtime.api()});
  if (set == selected_) selected_ = kNone;
  return {};
}

Status OvContext::give_input(std::size_t index, const ov_tensor_t* tensor) {
  const OvRuntime& runtime = *compiled_->runtime;
  return runtime.check(runtime.api().ov_infer_request_set_input_tensor_by_index(request_.get(), index, tensor));
}

Status OvContext::select(std::size_t set) {
  for (std::size_t i = 0; set != selected_ && i < sets_[set].size(); ++i) {
    if (!(state_begun() && is_aliased(i))) ASSAY_CHECK_OK(give_input(i, sets_[set][i].get()));
  }
  selected_ = aliases().empty() || state_begun() ? set : kNone;  // the initial state is not an input of the second run
  if (!state_begun()) return {};
  for (const Alias& alias : aliases()) {
    const auto turns = turns_.find(alias.output);
    const OvTensorPtr& left =
        turns == turns_.end() ? left_.at(alias.output) : turns->second.tensors[1 - turns->second.next];
    ASSAY_CHECK_OK(give_input(alias.input, left.get()));
  }
  return {};
}

Status OvContext::give_outputs() {
  const OvRuntime& runtime = *compiled_->runtime;
  for (const auto& [output, turns] : turns_) {
    ASSAY_CHECK_OK(runtime.check(runtime.api().ov_infer_request_set_output_tensor_by_index(
        request_.get(), output, turns.tensors[turns.next].get())));
  }
  return {};
}

Status OvContext::keep_state() {
  for (auto& [output, turns] : turns_) turns.next = 1 - turns.next;
  for (auto& [output, tensor] : left_) {
    ASSAY_TRY(tensor, output_tensor(output));
  }
  return {};
}

Status OvContext::do_run(std::size_t set, Interval& took) {
  ASSAY_CHECK_OK(select(set));
  ASSAY_CHECK_OK(give_outputs());
  output_.reset();
  const OvRuntime& runtime = *compiled_->runtime;
  const auto infer = runtime.api().ov_infer_request_infer;
  ov_infer_request_t* request = request_.get();
  took.start_ns = runtime.now_ns();
  const ov_status_e status = infer(request);
  took.end_ns = runtime.now_ns();
  ASSAY_CHECK_OK(runtime.check(status));
  return keep_state();
}

Status OvContext::do_alias(const Alias& alias) {
  const ValueInfo& output = outputs()[alias.output];
  const bool open = !output.has_rank || std::ranges::count(output.dims, -1) > 0;
  if (open && compiled_->devices == "CPU" && compiled_->one_stream) {
    left_.try_emplace(alias.output);
    return {};
  }
  const OvRuntime& runtime = *compiled_->runtime;
  Turns turns;
  for (OvTensorPtr& tensor : turns.tensors) {
    std::vector<std::int64_t> dims = output.dims;
    std::ranges::replace(dims, -1, 0);  // the runtime resizes it
    ov_tensor_t* made = nullptr;
    ASSAY_CHECK_OK(runtime.check(runtime.api().ov_tensor_create(element_type_of(output.dtype), shape_of(dims), &made)));
    tensor = OvTensorPtr(made, {&runtime.api()});
  }
  turns_.insert_or_assign(alias.output, std::move(turns));
  return {};
}

Status OvContext::do_reset_state() {
  selected_ = kNone;
  // A model in OpenVINO's own format may have variables, which the C API cannot reset.
  return compiled_->may_have_variables ? create_request() : Status();
}

Result<OvTensorPtr> OvContext::output_tensor(std::size_t index) const {
  const OvRuntime& runtime = *compiled_->runtime;
  ov_tensor_t* tensor = nullptr;
  ASSAY_CHECK_OK(
      runtime.check(runtime.api().ov_infer_request_get_output_tensor_by_index(request_.get(), index, &tensor)));
  return OvTensorPtr(tensor, {&runtime.api()});
}

Status OvContext::do_get_output(std::size_t index, assay_tensor& out) {
  const OvRuntime& runtime = *compiled_->runtime;
  const OvApi& api = runtime.api();
  ASSAY_TRY(output_, output_tensor(index));
  const ov_tensor_t* tensor = output_.get();
  ov_shape_t shape{};
  const ov_status_e status = api.ov_tensor_get_shape(tensor, &shape);
  if (status != INVALID_C_PARAM) ASSAY_CHECK_OK(runtime.check(status));  // the C API returns this for rank 0
  output_dims_.assign(shape.dims, shape.dims + shape.rank);
  api.ov_shape_free(&shape);
  ov_element_type_e type = DYNAMIC;
  ASSAY_CHECK_OK(runtime.check(api.ov_tensor_get_element_type(tensor, &type)));
  std::size_t bytes = 0;
  ASSAY_CHECK_OK(runtime.check(api.ov_tensor_get_byte_size(tensor, &bytes)));
  out.dtype = dtype_of(type);
  out.memory_kind = ASSAY_MEMORY_HOST;
  out.dims = output_dims_.data();
  out.rank = output_dims_.size();
  out.byte_size = bytes;
  return runtime.check(api.ov_tensor_data(tensor, &out.data));
}

}  // namespace assay::plugin
