// SPDX-License-Identifier: Apache-2.0
#include "ov_context.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "support/plugin_support.hpp"

namespace assay::plugin {

Result<std::unique_ptr<Context>> OvContext::create(std::shared_ptr<const OvCompiled> compiled,
                                                   const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs,
                                                   std::span<const TensorShape> shapes) {
  std::unique_ptr<OvContext> context(new OvContext(std::move(compiled), inputs, outputs, shapes));
  const OvRuntime& runtime = *context->compiled_->runtime;
  ov_infer_request_t* request = nullptr;
  ASSAY_CHECK_OK(runtime.check(runtime.api().ov_compiled_model_create_infer_request(context->compiled_->model.get(), &request)));
  context->request_ = OvRequestPtr(request, {&runtime.api()});
  if (shapes.empty()) context->sets_.resize(1);  // nobody calls set_input
  return std::unique_ptr<Context>(std::move(context));
}

Status OvContext::set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) {
  if (set > sets_.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input set {} before set {}: sets have no gaps", set, sets_.size()));
  }
  ASSAY_CHECK_OK(check_input(inputs_, shapes_, index, tensor));
  const OvRuntime& runtime = *compiled_->runtime;
  const OvApi& api = runtime.api();
  ov_shape_t shape{};  // of rank 0 as it stands: ov_shape_create refuses that rank
  if (tensor.rank > 0)
    ASSAY_CHECK_OK(runtime.check(api.ov_shape_create(static_cast<std::int64_t>(tensor.rank), tensor.dims, &shape)));
  ov_tensor_t* made = nullptr;
  const Status status =
      runtime.check(api.ov_tensor_create_from_host_ptr(element_type_of(tensor.dtype), shape, tensor.data, &made));
  api.ov_shape_free(&shape);
  ASSAY_CHECK_OK(status);
  if (set == sets_.size()) sets_.emplace_back(shapes_.size());
  sets_[set][index] = OvTensorPtr(made, {&api});
  if (set == selected_) selected_ = kNone;
  return {};
}

Status OvContext::check_ready(std::size_t set) const {
  if (set < sets_.size() && std::all_of(sets_[set].begin(), sets_[set].end(), [](const auto& t) { return t != nullptr; })) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("input set {} is not completely bound", set));
}

Status OvContext::select(std::size_t set) {
  if (set == selected_) return {};
  selected_ = kNone;
  const OvRuntime& runtime = *compiled_->runtime;
  for (std::size_t i = 0; i < sets_[set].size(); ++i) {
    ASSAY_CHECK_OK(
        runtime.check(runtime.api().ov_infer_request_set_input_tensor_by_index(request_.get(), i, sets_[set][i].get())));
  }
  selected_ = set;
  return {};
}

Status OvContext::run(std::size_t set) {
  ASSAY_CHECK_OK(check_ready(set));
  ASSAY_CHECK_OK(select(set));
  output_.reset();
  const OvRuntime& runtime = *compiled_->runtime;
  ASSAY_CHECK_OK(runtime.check(runtime.api().ov_infer_request_infer(request_.get())));
  ran_ = true;
  return {};
}

Status OvContext::run_timed(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples) {
  samples.count = 0;
  ASSAY_CHECK_OK(check_burst(runs, sets, sets_.size(), samples));
  for (std::size_t set = 0; set < sets; ++set) ASSAY_CHECK_OK(check_ready(set));
  output_.reset();
  const OvRuntime& runtime = *compiled_->runtime;
  const auto infer = runtime.api().ov_infer_request_infer;
  ov_infer_request_t* request = request_.get();
  for (std::size_t i = 0; i < runs; ++i) {
    ASSAY_CHECK_OK(select((first_set + i) % sets));
    const std::int64_t start = runtime.now_ns();
    const ov_status_e status = infer(request);
    const std::int64_t end = runtime.now_ns();
    ASSAY_CHECK_OK(runtime.check(status));
    add_sample(samples, start, end);
    ran_ = true;
  }
  return {};
}

Status OvContext::get_output(std::size_t index, assay_tensor& out) {
  if (!ran_) return fail(ErrorCode::kInvalidArgument, "there is no output before the first run");
  if (index >= outputs_.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("output {} of {} does not exist", index, outputs_.size()));
  }
  const OvRuntime& runtime = *compiled_->runtime;
  const OvApi& api = runtime.api();
  ov_tensor_t* tensor = nullptr;
  ASSAY_CHECK_OK(runtime.check(api.ov_infer_request_get_output_tensor_by_index(request_.get(), index, &tensor)));
  output_ = OvTensorPtr(tensor, {&api});
  ov_shape_t shape{};
  const bool scalar = outputs_[index].has_rank && outputs_[index].dims.empty();  // the C API refuses to tell rank 0
  if (!scalar) ASSAY_CHECK_OK(runtime.check(api.ov_tensor_get_shape(tensor, &shape)));
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
