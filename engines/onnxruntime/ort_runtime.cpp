// SPDX-License-Identifier: Apache-2.0
#include "ort_runtime.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {
namespace {

void ORT_API_CALL log_to_host(void* host, OrtLoggingLevel severity, const char* category, const char*, const char*,
                              const char* message) noexcept {
  try {
    const std::string line = fmt::format("onnxruntime [{}] {}", category, message);
    const int level = std::min(static_cast<int>(severity), 4) - 1;
    static_cast<const assay_host_api*>(host)->log(std::max(level, 0), {line.data(), line.size()});
  } catch (...) {
    return;  // a lost log line must not end the process
  }
}

/// The minor number of "1.31.1"; 0 for another major version.
int minor_of(std::string_view version) {
  int minor = 0;
  if (version.starts_with("1.")) std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return minor;
}

/// The operator that a message names, or "".
std::string operator_in(std::string_view message) {
  if (auto name = between(message, "Fatal error: ", " is not a registered function/op"); !name.empty()) {
    name.resize(std::min(name.find('('), name.size()));  // "com.acme:Frobnicate(-1)"
    const auto colon = name.rfind(':');
    return colon == std::string::npos ? name
                                      : fmt::format("{}' of domain '{}", name.substr(colon + 1), name.substr(0, colon));
  }
  if (auto name = between(message, "Could not find an implementation for ", " node"); !name.empty())
    return name.substr(0, name.find('('));
  return between(message, "No Op registered for ", " with domain_version");
}

bool any_of(std::string_view message, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](auto part) { return message.find(part) != std::string_view::npos; });
}

ErrorCode code_of(OrtErrorCode code, std::string_view message) {
  const auto says = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  if (says("bad_alloc") || says("bad allocation") || says("Failed to allocate memory") || says("out of memory"))
    return ErrorCode::kOutOfMemory;
  if (code == ORT_NO_SUCHFILE) return ErrorCode::kNotFound;
  if (code == ORT_NOT_IMPLEMENTED || says("Unsupported model IR version") ||
      says("only *guarantees* support for models stamped") || says("fallback to CPU EP has been explicitly disabled") ||
      says("is not a registered function/op") || says("No Op registered for "))
    return ErrorCode::kUnsupported;
  // Violations of ONNX's own rules, whatever the runtime: operators with too many inputs, unknown attributes, wrong
  // types, extents that do not match.
  if (says("This is an invalid model") || says("Type Error: ") || says("[ShapeInferenceError]") ||
      says("[TypeInferenceError]") || code == ORT_INVALID_GRAPH)
    return ErrorCode::kInvalidArgument;
  if (says("Node (")) return ErrorCode::kUnsupported;
  // Errors of a kernel when it is created or run: attributes, extents or indices that contradict each other; but not if
  // it reports a missing feature, or a fault of a device.
  const bool in_kernel =
      says("Non-zero status code returned while running ") || says("Exception during initialization: ");
  if (in_kernel &&
      !any_of(message, {"CUDA", "CUDNN", "CUBLAS", "HIP ", "MIGraphX", "TensorRT", "QNN", "DML", "WebGPU"})) {
    return any_of(message, {"nsupported", "ot supported", "ot implemented", "only support"})
               ? ErrorCode::kUnsupported
               : ErrorCode::kInvalidArgument;
  }
  if (code == ORT_INVALID_ARGUMENT || code == ORT_INVALID_PROTOBUF || code == ORT_NO_MODEL)
    return ErrorCode::kInvalidArgument;
  return ErrorCode::kInternal;
}

}  // namespace

Result<std::shared_ptr<const OrtRuntime>> OrtRuntime::open(const std::string& home, const assay_host_api& host) {
  constexpr std::array<std::string_view, 5> kFolders{"capi", "onnxruntime/capi", "lib", "lib64",
                                                     "lib/x86_64-linux-gnu"};
  // Official builds send telemetry by default, from their own threads, during measurements. The variables are read
  // once, when the library starts; releases use one name or the other.
  for (const char* opt_out : {"ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED"}) setenv(opt_out, "1", 1);
  ASSAY_TRY(void* library, open_library(home, "libonnxruntime.so", kFolders));
  ASSAY_TRY(void* symbol, find_symbol(library, "OrtGetApiBase"));
  const OrtApiBase* base = reinterpret_cast<decltype(&::OrtGetApiBase)>(symbol)();

  std::shared_ptr<OrtRuntime> runtime(new OrtRuntime(host));
  runtime->version_ = base->GetVersionString();
  const int minor = std::min(minor_of(runtime->version_), ORT_API_VERSION);
  runtime->api_ = minor < kOldestMinor ? nullptr : base->GetApi(static_cast<std::uint32_t>(minor));
  if (runtime->api_ == nullptr) {
    return fail(ErrorCode::kIncompatiblePlugin,
                fmt::format("ONNX Runtime {} does not have the C API that this plug-in needs (1.{} or newer)",
                            runtime->version_, kOldestMinor));
  }
  void* log_target = const_cast<assay_host_api*>(&host);  // log_to_host only reads it
  ASSAY_CHECK_OK(runtime->check(runtime->api_->CreateEnvWithCustomLogger(
      &log_to_host, log_target, ORT_LOGGING_LEVEL_WARNING, "assay", &runtime->env_)));
  ASSAY_CHECK_OK(runtime->check(runtime->api_->DisableTelemetryEvents(runtime->env_)));
  return std::shared_ptr<const OrtRuntime>(std::move(runtime));
}

OrtRuntime::~OrtRuntime() {
  if (env_ != nullptr) api_->ReleaseEnv(env_);
}

Status OrtRuntime::check(OrtStatus* status) const {
  if (status == nullptr) return {};
  const std::string message = api_->GetErrorMessage(status);
  const OrtErrorCode ort_code = api_->GetErrorCode(status);
  api_->ReleaseStatus(status);
  if (const std::string name = operator_in(message); !name.empty()) {
    const bool typed = message.find("Could not find an implementation") != std::string::npos;
    return fail(ErrorCode::kUnsupported, fmt::format("ONNX Runtime {} has no operator '{}'{}: {}", version_, name,
                                                     typed ? " for these types" : "", first_line(message)));
  }
  return fail(code_of(ort_code, message), fmt::format("ONNX Runtime: {}", first_line(message)));
}

}  // namespace assay::plugin
