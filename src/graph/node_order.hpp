// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <string_view>
#include <vector>

namespace assay {

/// The names that a node reads, each once: its inputs, and what the graphs inside it (If, Loop, Scan) take from around
/// them. Inputs left out are none. Lifetime: the node's.
[[nodiscard]] std::vector<std::string_view> reads_of(const onnx::NodeProto& node);

/// The places of a checked graph's nodes, each behind those that make what it reads: the file's own order where that is
/// one.
[[nodiscard]] std::vector<int> in_order(const onnx::GraphProto& graph);

}  // namespace assay
