// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "base/files.hpp"
#include "engine/registry.hpp"
#include "hub/hub.hpp"
#include "model/model.hpp"
#include "prepare/forms.hpp"
#include "prepare/generation.hpp"
#include "prepare/rate.hpp"
#include "prepare/settings.hpp"
#include "result/refusal.hpp"
#include "zoo/zoo.hpp"

namespace assay {

/// A model that is a file on disk, checked, with everything that a row says about it.
struct PreparedModel {
  ModelChoice choice;
  Record identity;  ///< the model's fields of a Record, to start each row from
  std::filesystem::path file;
  std::shared_ptr<const TemporaryDirectory> built;  ///< the folder of what the zoo built, removed with the last copy
  std::string format;  ///< of the file, in the words of EngineEntry::formats; empty: there is none
  std::optional<std::int64_t> max_sequence;    ///< positions of the model, where its configuration limits them
  std::optional<GenerationGraphs> generation;  ///< it generates, and `file` is the prompt's graph
  std::optional<ModelInfo> info;               ///< nullopt for formats that only the runtime reads (.xml)
  std::optional<Refusal> verdict;              ///< why it cannot run at all (not built, unsupported, too large)
  std::string note;                            ///< what the user should know of where it came from
  /// Of a model built in 16 bits: what builds it in float32 on weights rounded to them, for its reference.
  std::shared_ptr<zoo::BuildRequest> in_float32{};
  /// What is timed instead of `file`, which stays the reference: by engine, "" for every other; or why there is none.
  std::map<std::string, Result<FormGraph>> formed{};

  /// Of a target's engine; nullptr: it runs `file`.
  [[nodiscard]] const Result<FormGraph>* form_for(const std::string& engine) const;
};

/// What models are prepared with.
struct Preparing {
  std::filesystem::path cache;  ///< for what is built
  hub::Hub* hub = nullptr;
  const MachineRate* rate = nullptr;         ///< of this machine, for models of any size; none: memory tells their size
  const EngineRegistry* registry = nullptr;  ///< with `engines`: whose native forms are made
  std::vector<std::string> engines{};
  Cancelled cancelled{};
};

/// Resolves a name, builds what the zoo builds (into a temporary folder in `cache`, which lives as long as the result)
/// and checks the file. What assay knows but cannot build, and what does not fit, is a model with a verdict, not an
/// error.
/// Errors: not_found, invalid_argument: the name, the file or the configuration is at fault; cancelled.
[[nodiscard]] Result<PreparedModel> prepare_model(const ModelChoice& choice, const RunSettings& settings,
                                                  const Preparing& with);

/// `assay zoo build`: a model of the zoo, by name or from a folder with config.json and, where there are any, weights.
/// Errors: those of zoo::build and find_zoo_source; invalid_argument for an unknown name; unsupported for one that is
/// planned.
[[nodiscard]] Result<zoo::BuiltModel> build_by_name(const std::string& name, const std::string& model_class,
                                                    const std::string& precision, std::uint64_t seed,
                                                    const std::filesystem::path& output, hub::Hub& hub,
                                                    const Cancelled& cancelled);

}  // namespace assay
