// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.hpp"
#include "core/result/record.hpp"
#include "core/samples/measurement.hpp"
#include "models/inputs/given_shapes.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {

/// A model, as a person or a set names it.
struct ModelChoice {
  std::string name;       ///< shown and stored as `model`
  std::string reference;  ///< the model to resolve: a path, a Hugging Face id, an architecture
  std::string family;     ///< the family in a set or a custom file; empty: the model states it
  std::string category;
  std::string size;
  std::string modality;
  bool from_set = false;  ///< part of a set: its skipped and unsupported rows do not change the exit status
  bool built = true;      ///< false: known, but its architecture is not built yet
  bool any_size = false;  ///< a smaller size may stand in if the named one does not fit; the row then says so
  GivenShapes given{};    ///< shapes of its inputs, from a set or a custom file: they come before those of the settings
};

using OptionPairs = std::vector<std::pair<std::string, std::string>>;

/// Everything that holds for all cells of one invocation: the members that settings.def lists.
struct RunSettings {  // NOLINT(clang-analyzer-optin.performance.Padding): the order is that of the help
#define SETTING_LIST(...) \
  { __VA_ARGS__ }
#define VALUE(type, member, initial, identity) type member = initial;
#define FLAG(type, member, initial, identity, option, group, reader, help) type member = initial;
#define OPTION(member, option, group, reader, help)
#include "bench/settings/settings.def"
#undef SETTING_LIST
};

/// `settings` with the shapes that `choice` gives.
[[nodiscard]] RunSettings settings_of(const ModelChoice& choice, RunSettings settings);

[[nodiscard]] Json to_json(const ModelChoice& choice);
/// The settings that decide which cells there are and what they measure, by their names.
[[nodiscard]] Json to_json(const RunSettings& settings);

}  // namespace assay
