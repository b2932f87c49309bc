// SPDX-License-Identifier: Apache-2.0
#include "ov_runtime.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {
namespace {

constexpr std::pair<assay_dtype, ov_element_type_e> kTypes[] = {
    {1, F32},     {2, U8},      {3, I8},   {4, U16},  {5, I16},     {6, I32},    {7, I64},
    {8, STRING},  {9, BOOLEAN}, {10, F16}, {11, F64}, {12, U32},    {13, U64},   {16, BF16},
    {17, F8E4M3}, {19, F8E5M3}, {21, U4},  {22, I4},  {23, F4E2M1}, {24, F8E8M0}};

/// Whether a status has a text. The C API keeps the text of the latest exception; a status without a text (an invalid
/// parameter) would otherwise be reported with the reason of an earlier failure.
bool has_text(ov_status_e status) {
  return status == GENERAL_ERROR || status == NOT_IMPLEMENTED || status == REQUEST_BUSY || status == INFER_CANCELLED ||
         status == UNKNOW_EXCEPTION;
}

/// Messages have the format "Exception from src/…:89:\nCheck '…' failed at …:\n<the reason>", those of the ONNX
/// importer with lines around the reason that name the operator once more.
std::string reason_in(std::string_view message) {
  constexpr std::string_view kFrames[] = {"Exception from ",
                                          "Check '",
                                          "While validating ONNX node",
                                          "FrontEnd API failed with",
                                          "-- ",
                                          "Summary:",
                                          "Model wasn't fully converted"};
  std::string reason;
  while (!message.empty()) {
    const std::string line = first_line(message);
    message.remove_prefix(std::min(message.find('\n'), message.size() - 1) + 1);
    if (line.empty() || std::ranges::any_of(kFrames, [&](auto frame) { return line.starts_with(frame); })) continue;
    if (!reason.empty()) reason += "; ";
    reason += line;
  }
  constexpr std::size_t kLongest = 400;
  if (reason.size() > kLongest) reason.resize(kLongest);
  return reason;
}

/// The operator that the ONNX importer cannot convert, "Frobnicate-17" or "com.acme.Frobnicate"; or "".
std::string operator_in(std::string_view message) {
  for (const std::string_view before : {"No conversion rule found for operations: ", "Conversion is failed for: "}) {
    const auto at = message.find(before);
    if (at != std::string_view::npos) return first_line(message.substr(at + before.size()));
  }
  return {};
}

/// Whether OpenVINO reports a missing feature, not a failure.
bool says_unsupported(std::string_view message) {
  constexpr std::string_view kWords[] = {"unsupported",     "not supported",   "n't support",          "not support",
                                         "not implemented", "cannot fallback", "extensions to support"};
  std::string lower(message);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(kWords, [&](auto words) { return lower.find(words) != std::string::npos; });
}

}  // namespace

assay_dtype dtype_of(ov_element_type_e type) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.second == type; });
  return found == std::end(kTypes) ? 0 : found->first;
}

ov_element_type_e element_type_of(assay_dtype dtype) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.first == dtype; });
  return found == std::end(kTypes) ? DYNAMIC : found->second;
}

