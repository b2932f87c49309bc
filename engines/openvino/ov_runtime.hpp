// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <openvino/c/openvino.h>

#include <assay/engine_plugin.hpp>

namespace assay::plugin {

/// The functions of libopenvino_c that are used, by name.
// clang-format off
#define ASSAY_OPENVINO_FUNCTIONS(X)                                                                                   \
  X(ov_get_openvino_version) X(ov_version_free) X(ov_get_last_err_msg) X(ov_free) X(ov_core_create) X(ov_core_free)   \
  X(ov_core_read_model) X(ov_core_read_model_from_memory_buffer) X(ov_core_compile_model) X(ov_core_get_property)     \
  X(ov_core_get_available_devices) X(ov_available_devices_free) X(ov_model_free) X(ov_model_inputs_size)              \
  X(ov_model_outputs_size) X(ov_model_const_input_by_index) X(ov_model_const_output_by_index)                          \
  X(ov_model_reshape_by_port_indexes) X(ov_port_get_any_name) X(ov_port_get_element_type)                             \
  X(ov_port_get_partial_shape) X(ov_partial_shape_free) X(ov_output_const_port_free)                                  \
  X(ov_compiled_model_get_property) X(ov_compiled_model_create_infer_request) X(ov_compiled_model_free)               \
  X(ov_tensor_create_from_host_ptr) X(ov_tensor_get_shape) X(ov_tensor_get_element_type) X(ov_tensor_get_byte_size)   \
  X(ov_tensor_create) X(ov_tensor_data) X(ov_tensor_free) X(ov_shape_free) X(ov_infer_request_infer)                  \
  X(ov_infer_request_set_input_tensor_by_index) X(ov_infer_request_set_output_tensor_by_index)                        \
  X(ov_infer_request_get_output_tensor_by_index) X(ov_infer_request_free)
// clang-format on

struct OvApi {
#define ASSAY_OPENVINO_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  ASSAY_OPENVINO_FUNCTIONS(ASSAY_OPENVINO_MEMBER)
#undef ASSAY_OPENVINO_MEMBER
};

/// Owns an object of the C API.
template <auto Free>
struct OvDeleter {
  const OvApi* api = nullptr;
  template <class T>
  void operator()(T* object) const {
    (api->*Free)(object);
  }
};
using OvModelPtr = std::unique_ptr<ov_model_t, OvDeleter<&OvApi::ov_model_free>>;
using OvCompiledPtr = std::unique_ptr<ov_compiled_model_t, OvDeleter<&OvApi::ov_compiled_model_free>>;
using OvRequestPtr = std::unique_ptr<ov_infer_request_t, OvDeleter<&OvApi::ov_infer_request_free>>;
using OvTensorPtr = std::unique_ptr<ov_tensor_t, OvDeleter<&OvApi::ov_tensor_free>>;
using OvPortPtr = std::unique_ptr<ov_output_const_port_t, OvDeleter<&OvApi::ov_output_const_port_free>>;

/// The opened library and its core. Shared by all objects created from it, so that it outlives them.
class OvRuntime {
 public:
  /// Opens libopenvino_c below `home` (the folder of the library, of the wheel, or an installation prefix).
  /// Errors: not_found; incompatible_plugin, for a library before kOldestYear (its element types have other numbers).
  [[nodiscard]] static Result<std::shared_ptr<const OvRuntime>> open(const std::string& home,
                                                                     const assay_host_api& host);
  ~OvRuntime();
  OvRuntime(const OvRuntime&) = delete;
  OvRuntime& operator=(const OvRuntime&) = delete;

  [[nodiscard]] const OvApi& api() const { return api_; }
  [[nodiscard]] const ov_core_t* core() const { return core_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] std::int64_t now_ns() const { return host_->now_ns(); }

  /// The Error of a failed call, which must be the latest one that failed. Its code is `otherwise` if no other code
  /// applies. If OpenVINO does not support something it is `unsupported`, with OpenVINO's message and the operator if
  /// it names one.
  [[nodiscard]] Status check(ov_status_e status, ErrorCode otherwise = ErrorCode::kInternal) const;

  /// A property of a device or of a compiled model; nullopt if it does not have that property.
  [[nodiscard]] std::optional<std::string> device_property(const std::string& device, const char* key) const;
  [[nodiscard]] std::optional<std::string> model_property(const ov_compiled_model_t* model, const char* key) const;

  /// "CPU", "GPU.0", "NPU": the available devices.
  [[nodiscard]] Result<std::vector<std::string>> devices() const;

  /// Compiles with these properties.
  [[nodiscard]] Result<OvCompiledPtr> compile(const ov_model_t* model, const std::string& device,
                                              const KeyValues& properties) const;

 private:
  explicit OvRuntime(const assay_host_api& host) : host_(&host) {}
  static constexpr int kOldestYear = 2025;

  const assay_host_api* host_;
  OvApi api_;
  ov_core_t* core_ = nullptr;
  std::string version_;
};

/// The ONNX number of an element type and back; 0 and DYNAMIC for types that the other side lacks.
[[nodiscard]] assay_dtype dtype_of(ov_element_type_e type);
[[nodiscard]] ov_element_type_e element_type_of(assay_dtype dtype);

}  // namespace assay::plugin
