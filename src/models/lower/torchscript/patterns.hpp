// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "models/lower/torchscript/writer.hpp"

namespace assay::lowering {

/// Who makes and who reads each tensor of a program.
class Readers {
 public:
  explicit Readers(const StaticProgram& program);
  /// nullptr: an input or a constant.
  [[nodiscard]] const graph::Node* maker(std::string_view name) const;
  /// The node of that operator of ONNX's own domain that makes `name`, if nothing but one node reads it; else nullptr.
  [[nodiscard]] const graph::Node* maker_for_one(std::string_view name, std::string_view op_type) const;
  [[nodiscard]] std::size_t reads(std::string_view name) const;

 private:
  std::map<std::string_view, const graph::Node*> makers_;
  std::map<std::string_view, std::size_t> reads_;  ///< an output counts as one
};

/// Groups of nodes that libtorch has one operator for: linear layers, GELU, SiLU, attention. The operator
/// is written where the last node of the group is, and nothing for the others, which no other node reads.
class TorchPatterns {
 public:
  explicit TorchPatterns(const StaticProgram& program);
  /// Whether the node belongs to a group. If it is the group's last node, writes the group; the others need no
  /// statement.
  [[nodiscard]] bool write(TorchWriter& writer, const graph::Node& node) const;

 private:
  std::map<const graph::Node*, std::function<void(TorchWriter&)>> last_;
  std::set<const graph::Node*> inner_;
};

/// A group: the nodes that it replaces, the last one first, and how it is written.
struct TorchGroup {
  std::vector<const graph::Node*> nodes{};
  std::function<void(TorchWriter&)> write{};
};

/// Groups whose last node is `node`; no nodes: there is none.
[[nodiscard]] TorchGroup find_activation(const StaticProgram& program, const Readers& readers, const graph::Node& node);
[[nodiscard]] TorchGroup find_attention(const StaticProgram& program, const Readers& readers, const graph::Node& node);
[[nodiscard]] TorchGroup find_layer(const StaticProgram& program, const Readers& readers, const graph::Node& node);
[[nodiscard]] TorchGroup find_biased_layer(const StaticProgram& program, const Readers& readers,
                                           const graph::Node& node);

[[nodiscard]] bool is_operator(const graph::Node& node, std::string_view op_type);

}  // namespace assay::lowering
