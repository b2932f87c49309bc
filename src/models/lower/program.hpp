// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/files.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/tensor.hpp"
#include "models/graph/specialise.hpp"
#include "models/graph/view.hpp"

/// From an ONNX graph to the language of another compiler. The result is a text, and a list of the weights that it
/// reads: their bytes stay in the files where they are. An engine's plug-in compiles the text; nothing here links a
/// runtime.
namespace assay::lowering {

/// The language of a lowered program.
enum class Dialect {
  kTorchScript,  ///< a method in TorchScript's subset of Python; "torchscript" in engine.json and as file extension
  kStableHlo,    ///< an MLIR module; "stablehlo"
};
[[nodiscard]] std::string_view to_string(Dialect dialect);
[[nodiscard]] std::optional<Dialect> dialect_from(std::string_view name);
/// The dialect of a text in a file with this extension: its name, or "mlir" for StableHLO.
[[nodiscard]] std::optional<Dialect> dialect_from_extension(std::string_view extension);

/// An input or output of a program. All extents are known.
struct Value {
  std::string name;  ///< name in the ONNX file
  DType dtype = DType::kUndefined;
  Shape shape{};
  /// The number of rows of the table that an input selects from, if it is known.
  std::optional<std::int64_t> index_limit{};
};

/// A tensor that the program reads and that never changes. Its packed elements, row-major and little-endian, are in
/// `file` from `offset` on, with no promised alignment.
struct Weight {
  std::string name;  ///< name in the ONNX file; unique in the program
  DType dtype = DType::kUndefined;
  Shape shape{};
  std::filesystem::path file{};
  std::uint64_t offset = 0, bytes = 0;
  /// The elements in the file are those of a tensor whose axis `permutation[i]` is axis i of this one. Empty: of this
  /// one.
  std::vector<std::int64_t> permutation{};
  std::string held{};  ///< the elements themselves if no file has them; then `file` is empty until write_program()
};

/// A weight that no file has. `elements`: as Weight describes those of a file.
[[nodiscard]] Weight held_weight(std::string name, DType dtype, Shape shape, Bytes elements);

/// TorchScript: `text` defines `forward(self, inputs…)`; weight number i is the attribute `w<i>` of `self`; inputs are
/// `x0`, `x1`, …; outputs are returned as a tuple (of one element, too).
/// StableHLO: `text` is a module whose function `main` has the inputs, then the weights, as arguments, and returns the
/// outputs.
struct Program {
  Dialect dialect = Dialect::kTorchScript;
  std::string text{};
  std::vector<Value> inputs{}, outputs{};  ///< same order as in the model
  std::vector<Weight> weights{};           ///< weight number i of `text` is element i
};

/// Lowers `model` for the shapes (and constant inputs) of `request`.
/// Errors: unsupported: an operator, an attribute or an element type that the dialect's table lacks, naming operator,
/// opset and node; a node without a static shape; those of StaticModel::infer and check_lowering(). Whatever the file
/// says of its nodes, the answer is a program or an error.
/// Cost: reads the graph, not the weights. Memory: the text, and constants that were computed.
[[nodiscard]] Result<Program> lower(const StaticModel& model, const SpecialiseRequest& request, Dialect dialect);

/// What lower() refuses before it writes: an operator that the dialect's table lacks, a node or an output without a
/// static shape, a node that contradicts its operator or is too large (models/lower/node_check.hpp). `graph` was
/// inferred from `model`, which may be a file without weights.
[[nodiscard]] Status check_lowering(const StaticModel& model, const StaticGraph& graph, Dialect dialect);

enum class WeightPlace {
  kInPlace,  ///< weights stay in their files, which must exist while the program is used
  kCopied,   ///< weights are copied to `file`.weights, so that the program needs no other file
};
/// Writes the text to `file`, and beside it `file`.json with the signature and the places of the weights
/// (docs/lowering.md), and, if there are any, `file`.weights with the elements that no other file has, or all of them.
/// Not synced to disk: it can be made again.
[[nodiscard]] Status write_program(const Program& program, const std::filesystem::path& file,
                                   WeightPlace weights = WeightPlace::kInPlace);

/// lower() and write_program() in one call. Errors: those of both.
[[nodiscard]] Status lower_to_file(const StaticModel& model, const SpecialiseRequest& request, Dialect dialect,
                                   const std::filesystem::path& file, WeightPlace weights = WeightPlace::kInPlace);

/// An operator that a dialect implements.
struct Operator {
  std::string_view domain, name;  ///< domain "" is ONNX's own
  int first_opset = 1;  ///< the oldest and the newest version of the operator set whose meaning is implemented
  int last_opset = 0;
  std::string_view except;  ///< the part that is not implemented, as one phrase; empty: all of it is implemented
};
/// Sorted by domain and name.
[[nodiscard]] std::vector<Operator> operators(Dialect dialect);

}  // namespace assay::lowering
