// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "bench/verify/honest.hpp"

// The files of references and honest errors that are kept for later runs, with checksums.
namespace assay {

/// The outputs of an input set, and the largest logits of its greedy tokens, in the folder of a reference.
[[nodiscard]] std::string outputs_file(std::size_t set);
[[nodiscard]] std::string largest_file(std::size_t set);

/// Removes the folder if it has a reference of which a file changed since complete_reference(). Returns whether it has
/// one then.
[[nodiscard]] bool keep_only_whole_reference(const std::filesystem::path& folder, std::size_t sets);

/// Whether complete_reference() completed the folder, whatever changed since.
[[nodiscard]] bool is_complete_reference(const std::filesystem::path& folder);

/// Completes the files that a worker wrote into `folder`: on the disk, then with their checksums. Errors: those of
/// files.
[[nodiscard]] Status complete_reference(const std::filesystem::path& folder, std::size_t sets);

/// Honest errors that were kept; nullopt: there are none, or they changed.
[[nodiscard]] std::optional<HonestErrors> kept_honest(const std::filesystem::path& file);

/// Errors: those of write_file_atomically().
[[nodiscard]] Status keep_honest(const std::filesystem::path& file, const HonestErrors& errors);

}  // namespace assay
