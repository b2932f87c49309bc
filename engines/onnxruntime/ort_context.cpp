// SPDX-License-Identifier: Apache-2.0
#include "ort_context.hpp"

#include <algorithm>
#include <cstring>

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
  if (is_tensor == 0) return fail(ErrorCode::kUnsupported, "an output is not a tensor");
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

Result<std::unique_ptr<Context>> OrtContext::create(std::shared_ptr<const OrtModel> model,
                                                    std::span<const TensorShape> shapes) {
  ASSAY_CHECK_OK(check_shapes(model->inputs, shapes));
  std::unique_ptr<OrtContext> context(new OrtContext(std::move(model), shapes));
  if (context->has_open_extents()) context->state_ = Outputs::kVarying;
  if (shapes.empty()) ASSAY_CHECK_OK(context->add_set());  // set_input is never called
  return std::unique_ptr<Context>(std::move(context));
}

Status OrtContext::add_set() {
  Set set;
  ASSAY_TRY(set.binding, ort_make<OrtBindingPtr>(*model_->runtime, &OrtApi::CreateIoBinding, model_->session.get()));
  set.inputs.resize(shapes().size());
  ASSAY_CHECK_OK(bind_outputs_of(set));
  for (const auto& [input, memory] : shared_) ASSAY_CHECK_OK(bind_input(set, input, memory.get()));
  sets_.push_back(std::move(set));
  return {};
}

Status OrtContext::do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) {
  if (set == sets_.size()) ASSAY_CHECK_OK(add_set());
  ASSAY_TRY(OrtValuePtr value,
            ort_make<OrtValuePtr>(*model_->runtime, &OrtApi::CreateTensorWithDataAsOrtValue, model_->host_memory.get(),
                                  tensor.data, tensor.byte_size, tensor.dims, tensor.rank,
                                  static_cast<ONNXTensorElementDataType>(tensor.dtype)));
  ASSAY_CHECK_OK(bind_input(sets_[set], index, value.get()));
  sets_[set].inputs[index] = std::move(value);
  return {};
}

Status OrtContext::bind_input(Set& set, std::size_t index, const OrtValue* value) {
  return model_->runtime->check(
      model_->runtime->api().BindInput(set.binding.get(), inputs()[index].name.c_str(), value));
}

Status OrtContext::bind_outputs_of(Set& set) {
  const OrtApi& api = model_->runtime->api();
  api.ClearBoundOutputs(set.binding.get());
  for (std::size_t i = 0; i < outputs().size(); ++i) {
    const char* name = outputs()[i].name.c_str();
    if (const OrtValue* memory = shared_value(&Alias::output, i)) {
      ASSAY_CHECK_OK(model_->runtime->check(api.BindOutput(set.binding.get(), name, memory)));
      continue;
    }
    ASSAY_CHECK_OK(model_->runtime->check(
        state_ == Outputs::kBound ? api.BindOutput(set.binding.get(), name, buffers_[i].value.get())
                                  : api.BindOutputToDevice(set.binding.get(), name, model_->host_memory.get())));
  }
  return {};
}

Status OrtContext::bind_outputs() {
  ASSAY_TRY(const std::vector<OrtValuePtr> values, latest_values());
  buffers_.clear();
  for (const OrtValuePtr& value : values) {
    ASSAY_TRY(TensorFacts facts, facts_of(*model_->runtime, value.get()));
    Output output{std::move(facts.dims), std::make_unique<Buffer>(facts.bytes), nullptr};
    ASSAY_TRY(output.value, ort_make<OrtValuePtr>(*model_->runtime, &OrtApi::CreateTensorWithDataAsOrtValue,
                                                  model_->host_memory.get(), output.buffer->data(), facts.bytes,
                                                  output.dims.data(), output.dims.size(), facts.element));
    buffers_.push_back(std::move(output));
  }
  state_ = Outputs::kBound;
  for (Set& set : sets_) ASSAY_CHECK_OK(bind_outputs_of(set));
  return {};
}

Status OrtContext::unbind_outputs() {
  state_ = Outputs::kVarying;
  for (Set& set : sets_) ASSAY_CHECK_OK(bind_outputs_of(set));
  buffers_.clear();
  return {};
}

Status OrtContext::bind_state(std::size_t set) {
  const OrtApi& api = model_->runtime->api();
  // A binding keeps the bound values alive: without this, each set would have its own cache.
  api.ClearBoundInputs(sets_[latest_set_].binding.get());
  if (latest_set_ != set) api.ClearBoundOutputs(sets_[latest_set_].binding.get());
  for (std::size_t i = 0; i < shapes().size(); ++i) {
    const auto alias = std::ranges::find(aliases(), i, &Alias::input);
    const bool state = state_begun() && alias != aliases().end();
    const OrtValue* value = state ? latest_[alias->output].get() : sets_[set].inputs[i].get();
    if (const OrtValue* memory = shared_value(&Alias::input, i)) value = memory;
    ASSAY_CHECK_OK(bind_input(sets_[set], i, value));
  }
  return {};
}

