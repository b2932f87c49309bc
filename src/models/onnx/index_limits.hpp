// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/onnx/onnx_file.hpp"

namespace assay {

/// For each input of the main graph that selects rows of constant tables (embeddings), how many rows the smallest of
/// them has: valid values are 0 to that number less one. Each input is followed through operators that copy values
/// (Cast, Reshape, Slice, …) to Gather and similar operators. Tables behind arithmetic or local functions are not
/// found.
[[nodiscard]] std::map<std::string, std::int64_t> index_limits(const onnx::GraphProto& graph);

}  // namespace assay
