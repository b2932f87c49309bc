// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/evaluate/kernel.hpp"
#include "models/graph/window.hpp"

namespace assay::evaluate {

/// The window of a node over an input [N, C, spatial…]. Errors: invalid_argument: graph::read_window.
[[nodiscard]] Result<graph::Window> window_of(const Call& call, const Shape& in, Shape kernel);

/// The convolution of x [N, C, spatial…] by w [M, C / group, kernel…], with the attributes of the node; `bias` [M] or
/// nullptr. Errors: invalid_argument: the shapes contradict each other.
[[nodiscard]] Result<Value> convolution(const Call& call, const Value& x, const Value& w, const Value* bias);

}  // namespace assay::evaluate