Status OrtContext::keep_state() {
  ASSAY_TRY(std::vector<OrtValuePtr> values, latest_values());
  for (const Alias& alias : aliases()) {
    ASSAY_TRY(const TensorFacts facts, facts_of(*model_->runtime, values[alias.output].get()));
    ValueInfo left = outputs()[alias.output];
    left.has_rank = true;
    left.dims = facts.dims;
    ASSAY_CHECK_OK(check_alias(left, inputs()[alias.input].name, shapes()[alias.input]));
  }
  latest_ = std::move(values);
  return {};
}

const OrtValue* OrtContext::shared_value(std::size_t Alias::*end, std::size_t index) const {
  const auto share = std::ranges::find(shares(), index, end);
  return share == shares().end() ? nullptr : shared_.at(share->input).get();
}

Status OrtContext::do_share(const Alias& share) {
  const TensorShape& shape = shapes()[share.input];
  const auto element = static_cast<ONNXTensorElementDataType>(shape.dtype);
  const OrtRuntime& runtime = *model_->runtime;
  OrtAllocator* allocator = nullptr;
  ASSAY_CHECK_OK(runtime.check(runtime.api().GetAllocatorWithDefaultOptions(&allocator)));
  ASSAY_TRY(OrtValuePtr memory, ort_make<OrtValuePtr>(runtime, &OrtApi::CreateTensorAsOrtValue, allocator,
                                                      shape.dims.data(), shape.dims.size(), element));
  for (Set& set : sets_) ASSAY_CHECK_OK(bind_input(set, share.input, memory.get()));
  shared_.insert_or_assign(share.input, std::move(memory));
  // Either all outputs get our buffers or none.
  return state_ == Outputs::kVarying ? Status() : unbind_outputs();
}

Status OrtContext::do_reset_state() {
  const OrtRuntime& runtime = *model_->runtime;
  for (const auto& [input, memory] : shared_) {
    void* data = nullptr;
    std::size_t bytes = 0;
    ASSAY_CHECK_OK(runtime.check(runtime.api().GetTensorMutableData(memory.get(), &data)));
    ASSAY_CHECK_OK(runtime.check(runtime.api().GetTensorSizeInBytes(memory.get(), &bytes)));
    std::memset(data, 0, bytes);
  }
  return {};
}

Status OrtContext::do_alias(const Alias&) { return state_ == Outputs::kVarying ? Status() : unbind_outputs(); }

Status OrtContext::prepare(std::size_t set) {
  if (state_ == Outputs::kLearnable) ASSAY_CHECK_OK(bind_outputs());
  if (aliases().empty()) {
    latest_.clear();
  } else {
    ASSAY_CHECK_OK(bind_state(set));
  }
  // A binding keeps the memory that the runtime allocated for it and would require the same size again.
  return state_ == Outputs::kVarying ? bind_outputs_of(sets_[set]) : Status();
}

Status OrtContext::do_run(std::size_t set, Interval& took) {
  const OrtRuntime& runtime = *model_->runtime;
  const auto run_with_binding = runtime.api().RunWithBinding;
  OrtSession* session = model_->session.get();
  for (OrtStatus* status = nullptr;;) {
    ASSAY_CHECK_OK(prepare(set));
    OrtIoBinding* binding = sets_[set].binding.get();
    took.start_ns = runtime.now_ns();
    status = run_with_binding(session, nullptr, binding);
    took.end_ns = runtime.now_ns();
    if (status == nullptr) break;
    Status failed = runtime.check(status);
    if (state_ != Outputs::kBound) return failed;
    ASSAY_CHECK_OK(unbind_outputs());
  }
  latest_set_ = set;
  if (state_ == Outputs::kUnknown) state_ = Outputs::kLearnable;
  return aliases().empty() ? Status() : keep_state();
}

Result<std::vector<OrtValuePtr>> OrtContext::latest_values() const {
  const OrtRuntime& runtime = *model_->runtime;
  OrtAllocator* allocator = nullptr;
  ASSAY_CHECK_OK(runtime.check(runtime.api().GetAllocatorWithDefaultOptions(&allocator)));
  OrtValue** list = nullptr;
  std::size_t count = 0;
  ASSAY_CHECK_OK(
      runtime.check(runtime.api().GetBoundOutputValues(sets_[latest_set_].binding.get(), allocator, &list, &count)));
  std::vector<OrtValuePtr> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(OrtValuePtr(list[i], {&runtime.api()}));
  if (list != nullptr) ASSAY_CHECK_OK(runtime.check(runtime.api().AllocatorFree(allocator, static_cast<void*>(list))));
  return values;
}

Status OrtContext::do_get_output(std::size_t index, assay_tensor& out) {
  if (latest_.empty()) {
    ASSAY_TRY(latest_, latest_values());
  }
  const OrtRuntime& runtime = *model_->runtime;
  ASSAY_TRY(TensorFacts facts, facts_of(runtime, latest_[index].get()));
  if (facts.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    return fail(ErrorCode::kUnsupported, fmt::format("output '{}' is a string tensor", outputs()[index].name));
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
