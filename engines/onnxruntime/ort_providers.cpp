// SPDX-License-Identifier: Apache-2.0
#include "ort_providers.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace assay::plugin {
namespace {

using Append = OrtProvider::Append;

/// `y = x + x` on float[1], opset 13, as a serialised ONNX message.
constexpr std::array<std::uint8_t, 61> kProbeModel{
    0x08, 0x08, 0x3a, 0x35, 0x0a, 0x0e, 0x0a, 0x01, 0x78, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x79, 0x22,
    0x03, 0x41, 0x64, 0x64, 0x12, 0x01, 0x67, 0x5a, 0x0f, 0x0a, 0x01, 0x78, 0x12, 0x0a, 0x0a, 0x08,
    0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x01, 0x62, 0x0f, 0x0a, 0x01, 0x79, 0x12, 0x0a, 0x0a,
    0x08, 0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x01, 0x42, 0x02, 0x10, 0x0d};

const std::vector<OrtProvider>& providers() {
  // TensorRT and CoreML choose reduced formats themselves, QNN's HTP has no float32.
  static const std::vector<OrtProvider> list{
      {"cpu", "CPUExecutionProvider", "cpu", Append::kNothing, "", 10, OrtPairs{}},
      {"cuda", "CUDAExecutionProvider", "cuda", Append::kCuda, "", 20, OrtPairs{{"use_tf32", "0"}}},
      {"tensorrt", "TensorrtExecutionProvider", "cuda", Append::kTensorRt, "", 15, std::nullopt},
      {"migraphx", "MIGraphXExecutionProvider", "rocm", Append::kByName, "MIGraphX", 20, OrtPairs{}},
      {"coreml", "CoreMLExecutionProvider", "mps", Append::kByName, "CoreML", 20, std::nullopt},
      {"openvino", "OpenVINOExecutionProvider", "openvino", Append::kByName, "OpenVINO", 15,
       OrtPairs{{"device_type", "CPU"}, {"precision", "FP32"}}},
      {"qnn", "QNNExecutionProvider", "qnn", Append::kByName, "QNN", 20, std::nullopt},
  };
  return list;
}

struct Columns {
  std::vector<const char*> keys, values;
  explicit Columns(const OrtPairs& pairs) {
    for (const auto& [key, value] : pairs) {
      keys.push_back(key);
      values.push_back(value);
    }
  }
};

Status append_cuda(const OrtRuntime& runtime, OrtSessionOptions* options, const Columns& columns) {
  using Pointer = std::unique_ptr<OrtCUDAProviderOptionsV2, OrtDeleter<&OrtApi::ReleaseCUDAProviderOptions>>;
  ASSAY_TRY(const Pointer cuda, ort_make<Pointer>(runtime, &OrtApi::CreateCUDAProviderOptions));
  ASSAY_CHECK_OK(runtime.check(runtime.api().UpdateCUDAProviderOptions(cuda.get(), columns.keys.data(),
                                                                       columns.values.data(), columns.keys.size())));
  return runtime.check(runtime.api().SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda.get()));
}

Status append_tensorrt(const OrtRuntime& runtime, OrtSessionOptions* options) {
  using Pointer = std::unique_ptr<OrtTensorRTProviderOptionsV2, OrtDeleter<&OrtApi::ReleaseTensorRTProviderOptions>>;
  ASSAY_TRY(const Pointer tensorrt, ort_make<Pointer>(runtime, &OrtApi::CreateTensorRTProviderOptions));
  return runtime.check(runtime.api().SessionOptionsAppendExecutionProvider_TensorRT_V2(options, tensorrt.get()));
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

Status ort_append_provider(const OrtRuntime& runtime, OrtSessionOptions* options, const OrtProvider& provider,
                           bool strict, bool cpu_fallback) {
  if (provider.append == Append::kNothing) return {};
  ASSAY_TRY(const bool has, ort_has_provider(runtime, provider));
  if (!has) {
    return fail(ErrorCode::kNotFound,
                fmt::format("this ONNX Runtime {} was built without {}", runtime.version(), provider.ort_name));
  }
  const Columns columns(strict && provider.strict_float32 ? *provider.strict_float32 : OrtPairs{});
  const OrtApi& api = runtime.api();
  switch (provider.append) {
    case Append::kNothing:
      break;
    case Append::kByName:
      ASSAY_CHECK_OK(runtime.check(api.SessionOptionsAppendExecutionProvider(
          options, provider.short_name, columns.keys.data(), columns.values.data(), columns.keys.size())));
      break;
    case Append::kCuda:
      ASSAY_CHECK_OK(append_cuda(runtime, options, columns));
      break;
    case Append::kTensorRt:
      ASSAY_CHECK_OK(append_tensorrt(runtime, options));
      break;
  }
  return runtime.check(api.AddSessionConfigEntry(options, "session.disable_cpu_ep_fallback", cpu_fallback ? "0" : "1"));
}

Status ort_try_provider(const OrtRuntime& runtime, const OrtProvider& provider) {
  ASSAY_TRY(const OrtOptionsPtr options, ort_make<OrtOptionsPtr>(runtime, &OrtApi::CreateSessionOptions));
  ASSAY_CHECK_OK(ort_append_provider(runtime, options.get(), provider, false, false));
  ASSAY_CHECK_OK(runtime.check(runtime.api().SetIntraOpNumThreads(options.get(), 1)));
  ASSAY_TRY([[maybe_unused]] const OrtSessionPtr session,
            ort_make<OrtSessionPtr>(runtime, &OrtApi::CreateSessionFromArray, runtime.env(), kProbeModel.data(),
                                    kProbeModel.size(), options.get()));
  return {};
}

}  // namespace assay::plugin
