// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/plan/task.hpp"
#include "bench/prepare/prepare.hpp"
#include "bench/settings/settings.hpp"

namespace assay {

/// What assay chose for a model without a request, a note each that begins with the model's name: random weights, a
/// shorter sequence, the extents of a file's open inputs; also a requested KV cache that has no effect. Preparation has
/// already noted weights that are not available.
[[nodiscard]] std::vector<std::string> silent_choices(const PreparedModel& model, std::span<const Task> tasks,
                                                      const RunSettings& settings);

}  // namespace assay
