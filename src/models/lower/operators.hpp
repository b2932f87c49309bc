// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "models/lower/program.hpp"
#include "models/lower/static_program.hpp"

/// The tables of the two dialects. Each row is an operator and the function that lowers a node of it; what is in no
/// row is refused by name. `assay engines NAME --ops` prints the rows, and docs/operators.md is made of them.
namespace assay::lowering {

class TorchWriter;  ///< models/lower/torchscript/writer.hpp
namespace stablehlo {
class HloWriter;  ///< models/lower/stablehlo/writer.hpp
}
using stablehlo::HloWriter;

/// The newest version of ONNX's own operator set that the rows implement: that of the operator tests with which the
/// lowerings are compared (docs/conformance.md).
inline constexpr int kNewestOpset = 28;

/// A row. `lower` writes the node's outputs with the writer, or refuses what it does not implement.
template <class Writer>
struct LoweredOperator {
  Operator known;
  Status (*lower)(Writer& writer, const graph::Node& node);
};

[[nodiscard]] std::span<const LoweredOperator<TorchWriter>> torch_operators();
[[nodiscard]] std::span<const LoweredOperator<HloWriter>> hlo_operators();

/// Whether the dialect has elements of a type.
[[nodiscard]] bool torch_has_type(DType dtype);
[[nodiscard]] bool hlo_has_type(DType dtype);

/// The whole text, for a program whose operators are all in the dialect's table. Numbers the weights of `into`.
[[nodiscard]] Status lower_to_torch(const StaticProgram& program, Program& into);
[[nodiscard]] Status lower_to_hlo(const StaticProgram& program, Program& into);

}  // namespace assay::lowering
