// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/settings/settings.hpp"
#include "core/base/json.hpp"

namespace assay {

/// The models of a set ("key", "small") or of a custom JSON file, in order.
/// Paths in a file are relative to its folder, not to the working folder; `~/` is the user's home folder.
/// Errors: invalid_argument with line and column, the entry and what is missing.
[[nodiscard]] Result<std::vector<ModelChoice>> models_of_set(const std::string& set);
[[nodiscard]] Result<std::vector<ModelChoice>> models_of_file(const std::filesystem::path& path);

/// The shapes that an entry of a file gives: "shape" and "dim", each a text as of the options --shape and --dim, or a
/// list of such texts. `where` begins messages. Errors: invalid_argument.
[[nodiscard]] Result<GivenShapes> shapes_in(const Json& entry, const std::string& where);

/// What a name in a file stands for: a path relative to the folder of `file`, if one is there or if it is not the name
/// of a model; else the name itself. "~/" is the user's home folder. Errors: invalid_argument (HOME is not set).
[[nodiscard]] Result<std::string> model_beside(const std::string& name, const std::filesystem::path& file);

}  // namespace assay
