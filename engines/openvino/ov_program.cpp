// SPDX-License-Identifier: Apache-2.0
#include "ov_program.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <assay/support/plugin_support.hpp>
#include "ov_context.hpp"

namespace assay::plugin {
namespace {

constexpr const char* kPrecisionHint = "INFERENCE_PRECISION_HINT";
constexpr const char* kCachePrecision = "KV_CACHE_PRECISION";
constexpr const char* kDynamicQuantization = "DYNAMIC_QUANTIZATION_GROUP_SIZE";

/// assay's name, OpenVINO's, and the capability that a device lists.
struct Precision {
  std::string_view ours, theirs, capability;
};
constexpr Precision kPrecisions[] = {
    {"float32", "f32", "FP32"}, {"float16", "f16", "FP16"}, {"bfloat16", "bf16", "BF16"}};

std::string assay_word(std::string_view openvino_word) {
  for (const Precision& precision : kPrecisions)
    if (precision.theirs == openvino_word) return std::string(precision.ours);
  return std::string(openvino_word);
}

bool lists(const std::string& words, std::string_view word) {
  return fmt::format(" {} ", words).find(fmt::format(" {} ", word)) != std::string::npos;
}

/// The arithmetic to request from `device` for a model of type `own`: that type, or float32 if the device lacks it,
/// because without a request it may use a coarser type (bfloat16 for float16). Errors: unsupported, for types wider
/// than float32.
Result<std::string> strict_word(const OvRuntime& runtime, const std::string& device, const std::string& own) {
  const std::string capabilities = runtime.device_property(device, "OPTIMIZATION_CAPABILITIES").value_or("");
  for (const Precision& precision : kPrecisions) {
    if (precision.ours == own) return std::string(lists(capabilities, precision.capability) ? precision.theirs : "f32");
  }
  return fail(ErrorCode::kUnsupported, fmt::format("OpenVINO's {} has no {} arithmetic", device, own),
              "use --precision runtime");
}

/// The available device with this `id`; "GPU" is the first GPU. OpenVINO loads the plug-ins of all devices to list
/// them, so the processor is found without that.
Result<std::string> find_device(const OvRuntime& runtime, const std::string& id) {
  if ((id.empty() || id == "CPU") && runtime.device_property("CPU", "FULL_DEVICE_NAME")) return std::string("CPU");
  ASSAY_TRY(const auto devices, runtime.devices());
  if (id.empty()) {
    if (devices.empty()) return fail(ErrorCode::kNotFound, "OpenVINO finds no device on this machine");
    return std::find(devices.begin(), devices.end(), "CPU") != devices.end() ? std::string("CPU") : devices.front();
  }
  const bool here =
      std::any_of(devices.begin(), devices.end(), [&](const auto& d) { return d == id || d.starts_with(id + "."); });
  if (here || (id == "AUTO" && !devices.empty())) return id;
  return fail(ErrorCode::kNotFound,
              fmt::format("openvino has no device '{}'; there are {}, AUTO", id, fmt::join(devices, ", ")));
}

/// Names, types and extents of one input or output.
Result<ValueInfo> value_of(const OvRuntime& runtime, const OvPortPtr& port, const char* direction, std::size_t index) {
  const OvApi& api = runtime.api();
  ValueInfo value;
  char* name = nullptr;
  if (api.ov_port_get_any_name(port.get(), &name) == OK && name != nullptr) {
    value.name = name;
    api.ov_free(name);
  } else {
    value.name = fmt::format("{}_{}", direction, index);  // values of IR files may have no name
  }
  ov_element_type_e type = DYNAMIC;
  ASSAY_CHECK_OK(runtime.check(api.ov_port_get_element_type(port.get(), &type)));
  value.dtype = dtype_of(type);
  if (type == STRING || value.dtype == 0) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} '{}' is {}; assay runs models of numeric tensors", direction, value.name,
                            type == STRING ? "a string tensor"
                                           : fmt::format("of OpenVINO's element type {}", static_cast<int>(type))));
  }
  ov_partial_shape_t shape{};
  ASSAY_CHECK_OK(runtime.check(api.ov_port_get_partial_shape(port.get(), &shape)));
  value.has_rank = shape.rank.min == shape.rank.max;
  for (std::int64_t d = 0; value.has_rank && d < shape.rank.min; ++d) {
    const ov_dimension_t& dim = shape.dims[d];
    value.dims.push_back(dim.min == dim.max ? dim.min : -1);
  }
  api.ov_partial_shape_free(&shape);
  return value;
}

