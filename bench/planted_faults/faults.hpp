// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

namespace assay::faults {

/// A fault of a runtime, written NAME[:WHERE][@STRENGTH]: skipped_layer:last@0.1.
struct Fault {
  std::string name;
  /// first, middle, last, all, or a number from 0: which of the places where the fault is possible.
  std::string where;
  /// 1 replaces the right value by the wrong one, less mixes them; kinds() says where it means something else.
  std::optional<double> strength;

  /// Errors: invalid_argument, for an unknown name (with the known ones) or a strength that is not a number.
  [[nodiscard]] static Result<Fault> parse(std::string_view text);
};

struct Kind {
  std::string_view name;
  std::string_view where;  ///< the default place
  double strength;         ///< the default strength
  std::string_view meaning;
};
/// The faults of a graph.
[[nodiscard]] const std::vector<Kind>& kinds();

/// Changes the model's graph. Returns false if it has no place for the fault: a bias in a model without any.
[[nodiscard]] Result<bool> plant(onnx::ModelProto& model, const Fault& fault);

}  // namespace assay::faults
