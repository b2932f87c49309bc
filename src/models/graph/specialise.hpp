// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/graph/static_graph.hpp"

namespace assay {

struct SpecialiseRequest {
  std::map<std::string, Shape> shapes{};      ///< shape of every input that stays an input
  std::map<std::string, Tensor> constants{};  ///< values of inputs that are known: lengths, image sizes, a position
};

/// A node whose outputs have no static shape: they depend on data (NonZero), or assay has no rule for its operator.
struct DynamicNode {
  std::string name;     ///< name of its first output if the node has none
  std::string op_type;  ///< "com.microsoft:Attention" if the domain is not ONNX's own
};

/// "node 'x' (NonZero) has no static shape".
[[nodiscard]] std::string no_static_shape(const DynamicNode& node);

struct SpecialisedModel {
  std::filesystem::path path;
  std::vector<std::string> inputs{};  ///< inputs that the file still has, in the model's order
  std::size_t nodes = 0;              ///< number of nodes in the file
  std::size_t nodes_before = 0;
  std::size_t constants = 0;           ///< tensors that replace nodes or inputs
  std::vector<DynamicNode> dynamic{};  ///< nodes where shapes become unknown, in the graph's order; may be empty
};

/// Writes an ONNX file of `model` for one set of shapes: for runtimes that support static shapes only.
///
/// - Its inputs have exactly `shapes`. An input that is in `constants`, or has an initialiser of its own name, is not
/// an
///   input of the new file: the constant, or else the initialiser, is its value. An input that no node reads any more
///   stays an input.
/// - Nodes whose outputs are integers or bools (int64, int32, bool; up to 65,536 elements each) that follow from shapes
///   and constants alone become initialisers. Floating-point arithmetic and larger tensors are computed as before, from
///   constants. So no Shape node is left that reads a value of known shape.
/// - Nodes and initialisers that no output needs are removed. The rest is copied unchanged, the graphs inside If,
///   Loop and Scan, local functions and metadata included, in an order in which each node follows those it reads.
/// - Every value has its shape declared, outputs too. An output that became a constant is made by an Identity.
/// - What cannot be made static is not changed, and `dynamic` has the nodes where it begins; the graph is static
/// exactly
///   if that is empty. Graphs inside nodes are not specialised: an If, Loop or Scan is listed in `dynamic`.
///
/// Weights inside the file are copied once, piece by piece; memory is the graph's without them. External data stays
/// where it is when `output` is in the model's own folder; else the output's folder gets it under the same name, as a
/// hard link or, if the file system refuses one, a copy. An existing file `output`.data is replaced; another existing
/// file with other content is an error. Unlike a copy, a link changes when the original is edited in place.
///
/// `output` may be the model itself. Files are replaced when the new one is whole. The same request gives the same
/// bytes. `model` keeps the old file mapped: it serves further shapes, but does not see what was written.
///
/// Errors: those of StaticModel::infer; invalid_argument also: a shape for a name that is not an input (or has a
/// value), an output that is one of the model's data files or cannot be written, a file of 2 GiB or more; internal
/// (disk full).
[[nodiscard]] Result<SpecialisedModel> specialise(const StaticModel& model, const SpecialiseRequest& request,
                                                  const std::filesystem::path& output);
[[nodiscard]] Result<SpecialisedModel> specialise(const std::filesystem::path& model, const SpecialiseRequest& request,
                                                  const std::filesystem::path& output);

}  // namespace assay
