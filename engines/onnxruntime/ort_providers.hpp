// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ort_runtime.hpp"

namespace assay::plugin {

using OrtPairs = std::vector<std::pair<const char*, const char*>>;

/// One execution provider: its hardware, how it is enabled, and the options for strict arithmetic.
struct OrtProvider {
  enum class Append { kNothing, kByName, kCuda, kTensorRt };

  const char* device_id;  ///< for load(): "cpu", "cuda", "tensorrt", …
  const char* ort_name;   ///< as ONNX Runtime lists it: "CUDAExecutionProvider"
  const char* hardware;   ///< assay's name for it
  Append append;
  const char* short_name;  ///< for kByName: "CoreML"
  int score;
  /// Options with which float32 is computed in float32. nullopt: it cannot be guaranteed, and only the precision
  /// `runtime` is supported.
  std::optional<OrtPairs> strict_float32;
};

/// All known providers, whether or not a library has them.
[[nodiscard]] std::span<const OrtProvider> ort_providers();
[[nodiscard]] const OrtProvider* ort_provider(std::string_view device_id);

/// Whether this library was built with `provider`.
[[nodiscard]] Result<bool> ort_has_provider(const OrtRuntime& runtime, const OrtProvider& provider);

/// Enables `provider`. With `cpu_fallback` false, a session that would place any node on the CPU instead is an
/// error.
[[nodiscard]] Status ort_append_provider(const OrtRuntime& runtime, OrtSessionOptions* options,
                                         const OrtProvider& provider, bool strict, bool cpu_fallback);

/// Tries `provider` with a model of one addition: only success shows that its libraries and its device exist.
[[nodiscard]] Status ort_try_provider(const OrtRuntime& runtime, const OrtProvider& provider);

}  // namespace assay::plugin
