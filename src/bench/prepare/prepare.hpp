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

#include "bench/engine/registry.hpp"
#include "bench/prepare/artefact.hpp"
#include "bench/prepare/description.hpp"
#include "bench/prepare/generation.hpp"
#include "bench/prepare/signature.hpp"
#include "bench/rate/rate.hpp"
#include "bench/settings/settings.hpp"
#include "core/base/cancel.hpp"
#include "core/result/record.hpp"
#include "core/result/refusal.hpp"
#include "models/hub/hub.hpp"
#include "models/inputs/inputs.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {

/// A model that is described well enough to plan its cells. Files that the zoo makes for engines do not exist yet: they
/// are artefacts (bench/prepare/artefact.hpp).
struct PreparedModel {
  ModelChoice choice;
  Record identity;                   ///< the model's fields of a Record: each of its rows starts with them
  std::optional<Refusal> refusal{};  ///< why it cannot run at all (not built, unsupported, too large)
  std::string note{};                ///< a remark for the user about its source or its size
  bool note_is_of_weights = false;   ///< `note` says where the weights come from

  ArtefactSpec artefact{};          ///< the unchanged model; empty: the engine needs no file
  std::string format{};             ///< format of its file, a word of EngineEntry::formats; "" without a file
  std::optional<ModelInfo> info{};  ///< nullopt for formats that only the runtime reads (.xml)
  std::filesystem::path graph{};    ///< an ONNX file with its graph, perhaps without weights; empty: there is none
  std::shared_ptr<const TemporaryDirectory> folder{};  ///< the folder of `graph`, if the zoo made it
  std::optional<std::int64_t> max_sequence{};          ///< positions of the model, if its configuration limits them
  std::optional<GenerationGraphs> generation{};        ///< set for a generative model; `graph` is then the prompt's
  /// Models with the requested kind of KV cache; the key is the engine; see variant_for().
  std::map<std::string, Result<CacheVariant>> variants{};

  /// Its inputs as each engine reports them, by engine and device; "" is for all, if assay reads the file itself.
  std::map<std::string, Result<Signature>> signatures{};
  std::optional<GivenData> given{};  ///< inputs and outputs that came with the model's file
  std::string given_note{};          ///< why the outputs that came with it cannot be used

  /// nullptr: the engine runs the unchanged model.
  [[nodiscard]] const Result<CacheVariant>* variant_for(const std::string& engine) const;
  /// nullptr: unknown, because the engine was not asked.
  [[nodiscard]] const Result<Signature>* signature_for(const std::string& engine, const std::string& device) const;
  /// The key of one engine's device in `signatures`.
  [[nodiscard]] static std::string signature_key(const std::string& engine, const std::string& device) {
    return engine + " " + device;
  }
};

/// What models are prepared with.
struct Preparing {
  std::filesystem::path cache;   ///< folder of graphs and, later, models
  std::filesystem::path inputs;  ///< folder of converted input files
  hub::Hub* hub = nullptr;
  const EngineRegistry* registry = nullptr;
  /// Engines that may run it; empty: nothing runs, so it is named but not described.
  std::vector<std::string> engines{};
  /// How fast this machine is, for models of any size; called only if time may be short. nullopt: memory alone
  /// decides.
  std::function<std::optional<MachineRate>()> rate = [] { return std::nullopt; };
  Cancelled cancelled{};
};

/// Resolves a name, chooses the size and describes the model. What assay knows but cannot build, and what does not fit,
/// is a model with a refusal, not an error.
/// Errors: not_found, invalid_argument: the name, the file or the configuration is wrong; cancelled.
[[nodiscard]] Result<PreparedModel> prepare_model(const ModelChoice& choice, const RunSettings& settings,
                                                  const Preparing& with);

/// The size that was chosen for each model of a set, in their order; null for other models, and for those that cannot
/// run. It is part of the identity of a plan, because it depends on --timeout, the free memory and the machine's rate.
[[nodiscard]] Json chosen_sizes(const std::vector<PreparedModel>& models);
/// The first model whose size differs between two results of chosen_sizes(), as a clause for people; nullopt if none
/// does.
[[nodiscard]] std::optional<std::string> different_size(const Json& before, const Json& now);

/// `now` with the sizes of `before` for models that have none now: a model that was refused in between keeps its size.
[[nodiscard]] Json with_earlier_sizes(Json now, const Json& before);

struct BuildByName {
  std::string name;  ///< a model name, or a folder with config.json and perhaps weights
  std::string model_class{};
  std::string precision = "float32";
  std::uint64_t seed = 0;  ///< seed of random weights
  bool allow_random_weights = false;
  std::string size{};  ///< a published one; "": that of the name
};

struct BuiltByName {
  zoo::BuiltModel model;
  std::optional<std::int64_t> max_sequence{};  ///< positions of the model, if its configuration limits them
};

/// `assay zoo build`: a model of the zoo.
/// Errors: those of zoo::build and find_zoo_source; invalid_argument for an unknown name; unsupported for one that is
/// planned.
[[nodiscard]] Result<BuiltByName> build_by_name(const BuildByName& asked, const std::filesystem::path& output,
                                                hub::Hub& hub, const Cancelled& cancelled);

}  // namespace assay
