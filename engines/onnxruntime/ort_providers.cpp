// SPDX-License-Identifier: Apache-2.0
#include "ort_providers.hpp"

#include <algorithm>
#include <string>

#include "ort_probe.hpp"

namespace assay::plugin {
namespace {

using Append = OrtProvider::Append;

const std::vector<OrtProvider>& providers() {
  static const std::vector<OrtProvider> list{
      {"cpu", "CPUExecutionProvider", "cpu", Append::kNothing, "", 10},
      {"cuda", "CUDAExecutionProvider", "cuda", Append::kCuda, "", 20},
      {"tensorrt", "TensorrtExecutionProvider", "cuda", Append::kTensorRt, "", 15},
      {"migraphx", "MIGraphXExecutionProvider", "rocm", Append::kByName, "MIGraphX", 20},
      {"coreml", "CoreMLExecutionProvider", "mps", Append::kByName, "CoreML", 20},
      {"openvino", "OpenVINOExecutionProvider", "openvino", Append::kByName, "OpenVINO", 15},
      {"qnn", "QNNExecutionProvider", "qnn", Append::kByName, "QNN", 20},
  };
  return list;
}

Status append_cuda(const OrtRuntime& runtime, OrtSessionOptions* options) {
  using Pointer = std::unique_ptr<OrtCUDAProviderOptionsV2, OrtDeleter<&OrtApi::ReleaseCUDAProviderOptions>>;
  ASSAY_TRY(const Pointer cuda, ort_make<Pointer>(runtime, &OrtApi::CreateCUDAProviderOptions));
  return runtime.check(runtime.api().SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda.get()));
}

Status append_tensorrt(const OrtRuntime& runtime, OrtSessionOptions* options) {
  using Pointer = std::unique_ptr<OrtTensorRTProviderOptionsV2, OrtDeleter<&OrtApi::ReleaseTensorRTProviderOptions>>;
  ASSAY_TRY(const Pointer tensorrt, ort_make<Pointer>(runtime, &OrtApi::CreateTensorRTProviderOptions));
  return runtime.check(runtime.api().SessionOptionsAppendExecutionProvider_TensorRT_V2(options, tensorrt.get()));
}

Status append(const OrtRuntime& runtime, OrtSessionOptions* options, const OrtProvider& provider) {
  switch (provider.append) {
    case Append::kNothing:
      return {};
    case Append::kByName:
      return runtime.check(
          runtime.api().SessionOptionsAppendExecutionProvider(options, provider.short_name, nullptr, nullptr, 0));
    case Append::kCuda:
      return append_cuda(runtime, options);
    case Append::kTensorRt:
      return append_tensorrt(runtime, options);
  }
  return {};
}

}  // namespace

std::span<const OrtProvider> ort_providers() { return providers(); }

const OrtProvider* ort_provider(std::string_view device_id) {
  const auto& list = providers();
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& p) { return device_id == p.device_id; });
  return found == list.end() ? nullptr : &*found;
}

Result<bool> ort_has_provider(const OrtRuntime& runtime, const OrtProvider& provider) {
  char** names = nullptr;
  int count = 0;
  ASSAY_CHECK_OK(runtime.check(runtime.api().GetAvailableProviders(&names, &count)));
  const bool has =
      std::any_of(names, names + count, [&](const char* name) { return std::string_view(name) == provider.ort_name; });
  ASSAY_CHECK_OK(runtime.check(runtime.api().ReleaseAvailableProviders(names, count)));
  return has;
}

Status ort_try_provider(const OrtRuntime& runtime, const OrtProvider& provider) {
  const OrtApi& api = runtime.api();
  ASSAY_TRY(const OrtOptionsPtr options, ort_make<OrtOptionsPtr>(runtime, &OrtApi::CreateSessionOptions));
  ASSAY_CHECK_OK(append(runtime, options.get(), provider));
  if (provider.append != Append::kNothing)
    ASSAY_CHECK_OK(runtime.check(api.AddSessionConfigEntry(options.get(), "session.disable_cpu_ep_fallback", "1")));
  ASSAY_CHECK_OK(runtime.check(api.SetIntraOpNumThreads(options.get(), 1)));
  const std::string model = ort_binary_model("Add", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  ASSAY_TRY([[maybe_unused]] const OrtSessionPtr session,
            ort_make<OrtSessionPtr>(runtime, &OrtApi::CreateSessionFromArray, runtime.env(), model.data(), model.size(),
                                    options.get()));
  return {};
}

}  // namespace assay::plugin
