// SPDX-License-Identifier: Apache-2.0
#include "ort_context.hpp"

#include <fmt/format.h>

namespace assay::plugin {
namespace {

struct TensorFacts {
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> dims;
  std::size_t bytes = 0;
};

Result<TensorFacts> facts_of(const OrtRuntime& runtime, const OrtValue* value) {
  const OrtApi& api = runtime.api();
  int is_tensor = 0;
  ASSAY_CHECK_OK(runtime.check(api.IsTensor(value, &is_tensor)));
  if (is_tensor == 0) return fail(ErrorCode::kUnsupported, "an output is no tensor");
  TensorFacts facts;
  ASSAY_TRY(const OrtShapePtr shape, ort_make<OrtShapePtr>(runtime, &OrtApi::GetTensorTypeAndShape, value));
  ASSAY_CHECK_OK(runtime.check(api.GetTensorElementType(shape.get(), &facts.element)));
  std::size_t rank = 0;
  ASSAY_CHECK_OK(runtime.check(api.GetDimensionsCount(shape.get(), &rank)));
  facts.dims.resize(rank);
  ASSAY_CHECK_OK(runtime.check(api.GetDimensions(shape.get(), facts.dims.data(), rank)));
  ASSAY_CHECK_OK(runtime.check(api.GetTensorSizeInBytes(value, &facts.bytes)));
  return facts;
}

}  // namespace

Result<std::unique_ptr<Context>> OrtContext::create(std::shared_ptr<const OrtModel> model, std::span<const TensorShape> shapes) {
  ASSAY_CHECK_OK(check_shapes(model->inputs, shapes));
  std::unique_ptr<OrtContext> context(new OrtContext(std::move(model), shapes));
  if (shapes.empty()) ASSAY_CHECK_OK(context->add_set());  // nobody calls set_input
  return std::unique_ptr<Context>(std::move(context));
}

Status OrtContext::add_set() {
  Set set;
  ASSAY_TRY(set.binding, ort_make<OrtBindingPtr>(*model_->runtime, &OrtApi::CreateIoBinding, model_->session.get()));
  set.inputs.resize(shapes_.size());
  set.missing = shapes_.size();
  ASSAY_CHECK_OK(bind_outputs_of(set));
  sets_.push_back(std::move(set));
  return {};
}

Status OrtContext::set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) {
  if (set > sets_.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input set {} before set {}: sets have no gaps", set, sets_.size()));
  }
  ASSAY_CHECK_OK(check_input(model_->inputs, shapes_, index, tensor));
  if (set == sets_.size()) ASSAY_CHECK_OK(add_set());
  ASSAY_TRY(OrtValuePtr value,
            ort_make<OrtValuePtr>(*model_->runtime, &OrtApi::CreateTensorWithDataAsOrtValue, model_->host_memory.get(), tensor.data,
                                  tensor.byte_size, tensor.dims, tensor.rank, static_cast<ONNXTensorElementDataType>(tensor.dtype)));
  Set& target = sets_[set];
  ASSAY_CHECK_OK(model_->runtime->check(
      model_->runtime->api().BindInput(target.binding.get(), model_->inputs[index].name.c_str(), value.get())));
  if (!target.inputs[index]) --target.missing;
  target.inputs[index] = std::move(value);
  return {};
}

Status OrtContext::check_ready(std::size_t set) const {
  if (set < sets_.size() && sets_[set].missing == 0) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("input set {} is not completely bound", set));
}

Status OrtContext::bind_outputs_of(Set& set) {
  const OrtApi& api = model_->runtime->api();
  api.ClearBoundOutputs(set.binding.get());
  for (std::size_t i = 0; i < model_->outputs.size(); ++i) {
    const char* name = model_->outputs[i].name.c_str();
    ASSAY_CHECK_OK(model_->runtime->check(state_ == Outputs::kBound
                                              ? api.BindOutput(set.binding.get(), name, outputs_[i].value.get())
                                              : api.BindOutputToDevice(set.binding.get(), name, model_->host_memory.get())));
  }
  return {};
}

