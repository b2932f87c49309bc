// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "models/builder/graph_builder.hpp"

namespace assay::testing {

/// The bytes of a weight with these values.
inline ByteSource floats(std::vector<float> values) {
  return [values = std::move(values)](const ByteSink& sink) { return sink(std::as_bytes(std::span(values))); };
}

}  // namespace assay::testing
