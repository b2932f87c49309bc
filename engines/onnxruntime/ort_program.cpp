// SPDX-License-Identifier: Apache-2.0
#include "ort_program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include <assay/extent_name.hpp>
#include <assay/support/plugin_support.hpp>
#include "ort_context.hpp"
#include "ort_probe.hpp"
#include "ort_providers.hpp"

namespace assay::plugin {
namespace {

GraphOptimizationLevel optimization_level(const std::string& name) {
  if (name == "none") return ORT_DISABLE_ALL;
  if (name == "basic") return ORT_ENABLE_BASIC;
  return name == "extended" ? ORT_ENABLE_EXTENDED : ORT_ENABLE_ALL;
}

constexpr const char* kSpinning = "session.intra_op.allow_spinning";

/// The threads of the pool, the calling thread included: `threads` is the number of the process, and each stream calls
/// with a thread of its own.
int pool_threads(const LoadArgs& args) { return std::max(1, args.threads - std::max(args.streams, 1) + 1); }

/// `text`: "batch=1;sequence=128".
Status fix_dimensions(const OrtRuntime& runtime, OrtSessionOptions* options, std::string_view text) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::size_t at = pair.rfind('=');
    std::int64_t extent = -1;
    if (at != std::string_view::npos) std::from_chars(pair.data() + at + 1, pair.data() + pair.size(), extent);
    if (extent < 0)
      return fail(ErrorCode::kInvalidArgument, fmt::format("option free_dimensions: '{}' is not NAME=EXTENT", pair),
                  "for example batch=1;sequence=128");
    ASSAY_CHECK_OK(runtime.check(
        runtime.api().AddFreeDimensionOverrideByName(options, std::string(pair.substr(0, at)).c_str(), extent)));
  }
  return {};
}

Result<OrtOptionsPtr> session_options(const OrtRuntime& runtime, const LoadArgs& args, const Options& options) {
  const OrtApi& api = runtime.api();
  ASSAY_TRY(OrtOptionsPtr made, ort_make<OrtOptionsPtr>(runtime, &OrtApi::CreateSessionOptions));
  OrtSessionOptions* o = made.get();
  ASSAY_CHECK_OK(runtime.check(api.SetSessionExecutionMode(o, ORT_SEQUENTIAL)));
  ASSAY_CHECK_OK(runtime.check(api.SetInterOpNumThreads(o, 1)));
  if (args.threads > 0) ASSAY_CHECK_OK(runtime.check(api.SetIntraOpNumThreads(o, pool_threads(args))));
  ASSAY_CHECK_OK(
      runtime.check(api.SetSessionGraphOptimizationLevel(o, optimization_level(options.text("graph_optimization")))));
  ASSAY_CHECK_OK(runtime.check(options.flag("memory_arena") ? api.EnableCpuMemArena(o) : api.DisableCpuMemArena(o)));
  ASSAY_CHECK_OK(runtime.check(options.flag("memory_pattern") ? api.EnableMemPattern(o) : api.DisableMemPattern(o)));
  ASSAY_CHECK_OK(fix_dimensions(runtime, o, options.text("free_dimensions")));
  ASSAY_CHECK_OK(runtime.check(api.AddSessionConfigEntry(o, kSpinning, options.flag("spinning") ? "1" : "0")));
  ASSAY_CHECK_OK(runtime.check(api.AddSessionConfigEntry(o, "session.set_denormal_as_zero", "0")));
  return made;
}

/// Names, types and extents of all inputs or all outputs.
class Signature {
 public:
  using CountSlot = decltype(&OrtApi::SessionGetInputCount);
  using NameSlot = decltype(&OrtApi::SessionGetInputName);
  using TypeSlot = decltype(&OrtApi::SessionGetInputTypeInfo);

  Signature(const OrtRuntime& runtime, const OrtSession* session) : runtime_(runtime), session_(session) {}

  Result<std::vector<ValueInfo>> read(const char* direction, CountSlot count_slot, NameSlot name_slot,
                                      TypeSlot type_slot) {
    const OrtApi& api = runtime_.api();
    std::size_t count = 0;
    ASSAY_CHECK_OK(runtime_.check((api.*count_slot)(session_, &count)));
    OrtAllocator* allocator = nullptr;
    ASSAY_CHECK_OK(runtime_.check(api.GetAllocatorWithDefaultOptions(&allocator)));
    std::vector<ValueInfo> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      ASSAY_CHECK_OK(runtime_.check((api.*name_slot)(session_, i, allocator, &name)));
      values[i].name = name;
      ASSAY_CHECK_OK(runtime_.check(api.AllocatorFree(allocator, name)));
      ASSAY_TRY(const OrtTypeInfoPtr type, ort_make<OrtTypeInfoPtr>(runtime_, type_slot, session_, i));
      ASSAY_CHECK_OK(fill(values[i], type.get(), direction));
    }
    return values;
  }

 private:
  Status fill(ValueInfo& value, const OrtTypeInfo* type, const char* direction) {
    const OrtApi& api = runtime_.api();
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    ASSAY_CHECK_OK(runtime_.check(api.CastTypeInfoToTensorInfo(type, &tensor)));
    ONNXType kind = ONNX_TYPE_UNKNOWN;
    ASSAY_CHECK_OK(runtime_.check(api.GetOnnxTypeFromTypeInfo(type, &kind)));
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    if (kind == ONNX_TYPE_TENSOR && tensor != nullptr)
      ASSAY_CHECK_OK(runtime_.check(api.GetTensorElementType(tensor, &element)));
    if (kind != ONNX_TYPE_TENSOR || tensor == nullptr || element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("{} '{}' is a {}; assay runs models of numeric tensors", direction, value.name,
                              kind == ONNX_TYPE_TENSOR ? "string tensor" : kind_name(kind)));
    }
    value.dtype = static_cast<assay_dtype>(element);
    std::size_t rank = 0;
    ASSAY_CHECK_OK(runtime_.check(api.GetDimensionsCount(tensor, &rank)));
    value.has_rank = rank > 0;  // the C API does not distinguish a scalar from an unknown rank
    value.dims.resize(rank);
    ASSAY_CHECK_OK(runtime_.check(api.GetDimensions(tensor, value.dims.data(), rank)));
    std::vector<const char*> symbols(rank);
    ASSAY_CHECK_OK(runtime_.check(api.GetSymbolicDimensions(tensor, symbols.data(), rank)));
    for (const char* symbol : symbols) value.symbols.emplace_back(extent_name(symbol));
    return {};
  }

  static const char* kind_name(ONNXType kind) {
    switch (kind) {
      case ONNX_TYPE_SEQUENCE:
        return "sequence";
      case ONNX_TYPE_MAP:
        return "map";
      case ONNX_TYPE_OPTIONAL:
        return "optional";
      case ONNX_TYPE_SPARSETENSOR:
        return "sparse tensor";
      default:
        return "value of an unknown kind";
    }
  }

  const OrtRuntime& runtime_;
  const OrtSession* session_;
};

