// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/dtype.hpp"
#include "models/onnx/graph_check.hpp"
#include "models/onnx/model_writer.hpp"
#include "models/onnx/onnx_file.hpp"

namespace assay {

/// The beginning of the names of all nodes and values that are added to a copy.
inline constexpr std::string_view kAddedPrefix = "assay:";

/// Whether a node may be written with changes. Errors: unsupported (a large tensor in an attribute, which stays in the
/// file).
[[nodiscard]] Status check_movable(const OnnxFile& file, const onnx::NodeProto& node);

/// The nodes of a copy of a graph, in order, and the constants that they need.
class NodeList {
 public:
  /// Lifetime: `file` outlives the object.
  explicit NodeList(const OnnxFile& file) : file_(file) {}

  /// Adds the file's node at `place` as it is.
  void keep(std::size_t place) { nodes_.push_back({place, {}}); }
  void add(const onnx::NodeProto& node) { nodes_.push_back({std::nullopt, node.SerializeAsString()}); }

  /// A new node, which is not added yet.
  [[nodiscard]] onnx::NodeProto make(const char* op, const std::vector<std::string>& inputs,
                                     const std::string& output) const;
  /// Adds a node; returns its output.
  std::string op(const char* type, const std::vector<std::string>& inputs);
  /// The same for a cast. `output`: "" chooses a name.
  std::string cast(const std::string& from, DType to, std::string output = {});
  /// A float32 scalar.
  std::string constant(float value);
  /// A name that no other value has.
  [[nodiscard]] std::string fresh();

  static void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value);
  static void set_float(onnx::NodeProto& node, const char* name, float value);

  /// Writes the copy. `checked`: the graph of the file. `typed`: as in write_nodes(). Errors: those of write_nodes().
  [[nodiscard]] Status write(const CheckedGraph& checked, bool typed, const std::filesystem::path& to) const;

 private:
  const OnnxFile& file_;
  std::vector<WrittenNode> nodes_;
  std::vector<AddedConstant> constants_;
  std::set<std::string> known_;
  std::size_t values_ = 0;
};

}  // namespace assay
