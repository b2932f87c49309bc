// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/prepare/prepare.hpp"
#include "bench/prepare/zoo_source.hpp"
#include "core/base/json.hpp"

// Parts of prepare_model().
namespace assay {

/// Chooses the size of a zoo model and describes it. `named`: the model that the user or the set names. Errors: those
/// of zoo::build; unsupported; cancelled.
[[nodiscard]] Status prepare_zoo(PreparedModel& model, const ZooSource& named, const RunSettings& settings,
                                 const Preparing& with);

/// The positions that a configuration limits; for a model of several towers: those of the text.
[[nodiscard]] std::optional<std::int64_t> max_sequence_of(const Json& config);

/// Sets the fields of a row that describe a graph: its hash, parameters, and task.
void set_graph(Record& row, const ModelInfo& info);

[[nodiscard]] Refusal not_built(std::string message);
[[nodiscard]] Refusal too_large(std::string message);

}  // namespace assay