Status OrtContext::bind_outputs() {
  ASSAY_TRY(const std::vector<OrtValuePtr> values, latest_values());
  outputs_.clear();
  for (const OrtValuePtr& value : values) {
    ASSAY_TRY(TensorFacts facts, facts_of(*model_->runtime, value.get()));
    Output output{std::move(facts.dims), std::make_unique<Buffer>(facts.bytes), nullptr};
    ASSAY_TRY(output.value, ort_make<OrtValuePtr>(*model_->runtime, &OrtApi::CreateTensorWithDataAsOrtValue,
                                                  model_->host_memory.get(), output.buffer->data(), facts.bytes,
                                                  output.dims.data(), output.dims.size(), facts.element));
    outputs_.push_back(std::move(output));
  }
  state_ = Outputs::kBound;
  for (Set& set : sets_) ASSAY_CHECK_OK(bind_outputs_of(set));
  return {};
}

Status OrtContext::unbind_outputs() {
  state_ = Outputs::kDataDependent;
  for (Set& set : sets_) ASSAY_CHECK_OK(bind_outputs_of(set));
  outputs_.clear();
  return {};
}

Status OrtContext::run(std::size_t set) {
  ASSAY_CHECK_OK(check_ready(set));
  assay_samples sample{};
  return burst(1, set, set + 1, sample);
}

Status OrtContext::run_timed(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples) {
  samples.count = 0;
  ASSAY_CHECK_OK(check_burst(runs, sets, sets_.size(), samples));
  for (std::size_t set = 0; set < sets; ++set) ASSAY_CHECK_OK(check_ready(set));
  return burst(runs, first_set, sets, samples);
}

Status OrtContext::burst(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples) {
  if (state_ == Outputs::kLearnable) ASSAY_CHECK_OK(bind_outputs());
  latest_.clear();
  const OrtRuntime& runtime = *model_->runtime;
  const auto run_with_binding = runtime.api().RunWithBinding;
  OrtSession* session = model_->session.get();
  for (std::size_t i = 0; i < runs;) {
    const std::size_t set = (first_set + i) % sets;
    // A binding keeps what the runtime allocated for it and would insist on that size.
    if (state_ == Outputs::kDataDependent) ASSAY_CHECK_OK(bind_outputs_of(sets_[set]));
    OrtIoBinding* binding = sets_[set].binding.get();
    const std::int64_t start = runtime.now_ns();
    OrtStatus* status = run_with_binding(session, nullptr, binding);
    const std::int64_t end = runtime.now_ns();
    if (status != nullptr) {
      const Status failed = runtime.check(status);
      if (state_ != Outputs::kBound) return failed;
      ASSAY_CHECK_OK(unbind_outputs());
      continue;
    }
    add_sample(samples, start, end);
    latest_set_ = set;
    if (state_ == Outputs::kUnknown) {
      state_ = Outputs::kLearnable;
      if (i + 1 < runs) ASSAY_CHECK_OK(bind_outputs());
    }
    ++i;
  }
  return {};
}

Result<std::vector<OrtValuePtr>> OrtContext::latest_values() const {
  const OrtRuntime& runtime = *model_->runtime;
  OrtAllocator* allocator = nullptr;
  ASSAY_CHECK_OK(runtime.check(runtime.api().GetAllocatorWithDefaultOptions(&allocator)));
  OrtValue** list = nullptr;
  std::size_t count = 0;
  ASSAY_CHECK_OK(runtime.check(
      runtime.api().GetBoundOutputValues(sets_[latest_set_].binding.get(), allocator, &list, &count)));
  std::vector<OrtValuePtr> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(OrtValuePtr(list[i], {&runtime.api()}));
  if (list != nullptr) ASSAY_CHECK_OK(runtime.check(runtime.api().AllocatorFree(allocator, list)));
  return values;
}

Status OrtContext::get_output(std::size_t index, assay_tensor& out) {
  if (state_ == Outputs::kUnknown) return fail(ErrorCode::kInvalidArgument, "there is no output before the first run");
  if (latest_.empty()) {
    ASSAY_TRY(latest_, latest_values());
  }
  if (index >= latest_.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("output {} of {} does not exist", index, latest_.size()));
  }
  const OrtRuntime& runtime = *model_->runtime;
  ASSAY_TRY(TensorFacts facts, facts_of(runtime, latest_[index].get()));
  if (facts.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    return fail(ErrorCode::kUnsupported, fmt::format("output '{}' is a string tensor", model_->outputs[index].name));
  }
  latest_dims_ = std::move(facts.dims);
  out.dtype = static_cast<assay_dtype>(facts.element);
  out.memory_kind = ASSAY_MEMORY_HOST;
  out.dims = latest_dims_.data();
  out.rank = latest_dims_.size();
  out.byte_size = facts.bytes;
  return runtime.check(runtime.api().GetTensorMutableData(latest_[index].get(), &out.data));
}

}  // namespace assay::plugin
