// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <assay/engine_plugin.hpp>

namespace assay::plugin {

/// A tensor that a lowered program reads: packed elements in a file, with no promised alignment.
struct StoredWeight {
  ValueInfo value;
  std::filesystem::path file;
  std::uint64_t offset = 0, bytes = 0;
};

/// What a model file does not say of itself: docs/lowering.md describes the JSON.
struct Signature {
  std::vector<ValueInfo> inputs, outputs;
  std::vector<StoredWeight> weights;
  bool names_of_arguments = false;  ///< its inputs are arguments of forward by name, never by position
};

/// `file` is its name in messages; files of weights are relative to `folder`. An extent may be open: -1, or a symbol.
/// Errors: invalid_argument, naming the entry.
[[nodiscard]] Result<Signature> parse_signature(const std::string& text, const std::string& file,
                                                const std::filesystem::path& folder);

/// The JSON of inputs and outputs.
[[nodiscard]] std::string signature_text(const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs);

}  // namespace assay::plugin
