// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/tensor/compare.hpp"

namespace assay::zoo {

/// The tolerance within which the graph that the zoo builds computes what the original implementation does, for a tiny
/// configuration of this class (zoo/goldens.json). nullopt: no golden of the class was compared, or it does not pass.
/// `zoo check` compares them; a test keeps the file equal to the goldens that pass.
[[nodiscard]] std::optional<Tolerance> passed_golden(const std::string& architecture, const std::string& model_class);

}  // namespace assay::zoo