template <class Count, class PortAt>
Result<std::vector<ValueInfo>> read_values(const OvRuntime& runtime, const ov_model_t* model, const char* direction,
                                           Count count_of, PortAt port_at) {
  std::size_t count = 0;
  ASSAY_CHECK_OK(runtime.check(count_of(model, &count)));
  std::vector<ValueInfo> values;
  for (std::size_t i = 0; i < count; ++i) {
    ov_output_const_port_t* port = nullptr;
    ASSAY_CHECK_OK(runtime.check(port_at(model, i, &port)));
    ASSAY_TRY(ValueInfo value, value_of(runtime, OvPortPtr(port, {&runtime.api()}), direction, i));
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::vector<ValueInfo>> read_inputs(const OvRuntime& runtime, const ov_model_t* model) {
  const OvApi& api = runtime.api();
  return read_values(runtime, model, "input", api.ov_model_inputs_size, api.ov_model_const_input_by_index);
}

Result<std::vector<ValueInfo>> read_outputs(const OvRuntime& runtime, const ov_model_t* model) {
  const OvApi& api = runtime.api();
  return read_values(runtime, model, "output", api.ov_model_outputs_size, api.ov_model_const_output_by_index);
}

/// The properties for `device`; for AUTO, those for each device that it may choose.
KeyValues properties_for(const OvRuntime& runtime, const std::string& device, const LoadArgs& args,
                         const std::string& strict) {
  const std::string supported = runtime.device_property(device, "SUPPORTED_PROPERTIES").value_or("");
  KeyValues properties;
  const auto set = [&](const char* key, std::string value) {
    if (lists(supported, key)) properties.emplace_back(key, std::move(value));
  };
  set("PERFORMANCE_HINT", args.streams > 1 ? "THROUGHPUT" : "LATENCY");
  if (args.streams > 1) set("NUM_STREAMS", std::to_string(args.streams));
  // OpenVINO, too, counts the threads of all streams together.
  if (args.threads > 0) set("INFERENCE_NUM_THREADS", std::to_string(args.threads));
  set("CPU_DENORMALS_OPTIMIZATION", "NO");
  if (!strict.empty()) {
    set(kPrecisionHint, strict);
    set(kCachePrecision, strict);
    set(kDynamicQuantization, "0");
  }
  return properties;
}

Result<KeyValues> properties_for_auto(const OvRuntime& runtime, const LoadArgs& args, const std::string& strict) {
  ASSAY_TRY(const auto devices, runtime.devices());
  std::vector<std::string> nested;
  for (const std::string& device : devices) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : properties_for(runtime, device, args, strict))
      pairs.push_back(fmt::format("{}:{}", key, value));
    nested.push_back(fmt::format("{}:{{{}}}", device, fmt::join(pairs, ",")));
  }
  // Does not start on the processor, so that all samples come from the chosen device.
  return KeyValues{{"PERFORMANCE_HINT", args.streams > 1 ? "THROUGHPUT" : "LATENCY"},
                   {"ENABLE_STARTUP_FALLBACK", "NO"},
                   {"DEVICE_PROPERTIES", fmt::format("{{{}}}", fmt::join(nested, ","))}};
}

/// A property of a compiled model. AUTO returns those of its device as "{CPU:{KEY:value,…}}".
std::optional<std::string> property_in_force(const OvRuntime& runtime, const ov_compiled_model_t* model,
                                             const std::string& key) {
  if (auto own = runtime.model_property(model, key.c_str())) return own;
  const std::string device = runtime.model_property(model, "EXECUTION_DEVICES").value_or("");
  const std::string all = runtime.model_property(model, "DEVICE_PROPERTIES").value_or("");
  const auto at = all.find(device + ":{");
  if (device.empty() || at == std::string::npos) return std::nullopt;
  const std::string value = between(std::string_view(all).substr(at), "," + key + ":", ",");
  return value.empty() ? std::nullopt : std::optional(value);
}

/// y = x + x, in OpenVINO's own format: its properties are reported until there is a shape to compile the model for,
/// and it shows what happens to denormal numbers.
constexpr std::string_view kProbeModel = R"(<?xml version="1.0"?><net name="probe" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1" element_type="f32"/><output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="1" name="y" type="Add" version="opset1"><data auto_broadcast="numpy"/><input><port id="0" precision="FP32"><dim>1</dim></port><port id="1" precision="FP32"><dim>1</dim></port></input><output><port id="2" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="2" name="r" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>1</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="0" from-port="0" to-layer="1" to-port="1"/><edge from-layer="1" from-port="2" to-layer="2" to-port="0"/></edges></net>)";

Result<OvModelPtr> read_probe(const OvRuntime& runtime) {
  ov_model_t* probe = nullptr;
  ASSAY_CHECK_OK(runtime.check(runtime.api().ov_core_read_model_from_memory_buffer(
      runtime.core(), kProbeModel.data(), kProbeModel.size(), nullptr, &probe)));
  return OvModelPtr(probe, {&runtime.api()});
}

