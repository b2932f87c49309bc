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

/// One execution provider: which hardware it is, how it is switched on, and what makes its arithmetic strict.
struct OrtProvider {
  enum class Append { kNothing, kByName, kCuda, kTensorRt };

  const char* device_id;  ///< what load() takes: "cpu", "cuda", "tensorrt", …
  const char* ort_name;   ///< as ONNX Runtime lists it: "CUDAExecutionProvider"
  const char* hardware;   ///< assay's word
  Append append;
  const char* short_name;  ///< for kByName: "CoreML"
  int score;
  /// Options under which float32 is computed in float32. nullopt: it cannot be promised, so that only the precision
  /// `runtime` is served.
  std::optional<OrtPairs> strict_float32;
};

/// All providers known here, whether or not a library has them.
[[nodiscard]] std::span<const OrtProvider> ort_providers();
[[nodiscard]] const OrtProvider* ort_provider(std::string_view device_id);

/// Whether this library was built with `provider`.
[[nodiscard]] Result<bool> ort_has_provider(const OrtRuntime& runtime, const OrtProvider& provider);

/// Switches `provider` on. With `cpu_fallback` false, a session that would place any node on the CPU instead is an
/// error.
[[nodiscard]] Status ort_append_provider(const OrtRuntime& runtime, OrtSessionOptions* options,
                                         const OrtProvider& provider, bool strict, bool cpu_fallback);

/// Tries `provider` on a model of one addition: only success shows that its libraries and its device are there.
[[nodiscard]] Status ort_try_provider(const OrtRuntime& runtime, const OrtProvider& provider);

}  // namespace assay::plugin
