// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "core/base/cancel.hpp"
#include "core/base/json.hpp"
#include "core/base/time_spent.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/tensor.hpp"
#include "models/lower/program.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {

/// What the zoo builds a model from: a value, so that another process can build the same model.
struct ZooBuild {
  Json config;
  std::string model_class{};                       ///< "": the configuration's own
  std::optional<std::filesystem::path> weights{};  ///< nullopt: random weights
  std::string weights_hash{};                      ///< hash of `weights`; "": not known
  std::uint64_t seed = 0;
  std::string precision = "float32";
  std::optional<DType> weights_rounded_to{};  ///< the reference of a 16-bit model: float32 with these values
  bool generates = false;  ///< graphs for generation (bench/prepare/generation.hpp) instead of one forward pass
  KvCache kv_cache = KvCache::kGrowing;

  /// The request for a whole model.
  [[nodiscard]] zoo::BuildRequest request() const;
};

/// Which files an engine loads, and how they are made: plain data. Start: `file` or `zoo`, at most one; neither means
/// that the engine loads no file. Then, in this order, each if it is set: round, perturb, make honest errors,
/// specialise or lower, convert.
struct ArtefactSpec {
  /// A change of every weight by one unit in the last place of `dtype`.
  struct Perturbation {
    DType dtype = DType::kFloat32;
    std::uint64_t seed = 0;
  };

  /// A graph that errs as an honest runtime may (models/onnx/honest_graph.hpp).
  struct HonestRun {
    enum class Kind { kRounded, kQuantised };
    Kind kind = Kind::kRounded;
    DType dtype = DType::kFloat32;  ///< the type that kRounded rounds every result to
    std::uint64_t seed = 0;
  };

  std::filesystem::path file{};                ///< an existing model file
  std::optional<ZooBuild> zoo{};               ///< a model that the zoo builds
  std::optional<DType> rounded_to{};           ///< weights rounded to the values of this type; the stored type stays
  std::optional<Perturbation> perturbation{};  ///< small change of the weights
  std::optional<HonestRun> honest{};
  std::map<std::string, Shape> shapes{};  ///< shapes of the inputs; the graph is made for these shapes only
  /// With `shapes`, for generation: of the inputs of the graph of the further tokens, which becomes a file of its own
  /// even if one graph runs prompt and steps.
  std::map<std::string, Shape> step_shapes{};
  /// The dialect that the graph is lowered to for `shapes`: no file with these shapes is written.
  std::optional<lowering::Dialect> lowered_to{};
  std::string converter{};  ///< engine whose converter writes the file in its own format

  [[nodiscard]] bool empty() const { return file.empty() && !zoo; }
  /// The model before it is made for one set of shapes.
  [[nodiscard]] ArtefactSpec with_open_shapes() const;
};
[[nodiscard]] Json to_json(const ArtefactSpec& spec);
/// Errors: invalid_argument, naming what does not fit.
[[nodiscard]] Result<ArtefactSpec> artefact_from_json(const Json& json);

/// The files that were created for one ArtefactSpec. Lifetime: temporary files are removed with the last copy.
struct Artefact {
  std::filesystem::path model{};
  std::filesystem::path step_model{};  ///< runs the further tokens; empty: `model` does, or the model does not generate
  std::uint64_t bytes = 0;             ///< size of all files; for a lowered model, that of the model with the weights
  std::filesystem::path weights_in{};  ///< the folder of files with weights that `model` refers to; empty: its own
  std::string graph_hash{};            ///< hash of the file that a converter wrote; "": no converter wrote it
  std::string note{};                  ///< a remark for the rows
  std::shared_ptr<const void> owner{};
};

/// Creates artefacts. Equal specifications share their files while a copy of the Artefact exists, or while a further
/// use is expected. Thread: one at a time.
class ArtefactStore {
 public:
  struct Services {
    const EngineRegistry* registry = nullptr;
    std::filesystem::path folder;                                 ///< parent folder of all files that are created
    std::chrono::nanoseconds timeout = std::chrono::minutes(10);  ///< time limit of a converter
    Cancelled cancelled{};
    std::function<void(const std::string&)> making = [](const std::string&) {};  ///< called before files are written
    WorkTimer* timer = nullptr;  ///< counts the time of writing files; nullptr: nothing does
  };
  explicit ArtefactStore(Services services) : services_(std::move(services)) {}

  /// `name`: of the model, for messages. Errors: those of zoo::build, write_rounded, write_perturbed,
  /// write_rounded_results, write_quantisation_noise, specialise, lower and make_stateful; cancelled.
  [[nodiscard]] Result<Artefact> make(const ArtefactSpec& spec, const std::string& name);

  /// Once the files of `spec` are made, they stay until done() was called as often as expect(). The same holds for the
  /// model with open shapes if `spec` has fixed ones, because it is specialised again for the next shape.
  void expect(const ArtefactSpec& spec);
  void done(const ArtefactSpec& spec);

 private:
  struct Expected {
    std::size_t uses = 0;
    Artefact made{};
  };
  [[nodiscard]] Result<Artefact> build(const ZooBuild& build, const std::string& name);
  [[nodiscard]] Result<Artefact> convert(const ArtefactSpec& spec, const std::string& name);
  [[nodiscard]] Result<Artefact> lower(const ArtefactSpec& spec, const std::string& name);
  [[nodiscard]] Result<Artefact> change(const ArtefactSpec& spec, const std::string& name);

  Services services_;
  /// The key is the spec's JSON; the artefacts have no owner.
  std::map<std::string, std::pair<std::weak_ptr<const void>, Artefact>> made_;
  std::map<std::string, Expected> expected_;  ///< the key is the spec's JSON
};

}  // namespace assay
