// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "graph/static_graph.hpp"

namespace assay {

struct SpecialiseRequest {
  std::map<std::string, Shape> shapes{};      ///< of every input that stays one
  std::map<std::string, Tensor> constants{};  ///< of inputs whose values are known: lengths, image sizes, a position
};

/// A node whose outputs have no static shape: they depend on data (NonZero), or assay has no rule for its operator.
struct DynamicNode {
  std::string name;     ///< its first output's, where the node has none
  std::string op_type;  ///< "com.microsoft:Attention" where the domain is not ONNX's own
};

struct SpecialisedModel {
  std::filesystem::path path;
  std::vector<std::string> inputs{};  ///< that the file still has, in the model's order
  std::size_t nodes = 0;              ///< that the file has
  std::size_t nodes_before = 0;
  std::size_t constants = 0;           ///< tensors that stand where nodes or inputs were
  std::vector<DynamicNode> dynamic{};  ///< where shapes begin to be unknown, in the graph's order; empty: none are
};

/// Writes the ONNX file that `model` is at these shapes: for runtimes that take static shapes alone.
///
/// - Its inputs have exactly `shapes`. Those of `constants` are none any more, nor are those that have an initialiser
///   of their own name, which is their value unless `constants` gives another. An input that nothing reads any more
///   stays.
/// - Nodes whose outputs are integers or bools (int64, int32, bool; up to 65,536 elements each) that follow from shapes
///   and constants alone become initialisers. Floating-point arithmetic and larger tensors are computed as before, from
///   constants. So no Shape is left of a value whose shape is known.
/// - Nodes and initialisers that no output needs are gone. What is left is copied as it stands, the graphs inside If,
///   Loop and Scan, local functions and metadata included, in an order in which each node follows those it reads.
/// - Every value has its shape declared, outputs too. An output that became a constant is made by an Identity.
/// - What cannot be made static stays as it is, and `dynamic` tells where it begins; the graph is static exactly if
///   that is empty. The graphs inside a node are not looked into: an If, Loop or Scan is such a node.
///
/// Weights inside the file are copied once, piece by piece; memory is the graph's without them. External data stays
/// where it is when `output` lies in the model's own folder; else it is given to the output's folder under the same
/// name, by a hard link or, where there is none to be had, a copy. A file there that is `output`.data is replaced;
/// another one with other content is an error. Unlike a copy, a link changes with the original if that is edited in
/// place.
///
/// `output` may be the model itself. Files are replaced when the new one is whole. The same request gives the same
/// bytes. `model` keeps the old file mapped: it serves further shapes, but does not see what was written.
///
/// Errors: those of StaticModel::infer; invalid_argument also for a shape of what is no input (or has a value), for an
/// output that is one of the model's data files or cannot be written, for a file of 2 GiB or more; internal (disk
/// full).
[[nodiscard]] Result<SpecialisedModel> specialise(const StaticModel& model, const SpecialiseRequest& request,
                                                  const std::filesystem::path& output);
[[nodiscard]] Result<SpecialisedModel> specialise(const std::filesystem::path& model, const SpecialiseRequest& request,
                                                  const std::filesystem::path& output);

}  // namespace assay
