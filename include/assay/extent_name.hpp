// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace assay {

/// The name of an open extent of an ONNX model, from its `dim_param`; "" if it has none. Some exporters write "?" or
/// "-1" for each extent that they know nothing about: two such extents may differ, so these are not names. Lifetime:
/// that of `dim_param`.
[[nodiscard]] inline std::string_view extent_name(std::string_view dim_param) {
  return dim_param == "?" || dim_param == "-1" ? std::string_view() : dim_param;
}

}  // namespace assay
