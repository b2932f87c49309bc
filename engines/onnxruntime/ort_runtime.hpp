// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <onnxruntime_c_api.h>

#include <assay/engine_plugin.hpp>

namespace assay::plugin {

/// The opened library and its environment. Shared by all objects created from it, so that it outlives them.
class OrtRuntime {
 public:
  /// Opens libonnxruntime below `home` (the folder of the library, of the wheel, or an installation prefix).
  /// Errors: not_found; incompatible_plugin, for a library older than kOldestMinor.
  [[nodiscard]] static Result<std::shared_ptr<const OrtRuntime>> open(const std::string& home,
                                                                      const assay_host_api& host);
  ~OrtRuntime();
  OrtRuntime(const OrtRuntime&) = delete;
  OrtRuntime& operator=(const OrtRuntime&) = delete;

  /// The C API: `runtime->api().Run(…)`.
  [[nodiscard]] const OrtApi& api() const { return *api_; }
  [[nodiscard]] const OrtEnv* env() const { return env_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] std::int64_t now_ns() const { return host_->now_ns(); }

  /// Frees `status` and converts it: an operator without a kernel is `unsupported`, and the message names it.
  [[nodiscard]] Status check(OrtStatus* status) const;

 private:
  explicit OrtRuntime(const assay_host_api& host) : host_(&host) {}

  /// All functions that are called are older than this 1.x release, so that several versions can be compared.
  static constexpr int kOldestMinor = 17;

  const assay_host_api* host_;
  const OrtApi* api_ = nullptr;
  OrtEnv* env_ = nullptr;
  std::string version_;
};

/// Owns an object of the C API.
template <auto Release>
struct OrtDeleter {
  const OrtApi* api = nullptr;
  template <class T>
  void operator()(T* object) const {
    (api->*Release)(object);
  }
};
using OrtSessionPtr = std::unique_ptr<OrtSession, OrtDeleter<&OrtApi::ReleaseSession>>;
using OrtOptionsPtr = std::unique_ptr<OrtSessionOptions, OrtDeleter<&OrtApi::ReleaseSessionOptions>>;
using OrtBindingPtr = std::unique_ptr<OrtIoBinding, OrtDeleter<&OrtApi::ReleaseIoBinding>>;
using OrtValuePtr = std::unique_ptr<OrtValue, OrtDeleter<&OrtApi::ReleaseValue>>;
using OrtMemoryInfoPtr = std::unique_ptr<OrtMemoryInfo, OrtDeleter<&OrtApi::ReleaseMemoryInfo>>;
using OrtTypeInfoPtr = std::unique_ptr<OrtTypeInfo, OrtDeleter<&OrtApi::ReleaseTypeInfo>>;
using OrtShapePtr = std::unique_ptr<OrtTensorTypeAndShapeInfo, OrtDeleter<&OrtApi::ReleaseTensorTypeAndShapeInfo>>;

/// Calls a function of the C API that creates an object through its last argument, and owns the object.
template <class Pointer, class... Parameters, class... Arguments>
[[nodiscard]] Result<Pointer> ort_make(const OrtRuntime& runtime,
                                       OrtStatus* (*OrtApi::*function)(Parameters...) noexcept,
                                       Arguments... arguments) {
  typename Pointer::pointer object = nullptr;
  ASSAY_CHECK_OK(runtime.check((runtime.api().*function)(arguments..., &object)));
  return Pointer(object, {&runtime.api()});
}

}  // namespace assay::plugin