Result<std::shared_ptr<const OvRuntime>> OvRuntime::open(const std::string& home, const assay_host_api& host) {
  constexpr std::array<std::string_view, 6> kFolders{"libs", "openvino/libs", "runtime/lib/intel64",
                                                     "lib",  "lib64",         "lib/x86_64-linux-gnu"};
  ASSAY_TRY(void* library, open_library(home, "libopenvino_c.so", kFolders));
  std::shared_ptr<OvRuntime> runtime(new OvRuntime(host));
#define ASSAY_OPENVINO_LOAD(name)                                     \
  {                                                                   \
    ASSAY_TRY(void* symbol, find_symbol(library, #name));             \
    runtime->api_.name = reinterpret_cast<decltype(&::name)>(symbol); \
  }
  ASSAY_OPENVINO_FUNCTIONS(ASSAY_OPENVINO_LOAD)
#undef ASSAY_OPENVINO_LOAD

  ov_version_t version{};
  ASSAY_CHECK_OK(runtime->check(runtime->api_.ov_get_openvino_version(&version)));
  runtime->version_ = std::string_view(version.buildNumber).substr(0, std::string_view(version.buildNumber).find('-'));
  runtime->api_.ov_version_free(&version);
  int year = 0;
  std::from_chars(runtime->version_.data(), runtime->version_.data() + runtime->version_.size(), year);
  if (year < kOldestYear) {
    return fail(ErrorCode::kIncompatiblePlugin,
                fmt::format("OpenVINO {} is too old for this plug-in, which needs {} or newer", runtime->version_,
                            kOldestYear));
  }
  ASSAY_CHECK_OK(runtime->check(runtime->api_.ov_core_create(&runtime->core_)));
  return std::shared_ptr<const OvRuntime>(std::move(runtime));
}

OvRuntime::~OvRuntime() {
  if (core_ != nullptr) api_.ov_core_free(core_);
}

Status OvRuntime::check(ov_status_e status, ErrorCode otherwise) const {
  if (status == OK) return {};
  std::string message;
  if (const char* last = has_text(status) ? api_.ov_get_last_err_msg() : nullptr; last != nullptr) {
    message = last;
    api_.ov_free(last);
  }
  std::string reason = reason_in(message);
  if (const std::string name = operator_in(message); !name.empty()) {
    return fail(ErrorCode::kUnsupported, fmt::format("OpenVINO {} cannot convert operator {}{}{}", version_, name,
                                                     reason.empty() ? "" : ": ", reason));
  }
  const auto says = [&](std::string_view part) { return message.find(part) != std::string::npos; };
  ErrorCode code = status == NOT_IMPLEMENTED || says_unsupported(message) ? ErrorCode::kUnsupported : otherwise;
  if (says("bad_alloc") || says("out of memory") || says("Cannot allocate memory")) code = ErrorCode::kOutOfMemory;
  if (reason.empty()) reason = fmt::format("status {} without a reason", static_cast<int>(status));
  return fail(code, fmt::format("OpenVINO: {}", reason));
}

std::optional<std::string> OvRuntime::device_property(const std::string& device, const char* key) const {
  char* value = nullptr;
  if (api_.ov_core_get_property(core_, device.c_str(), key, &value) != OK || value == nullptr) return std::nullopt;
  std::string text = value;
  api_.ov_free(value);
  return text;
}

std::optional<std::string> OvRuntime::model_property(const ov_compiled_model_t* model, const char* key) const {
  char* value = nullptr;
  if (api_.ov_compiled_model_get_property(model, key, &value) != OK || value == nullptr) return std::nullopt;
  std::string text = value;
  api_.ov_free(value);
  return text;
}

Result<std::vector<std::string>> OvRuntime::devices() const {
  ov_available_devices_t list{};
  ASSAY_CHECK_OK(check(api_.ov_core_get_available_devices(core_, &list)));
  std::vector<std::string> names(list.devices, list.devices + list.size);
  api_.ov_available_devices_free(&list);
  return names;
}

Result<OvCompiledPtr> OvRuntime::compile(const ov_model_t* model, const std::string& device,
                                         const KeyValues& properties) const {
  // The C API accepts pairs as variable arguments, with their number.
  constexpr std::size_t kMost = 8;
  if (properties.size() > kMost) return fail(ErrorCode::kInternal, "more properties than one call to OpenVINO accepts");
  std::array<const char*, 2 * kMost> p{};
  for (std::size_t i = 0; i < properties.size(); ++i) {
    p[2 * i] = properties[i].first.c_str();
    p[2 * i + 1] = properties[i].second.c_str();
  }
  ov_compiled_model_t* compiled = nullptr;
  ASSAY_CHECK_OK(check(api_.ov_core_compile_model(core_, model, device.c_str(), 2 * properties.size(), &compiled, p[0],
                                                  p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11],
                                                  p[12], p[13], p[14], p[15])));
  return OvCompiledPtr(compiled, {&api_});
}

}  // namespace assay::plugin
