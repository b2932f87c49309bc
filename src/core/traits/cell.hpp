// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result/record.hpp"

namespace assay {

/// Which cell a row is of: the keys of its shape, target and model, and what rows must share to be compared.

/// The guide's key of the row's target: "cpu", "cpu@openvino".
[[nodiscard]] std::string target_key(const Record& row);

/// Identifies a model independently of its name: its configuration (a file's graph), weights, class and KV cache. Empty
/// where nothing is known of it, as of one that could not be prepared.
[[nodiscard]] std::string model_identity(const Record& row);

/// "batch_1_seq_128", "batch_8_float16": the shape's key in the guide's JSON (docs/formats.md). Cells of one model on
/// one target have different keys.
[[nodiscard]] std::string shape_key(const Record& row);

/// Whether an interruption left the cell without a result, or with a part of it: --resume runs such cells.
[[nodiscard]] bool unfinished(const Record& row);

/// The form of shapes that was requested for a row, if it differs from what its engine gets by default for models of
/// this family: "static" (--static-shapes), "dynamic" (--dynamic-shapes, --budget); else "". Defaults are always those
/// of assay's own engines, as in target_key(); for other engines, shapes are static by default.
[[nodiscard]] std::string_view unusual_shapes(const Record& row);

/// Whether two rows are of the same cell but for their target: model, shape, precision as asked and as it really was,
/// contract, machine. Only such rows are compared.
[[nodiscard]] bool comparable(const Record& a, const Record& b);

/// "batch 4, 128 tokens".
[[nodiscard]] std::string shape_words(const Record& row);

/// Equal for the rows that are comparable(), and for no others.
[[nodiscard]] std::string cell_key(const Record& row);

/// Equal for the rows whose cells differ at most in the batch.
[[nodiscard]] std::string cell_key_of_any_batch(Record row);

/// Equal for the rows whose cells differ at most in batch, precision and machine: what a person may set against each
/// other by choice.
[[nodiscard]] std::string cell_key_but_choices(Record row);

}  // namespace assay
