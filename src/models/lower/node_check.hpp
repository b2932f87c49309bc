// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <assay/result.hpp>

#include "core/tensor/dtype.hpp"
#include "models/graph/static_graph.hpp"
#include "models/graph/view.hpp"

namespace assay::lowering {

/// Whether a dialect has elements of a type.
using TypeCheck = bool (*)(DType);

/// What a file may say of a node and no lowering function checks again: it has the inputs and outputs that its operator
/// needs, with names; inputs that must have one type do; ranks and the attributes that count something are in range;
/// its tensors have types of the dialect, at most 64 axes and 2^38 elements; and it needs no long lists of computed
/// numbers. `graph` has the node's tensors; a node of an operator without a Signature passes. Errors: invalid_argument:
/// the node contradicts its operator; unsupported: a type, or what is too large. Both name the node and its operator.
[[nodiscard]] Status check_node(const graph::Node& node, const StaticGraph& graph, TypeCheck has_type);

/// Why a tensor, whose shape is known, cannot be in a program: "has 65 axes; at most 64 can be lowered". nullopt: it
/// can.
[[nodiscard]] std::optional<std::string> unfit(const StaticValue& value, TypeCheck has_type);

}  // namespace assay::lowering