std::string spinning_of(const OrtRuntime& runtime, const OrtSessionOptions* options) {
  std::array<char, 8> value{};
  std::size_t size = value.size();
  const Status read = runtime.check(runtime.api().GetSessionConfigEntry(options, kSpinning, value.data(), &size));
  return !read ? "unknown" : std::string_view(value.data()) == "1" ? "on" : "off";
}

}  // namespace

std::vector<OptionInfo> OrtProgram::option_infos() {
  return {{"graph_optimization", "all|extended|basic|none", "all",
           "graph optimisation before the first run; the reference uses none"},
          {"memory_arena", "bool", "true", "keep freed memory for the next run"},
          {"memory_pattern", "bool", "true", "plan the memory of a run from the previous run with that shape"},
          {"free_dimensions", "string", "", "extents of the model's open dimensions, such as batch=1;sequence=128"},
          {"spinning", "bool", "true", "threads wait actively for work for a while before they sleep"}};
}

Result<std::unique_ptr<Program>> OrtProgram::load(const std::shared_ptr<const OrtRuntime>& runtime,
                                                  const LoadArgs& args) {
  ASSAY_TRY(const Options options, Options::parse(args.options, option_infos()));
  const std::string device = args.device_id.empty() ? "cpu" : args.device_id;
  const OrtProvider* provider = ort_provider(device);
  if (provider == nullptr) return fail(ErrorCode::kNotFound, fmt::format("onnxruntime has no device '{}'", device));
  if (!provider->is_processor())
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("assay does not measure ONNX Runtime's {} yet: inputs would be copied to the device when they "
                    "are bound, outside of the timed interval",
                    provider->ort_name),
        "use another engine for this hardware, or --hardware cpu");

  auto model = std::make_shared<OrtModel>();
  model->runtime = runtime;
  ASSAY_TRY(model->options, session_options(*runtime, args, options));
  const int threads_before = thread_count();
  ASSAY_TRY(model->session, ort_make<OrtSessionPtr>(*runtime, &OrtApi::CreateSession, runtime->env(),
                                                    args.model_path.c_str(), model->options.get()));
  const int pool = thread_count() - threads_before;
  ASSAY_TRY(model->host_memory,
            ort_make<OrtMemoryInfoPtr>(*runtime, &OrtApi::CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault));
  Signature signature(*runtime, model->session.get());
  ASSAY_TRY(model->inputs, signature.read("input", &OrtApi::SessionGetInputCount, &OrtApi::SessionGetInputName,
                                          &OrtApi::SessionGetInputTypeInfo));
  ASSAY_TRY(model->outputs, signature.read("output", &OrtApi::SessionGetOutputCount, &OrtApi::SessionGetOutputName,
                                           &OrtApi::SessionGetOutputTypeInfo));
  ASSAY_CHECK_OK(check_precision(args.precision, model->inputs, model->outputs));
  // Without a number the runtime uses one thread per core: the pool's, and one that calls for each stream.
  const int threads = std::max(pool, 0) + std::max(args.streams, 1);
  KeyValues effective{{"device", provider->device_id},
                      {"provider", provider->ort_name},
                      {"threads", std::to_string(threads)},
                      {"spin", threads > 1 ? spinning_of(*runtime, model->options.get()) : "off"}};
  effective.insert(effective.end(), options.all().begin(), options.all().end());
  return std::unique_ptr<Program>(new OrtProgram(std::move(model), std::move(effective)));
}

Result<KeyValues> OrtProgram::effective() {
  if (!measured_) {
    const OrtArithmetic found = ort_measure_arithmetic(*model_->runtime, model_->options.get(),
                                                       model_precision(model_->inputs, model_->outputs));
    effective_.insert(effective_.end(), {{"precision", found.precision}, {"denormals", found.denormals}});
    measured_ = true;
  }
  return effective_;
}

Result<std::unique_ptr<Context>> OrtProgram::create_context(std::span<const TensorShape> shapes) {
  return OrtContext::create(model_, shapes);
}

}  // namespace assay::plugin
