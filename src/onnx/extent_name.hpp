// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <string>
#include <string_view>

namespace assay {

/// The name of an open extent; "" if it has none. Some exporters write "?" or "-1" for each extent that they know
/// nothing about: two such extents may differ, so these are not names. Lifetime: that of `dimension`.
[[nodiscard]] inline std::string_view extent_name(const onnx::TensorShapeProto::Dimension& dimension) {
  const std::string& name = dimension.dim_param();
  return name == "?" || name == "-1" ? std::string_view() : name;
}

}  // namespace assay