/// What the compiled probe does with the denormal sum of two denormal numbers: "kept" or "flushed".
Result<std::string> denormals_of(const OvRuntime& runtime, const ov_compiled_model_t* probe) {
  const OvApi& api = runtime.api();
  ov_infer_request_t* made = nullptr;
  ASSAY_CHECK_OK(runtime.check(api.ov_compiled_model_create_infer_request(probe, &made)));
  const OvRequestPtr request(made, {&api});
  float value = 1e-40F;
  std::int64_t extent = 1;
  ov_tensor_t* tensor = nullptr;
  ASSAY_CHECK_OK(runtime.check(api.ov_tensor_create_from_host_ptr(F32, {1, &extent}, &value, &tensor)));
  const OvTensorPtr input(tensor, {&api});
  ASSAY_CHECK_OK(runtime.check(api.ov_infer_request_set_input_tensor_by_index(request.get(), 0, input.get())));
  ASSAY_CHECK_OK(runtime.check(api.ov_infer_request_infer(request.get())));
  ASSAY_CHECK_OK(runtime.check(api.ov_infer_request_get_output_tensor_by_index(request.get(), 0, &tensor)));
  const OvTensorPtr output(tensor, {&api});
  void* data = nullptr;
  ASSAY_CHECK_OK(runtime.check(api.ov_tensor_data(output.get(), &data)));
  return *static_cast<const float*>(data) == 0.0F ? "flushed" : "kept";
}

}  // namespace

std::vector<OptionInfo> OvProgram::option_infos() {
  return {{"static_shapes", "bool", "true", "compile for each bound shape; false: once, with dynamic extents"}};
}

Result<std::unique_ptr<Program>> OvProgram::load(const std::shared_ptr<const OvRuntime>& runtime,
                                                 const LoadArgs& args) {
  ASSAY_TRY(const Options options, Options::parse(args.options, option_infos()));
  std::unique_ptr<OvProgram> program(new OvProgram);
  program->runtime_ = runtime;
  program->options_ = options.all();
  ASSAY_TRY(program->device_, find_device(*runtime, args.device_id));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(args.model_path, ignored))
    return fail(ErrorCode::kNotFound, fmt::format("no model file '{}'", args.model_path));

  program->path_ = args.model_path;
  ASSAY_TRY(OvModelPtr model, program->read_model());
  ASSAY_TRY(program->inputs_, read_inputs(*runtime, model.get()));
  ASSAY_TRY(program->outputs_, read_outputs(*runtime, model.get()));
  ASSAY_CHECK_OK(check_precision(args.precision, program->inputs_, program->outputs_));
  if (args.precision != "runtime") {
    ASSAY_TRY(program->strict_,
              strict_word(*runtime, program->device_, model_precision(program->inputs_, program->outputs_)));
  }
  if (program->device_ == "AUTO") {
    ASSAY_TRY(program->properties_, properties_for_auto(*runtime, args, program->strict_));
  } else {
    program->properties_ = properties_for(*runtime, program->device_, args, program->strict_);
  }
  program->static_shapes_ = options.flag("static_shapes");
  if (!program->static_shapes_) {
    ASSAY_TRY(program->compiled_, program->compile(model.get()));
    return std::unique_ptr<Program>(std::move(program));
  }
  program->model_ = std::move(model);
  return std::unique_ptr<Program>(std::move(program));
}

Result<KeyValues> OvProgram::effective() {
  if (denormals_.empty()) {
    const KeyValues in_force = effective_;
    ASSAY_TRY(const OvModelPtr model, read_probe(*runtime_));
    ASSAY_TRY(const auto probe, compile(model.get()));
    const Result<std::string> denormals = denormals_of(*runtime_, probe->model.get());
    denormals_ = denormals ? *denormals : "unknown";
    if (!in_force.empty()) effective_ = in_force;
  }
  KeyValues all = effective_;
  all.emplace_back("denormals", denormals_);
  return all;
}

Result<OvModelPtr> OvProgram::read_model() const {
  ov_model_t* model = nullptr;
  Status read = runtime_->check(runtime_->api().ov_core_read_model(runtime_->core(), path_.c_str(), nullptr, &model),
                                ErrorCode::kInvalidArgument);
  // OpenVINO reads its own format, so the file is invalid: phrases such as "unsupported opset" occur in messages about
  // layers without a type. Only a layer of an unknown opset is named there.
  if (!read && read.error().code == ErrorCode::kUnsupported && path_.ends_with(".xml")) {
    constexpr std::string_view kForeign = "from unsupported opset: ";
    const auto at = read.error().message.find(kForeign);
    if (at == std::string::npos || at + kForeign.size() == read.error().message.size())
      read = tl::unexpected<Error>({ErrorCode::kInvalidArgument, read.error().message, {}, read.error().hint});
  }
  ASSAY_CHECK_OK(read);
  return OvModelPtr(model, {&runtime_->api()});
}

