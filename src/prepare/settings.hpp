// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "measure/measurement.hpp"
#include "result/record.hpp"
#include "zoo/zoo.hpp"

namespace assay {

/// A model, as a person or a set names it.
struct ModelChoice {
  std::string name;       ///< shown and stored as `model`
  std::string reference;  ///< what to resolve: a path, a Hugging Face id, an architecture
  std::string family;     ///< from a set or a custom file; empty: the model says it
  std::string category;
  std::string size;
  std::string modality;
  bool from_set = false;  ///< part of a set: its skipped and unsupported rows do not change the exit status
  bool built = true;      ///< false: known, but its architecture is not built yet
  bool any_size = false;  ///< if the named one does not fit, a smaller one stands in and the row says so
};

/// The settings that all cells of one invocation share.
struct RunSettings {
  std::vector<std::int64_t> batch_sizes{1, 4, 8};
  bool default_batches = true;  ///< not given by the user: the slow ones may be skipped
  std::vector<std::int64_t> sequence_lengths{128};
  bool default_lengths = true;  ///< not given by the user: reduced to what a model supports
  std::vector<std::int64_t> output_tokens{kDefaultOutputTokens};  ///< of generative models; {0}: a forward pass instead
  std::string precision = "float32";
  bool precision_asked = false;  ///< a model file keeps its own types unless the user gives a precision
  std::vector<std::int64_t> streams{1};
  std::vector<std::int64_t> threads{0};  ///< 0: all that this process may use
  std::vector<std::pair<std::string, std::string>> engine_options;
  std::string size;  ///< of zoo models; "": not given
  std::uint64_t seed = 0;
  std::size_t input_sets = 4;  ///< the rotating set; fewer when inputs are large
  std::filesystem::path data;
  MeasurePlan measure;
  std::optional<std::uint64_t> memory_limit_bytes;  ///< of one worker; absent: nine tenths of what is free
  bool verify = true;
  bool benchmark = true;
  bool resource_pool = true;
  bool parallel = false;
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);  ///< per cell, its reference included
  double scale = 1.0;                                            ///< of the layers of models that the zoo builds
  zoo::KvCache kv_cache = zoo::KvCache::kGrowing;
};

[[nodiscard]] Json to_json(const ModelChoice& choice);
/// The settings that decide which cells there are and what they measure.
[[nodiscard]] Json to_json(const RunSettings& settings);

}  // namespace assay
