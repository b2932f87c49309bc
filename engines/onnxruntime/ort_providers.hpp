// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "ort_runtime.hpp"

namespace assay::plugin {

/// One execution provider: its hardware, and how it is enabled.
struct OrtProvider {
  enum class Append { kNothing, kByName, kCuda, kTensorRt };

  const char* device_id;  ///< the id that load() accepts: "cpu", "cuda", "tensorrt", …
  const char* ort_name;   ///< name in ONNX Runtime's list: "CUDAExecutionProvider"
  const char* hardware;   ///< assay's name for it
  Append append;
  const char* short_name;  ///< name that enables it if `append` is kByName: "CoreML"
  int score;

  /// Whether it computes on the processor. The others are accelerators: they are found, but not measured (README.md).
  [[nodiscard]] bool is_processor() const { return append == Append::kNothing; }
};

/// All known providers, whether or not a library has them.
[[nodiscard]] std::span<const OrtProvider> ort_providers();
[[nodiscard]] const OrtProvider* ort_provider(std::string_view device_id);

/// Whether this library was built with `provider`.
[[nodiscard]] Result<bool> ort_has_provider(const OrtRuntime& runtime, const OrtProvider& provider);

/// Tries `provider` with a model of one addition: only success shows that its libraries and its device exist.
[[nodiscard]] Status ort_try_provider(const OrtRuntime& runtime, const OrtProvider& provider);

}  // namespace assay::plugin
