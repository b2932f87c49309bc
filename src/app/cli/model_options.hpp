// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/settings/settings.hpp"

/// How every command gets its models: bare words, `--model`, `--models` and `--model-id` are one
/// thing, a MODEL (docs/zoo.md, "Names").
namespace assay::cli {

inline constexpr const char* kModelHelp =
    "A file, a folder, a name such as bert or resnet50, or a Hugging Face id; --model, --models and --model-id are "
    "other ways to write it";

/// Adds MODEL… to a command.
CLI::Option* add_models(CLI::App& command, std::vector<std::string>& words, const std::string& help = kModelHelp);
/// Adds one MODEL to a command, which is required.
CLI::Option* add_model(CLI::App& command, std::string& word, const std::string& help);

/// The names in the words of add_models(): commas separate them, too, except in the name of a file.
[[nodiscard]] std::vector<std::string> model_names(const std::vector<std::string>& words);

/// The models that these names stand for. Errors: invalid_argument, for an empty name.
[[nodiscard]] Result<std::vector<ModelChoice>> named_models(const std::vector<std::string>& names);

}  // namespace assay::cli
