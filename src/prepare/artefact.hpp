// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "base/cancel.hpp"
#include "base/json.hpp"
#include "engine/registry.hpp"
#include "tensor/dtype.hpp"
#include "tensor/tensor.hpp"
#include "zoo/zoo.hpp"

namespace assay {

/// What the zoo builds a model from: a value, so that another process can build the same model.
struct ZooBuild {
  Json config;
  std::string model_class{};                       ///< "": the configuration's own
  std::optional<std::filesystem::path> weights{};  ///< nullopt: random weights
  std::string weights_hash{};                      ///< of `weights`, if it is known
  std::uint64_t seed = 0;
  std::string precision = "float32";
  std::optional<DType> weights_rounded_to{};
  bool generates = false;  ///< graphs for generation (prepare/generation.hpp) instead of one forward pass
  zoo::KvCache kv_cache = zoo::KvCache::kGrowing;

  /// The request for a whole model.
  [[nodiscard]] zoo::BuildRequest request() const;
};

/// Which files an engine loads, and how they are made: a value. The steps that are set are done in this order.
struct ArtefactSpec {
  /// A change of every weight by one unit in the last place of `dtype`.
  struct Perturbation {
    DType dtype = DType::kFloat32;
    std::uint64_t seed = 0;
  };

  std::filesystem::path file{};                ///< a model file as it is,
  std::optional<ZooBuild> zoo{};               ///< or what the zoo builds; neither: the engine loads no file
  std::optional<DType> rounded_to{};           ///< weights rounded to this type, in their own
  std::optional<Perturbation> perturbation{};  ///< weights perturbed
  std::map<std::string, Shape> shapes{};       ///< specialised to these shapes of the inputs
  std::string converter{};                     ///< engine whose converter writes the file in its own format

  [[nodiscard]] bool empty() const { return file.empty() && !zoo; }
};
[[nodiscard]] Json to_json(const ArtefactSpec& spec);
/// Errors: invalid_argument, naming what does not fit.
[[nodiscard]] Result<ArtefactSpec> artefact_from_json(const Json& json);

/// Made files of a model. Lifetime: temporary files are removed with the last copy.
struct Artefact {
  std::filesystem::path model{};
  std::filesystem::path step_model{};  ///< of further tokens; empty: `model` runs them, or it does not generate
  std::uint64_t bytes = 0;             ///< of all files
  std::string graph_hash{};            ///< of the file that a converter wrote; else ""
  std::shared_ptr<const void> owner{};
};

/// Makes artefacts on request. The same specification gives the same files as long as somebody uses them.
/// Thread: one at a time.
class ArtefactStore {
 public:
  struct Services {
    const EngineRegistry* registry = nullptr;
    std::filesystem::path folder;                                 ///< for what is made
    std::chrono::nanoseconds timeout = std::chrono::minutes(10);  ///< of a converter
    Cancelled cancelled{};
    std::function<void(const std::string&)> making = [](const std::string&) {};  ///< called before files are written
  };
  explicit ArtefactStore(Services services) : services_(std::move(services)) {}

  /// `name`: of the model, for messages. Errors: those of zoo::build, write_rounded, write_perturbed, specialise and
  /// make_stateful; cancelled.
  [[nodiscard]] Result<Artefact> make(const ArtefactSpec& spec, const std::string& name);

 private:
  [[nodiscard]] Result<Artefact> build(const ZooBuild& build, const std::string& name);
  [[nodiscard]] Result<Artefact> convert(const ArtefactSpec& spec, const std::string& name);
  [[nodiscard]] Result<Artefact> change(const ArtefactSpec& spec, const std::string& name);

  Services services_;
  std::map<std::string, std::pair<std::weak_ptr<const void>, Artefact>> made_;  ///< by the spec's JSON, without owners
};

}  // namespace assay