Result<std::shared_ptr<const OvCompiled>> OvProgram::compile(const ov_model_t* model) {
  auto compiled = std::make_shared<OvCompiled>();
  compiled->runtime = runtime_;
  compiled->may_have_variables = !path_.ends_with(".onnx");
  ASSAY_TRY(compiled->outputs, read_outputs(*runtime_, model));
  ASSAY_TRY(compiled->model, runtime_->compile(model, device_, properties_));
  const auto property = [&](const char* key) { return property_in_force(*runtime_, compiled->model.get(), key); };

  compiled->devices = property("EXECUTION_DEVICES").value_or("");
  compiled->one_stream = property("NUM_STREAMS") == "1";
  const std::string precision = property(kPrecisionHint).value_or("unknown");
  const bool exact =
      property(kDynamicQuantization).value_or("0") == "0" && property(kCachePrecision).value_or(strict_) == strict_;
  if (!strict_.empty() && (precision != strict_ || !exact)) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("OpenVINO's {} computes in {}, but {} was requested{}", device_, assay_word(precision),
                            assay_word(strict_), exact ? "" : ", with quantized activations or caches"),
                "use --precision runtime");
  }
  effective_ = {{"device", device_}, {"precision", assay_word(precision)}};
  int threads = 0;
  if (const auto all = property("INFERENCE_NUM_THREADS"))
    std::from_chars(all->data(), all->data() + all->size(), threads);
  effective_.emplace_back("threads", std::to_string(std::max(threads, 1)));
  for (const char* key :
       {"EXECUTION_DEVICES", "PERFORMANCE_HINT", "NUM_STREAMS", "INFERENCE_NUM_THREADS", kPrecisionHint,
        kCachePrecision, kDynamicQuantization, "EXECUTION_MODE_HINT", "ENABLE_CPU_PINNING"}) {
    if (auto value = property(key)) effective_.emplace_back(key, std::move(*value));
  }
  effective_.insert(effective_.end(), options_.begin(), options_.end());
  return std::shared_ptr<const OvCompiled>(std::move(compiled));
}

bool OvProgram::is_compiled_for(std::span<const TensorShape> shapes) const {
  return compiled_ && std::ranges::equal(compiled_for_, shapes, {}, {}, &TensorShape::dims);
}

Status OvProgram::reshape(const ov_model_t* model, std::span<const TensorShape> shapes) const {
  std::vector<std::vector<ov_dimension_t>> dims;
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].dims.empty()) continue;
    indexes.push_back(i);
    auto& extents = dims.emplace_back();
    for (const std::int64_t extent : shapes[i].dims) extents.push_back({extent, extent});  // -1, -1 is an open one
  }
  if (indexes.empty()) return {};
  std::vector<ov_partial_shape_t> partial;
  for (auto& extents : dims) {
    const auto rank = static_cast<std::int64_t>(extents.size());
    partial.push_back({{rank, rank}, extents.data()});
  }
  return runtime_->check(
      runtime_->api().ov_model_reshape_by_port_indexes(model, indexes.data(), partial.data(), partial.size()),
      ErrorCode::kInvalidArgument);
}

Result<std::shared_ptr<const OvCompiled>> OvProgram::compile_for(std::span<const TensorShape> shapes) {
  if (is_compiled_for(shapes)) return compiled_;
  ASSAY_CHECK_OK(prepare_context(shapes));
  const OvModelPtr model = std::move(model_);
  ASSAY_CHECK_OK(reshape(model.get(), shapes));
  ASSAY_TRY(compiled_, compile(model.get()));
  compiled_for_.clear();
  for (const TensorShape& shape : shapes) compiled_for_.push_back(shape.dims);
  return compiled_;
}

Status OvProgram::prepare_context(std::span<const TensorShape> shapes) {
  if (!static_shapes_ || is_compiled_for(shapes)) return {};
  compiled_.reset();
  if (model_) return {};
  ASSAY_TRY(model_, read_model());
  return {};
}

Result<std::unique_ptr<Context>> OvProgram::create_context(std::span<const TensorShape> shapes) {
  ASSAY_CHECK_OK(check_shapes(inputs_, shapes));
  if (!static_shapes_) return OvContext::create(compiled_, inputs_, shapes);
  ASSAY_TRY(auto compiled, compile_for(shapes));
  return OvContext::create(std::move(compiled), inputs_, shapes);
}

}  // namespace assay::plugin
