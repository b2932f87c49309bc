// SPDX-License-Identifier: Apache-2.0
#include "run/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "tensor/random.hpp"
#include "tensor/safetensors.hpp"
#include "tensor/ulp.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDone = "DONE";
constexpr const char* kOutputs = "set";
constexpr const char* kPerturbedOutputs = "perturbed";
constexpr std::uint64_t kPerturbationSeed = 1;
constexpr int kMethod = 2;  ///< raised if the outputs change for the same model, inputs and runtime

// The perturbed inputs of a set; as files, because a recipe cannot describe them.
Result<std::vector<InputRecipe>> perturbed_inputs(const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                                                  std::size_t set, DType precision, const fs::path& folder) {
  std::vector<InputRecipe> perturbed = recipes;
  for (std::size_t i = 0; i < perturbed.size(); ++i) {
    ASSAY_TRY(Tensor tensor, make_input(recipes[i], seed, set));
    perturb_by_one_ulp(tensor.dtype(), tensor.bytes(), precision, CounterRandom(kPerturbationSeed, recipes[i].name));
    perturbed[i].fill = Fill::kFile;
    perturbed[i].file = folder / fmt::format("input_{}.safetensors", i);  // .npy has no bfloat16
    const NamedView named{recipes[i].name, tensor.view()};
    ASSAY_CHECK_OK(write_safetensors(perturbed[i].file, std::span(&named, 1), {}, Persistence::kScratch));
  }
  return perturbed;
}

std::chrono::nanoseconds left(std::chrono::steady_clock::time_point until) {
  return std::max(std::chrono::nanoseconds(1), std::chrono::nanoseconds(until - std::chrono::steady_clock::now()));
}

std::string output_name(const char* kind, std::size_t set) { return fmt::format("{}{}.safetensors", kind, set); }

// Inputs of 16 bits as float32 files, for a reference whose graph expects float32.
Result<std::vector<InputRecipe>> widened_inputs(const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                                                std::size_t set, const fs::path& folder) {
  std::vector<InputRecipe> wide = recipes;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (!is_floating(wide[i].dtype) || bit_width(wide[i].dtype) != 16) continue;
    ASSAY_TRY(const Tensor narrow, make_input(recipes[i], seed, set));
    ASSAY_TRY(Tensor tensor, Tensor::create(DType::kFloat32, recipes[i].shape));
    widen(narrow.dtype(), narrow.bytes(), tensor.as<float>());
    wide[i].dtype = DType::kFloat32;
    wide[i].fill = Fill::kFile;
    wide[i].file = folder / fmt::format("wide_{}_{}.safetensors", set, i);
    const NamedView named{recipes[i].name, tensor.view()};
    ASSAY_CHECK_OK(write_safetensors(wide[i].file, std::span(&named, 1), {}, Persistence::kScratch));
  }
  return wide;
}

// The artefact that the reference of a candidate with this arithmetic loads.
ArtefactSpec rounded(ArtefactSpec spec, DType precision) {
  if (bit_width(precision) >= 32) return spec;
  if (spec.zoo && spec.zoo->precision != "float32") {
    spec.zoo->weights_rounded_to = dtype_from(spec.zoo->precision);
    spec.zoo->precision = "float32";
  } else {
    spec.rounded_to = precision;
  }
  return spec;
}

ArtefactSpec perturbed(ArtefactSpec spec, DType precision) {
  spec.perturbation = ArtefactSpec::Perturbation{precision, kPerturbationSeed};
  return spec;
}

// Whether the model has inputs of 16 bits and its reference expects them in 32.
bool expects_wider_inputs(const Task& task) {
  const std::optional<ZooBuild>& zoo = task.reference.artefact.zoo;
  return zoo && zoo->precision != "float32" && std::ranges::any_of(task.inputs, [](const InputRecipe& recipe) {
           return is_floating(recipe.dtype) && bit_width(recipe.dtype) == 16;
         });
}

// Whether the outputs that were kept can still be read.
bool is_whole(const fs::path& folder, std::size_t sets) {
  std::error_code error;
  for (std::size_t set = 0; set < sets; ++set) {
    if (!SafetensorsFile::open(folder / output_name(kOutputs, set))) return false;
    const fs::path perturbed = folder / output_name(kPerturbedOutputs, set);
    if (fs::exists(perturbed, error) && !SafetensorsFile::open(perturbed)) return false;
  }
  return true;
}

}  // namespace

/// Shared by the references of one model: the workers of the model and of the perturbed model, loaded once for all
/// shapes.
struct ReferenceMaker::Loaded {
  std::string key;  ///< of engine, model and precision
  ArtefactSpec spec;
  std::optional<TemporaryDirectory> folder{};  ///< for inputs that a recipe cannot describe
  Artefact artefact{}, perturbed{};            ///< kept while their workers may read them
  std::unique_ptr<Worker> worker{}, perturbed_worker{};
};

ReferenceMaker::ReferenceMaker(const EngineRegistry& registry, ArtefactStore& artefacts, fs::path cache,
                               Cancelled cancelled)
    : registry_(registry), artefacts_(artefacts), cache_(std::move(cache)), cancelled_(std::move(cancelled)) {}
ReferenceMaker::~ReferenceMaker() = default;
void ReferenceMaker::release() { loaded_.reset(); }

Result<std::unique_ptr<Worker>> ReferenceMaker::start(const EngineEntry& engine, const Task& task,
                                                      const Artefact& artefact, Until until) const {
  ASSAY_TRY(const EngineLocation location, registry_.locate(engine.name));
  Worker::StartOptions start;
  start.executable = registry_.places().worker;
  start.cancelled = cancelled_;
  start.memory_limit_bytes = memory_limit_;
  ASSAY_TRY(std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
  LoadRequest load;
  load.model = artefact.model;
  load.step_model = artefact.step_model;
  load.options = engine.needs_model ? engine.reference.options : task.reference.signature;
  if (!engine.needs_model) load.step_options = task.reference.step_signature;
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, left(until)));
  return worker;
}

Status ReferenceMaker::load(const EngineEntry& engine, const Task& task, DType precision, Until until) {
  const ArtefactSpec spec = engine.needs_model ? rounded(task.reference.artefact, precision) : task.reference.artefact;
  std::string key = fmt::format("{} {} {}", engine.name, to_string(precision), json_text(to_json(spec)));
  if (loaded_ && loaded_->key == key && loaded_->worker->alive()) return {};
  loaded_.reset();
  Loaded loaded{.key = std::move(key), .spec = spec};
  if (engine.needs_model) {
    ASSAY_TRY(loaded.folder, TemporaryDirectory::create("assay-reference-"));
  }
  ASSAY_TRY(loaded.artefact, artefacts_.make(spec, task.row.model));
  ASSAY_TRY(loaded.worker, start(engine, task, loaded.artefact, until));
  loaded_ = std::make_unique<Loaded>(std::move(loaded));
  return {};
}

Status ReferenceMaker::run(const EngineEntry& engine, const Task& task, DType precision, Until until,
                           const fs::path& folder, Reference& reference) {
  // A file that ONNX Runtime refuses as invalid, when loading, binding or running, breaks the rules of ONNX.
  const auto judged = [&](Status status) {
    if (!status && status.error().code == ErrorCode::kInvalidArgument) reference.invalid_file = status.error();
    return status;
  };
  ASSAY_CHECK_OK(judged(load(engine, task, precision, until)));
  const std::vector<InputRecipe>& recipes = task.inputs;
  const std::size_t sets = set_count(recipes, task.input_sets);
  const fs::path files = loaded_->folder ? loaded_->folder->path() : fs::path();
  const bool wider = expects_wider_inputs(task);
  const auto widened = [&](const std::vector<InputRecipe>& given, std::size_t set) -> Result<std::vector<InputRecipe>> {
    if (!wider) return given;
    return widened_inputs(given, task.seed, set, files);
  };
  for (std::size_t set = 0; set < sets; ++set) {
    // Inputs in files belong to one set: bind again for the next.
    if (set == 0 || wider) {
      ASSAY_TRY(const std::vector<InputRecipe> inputs, widened(recipes, set));
      const Result<BindReply> bound = loaded_->worker->bind({inputs, task.seed, sets, 1, task.generation}, left(until));
      if (!bound) return judged(tl::unexpected<Error>(bound.error()));
    }
    const Result<InferReply> ran = loaded_->worker->infer({set, folder / output_name(kOutputs, set)}, left(until));
    if (!ran) return judged(tl::unexpected<Error>(ran.error()));
    reference.run_ms = ran->run_ms;
  }
  if (!engine.needs_model) return {};  // its numbers are exact

  if (!loaded_->perturbed_worker || !loaded_->perturbed_worker->alive()) {
    ASSAY_TRY(loaded_->perturbed, artefacts_.make(perturbed(loaded_->spec, precision), task.row.model));
    ASSAY_TRY(loaded_->perturbed_worker, start(engine, task, loaded_->perturbed, until));
  }
  for (std::size_t set = 0; set < sets; ++set) {
    ASSAY_TRY(std::vector<InputRecipe> perturbed, perturbed_inputs(recipes, task.seed, set, precision, files));
    ASSAY_TRY(perturbed, widened(perturbed, set));
    ASSAY_TRY([[maybe_unused]] const BindReply again,
              loaded_->perturbed_worker->bind({perturbed, task.seed, 1, 1, task.generation}, left(until)));
    ASSAY_TRY([[maybe_unused]] const InferReply run,
              loaded_->perturbed_worker->infer({0, folder / output_name(kPerturbedOutputs, set)}, left(until)));
  }
  return {};
}

Reference ReferenceMaker::make(const Task& task) {
  Reference reference;
  const EngineEntry* candidate = registry_.entry(task.engine);
  const bool own = candidate != nullptr && !candidate->needs_model;
  if (!task.reference.why_none.empty()) {
    reference.why_none = task.reference.why_none;
    return reference;
  }
  const EngineEntry& engine = own ? *candidate : *registry_.entry(kReferenceEngine);
  const Result<EngineLocation> location = registry_.locate(engine.name);
  if (!location) {
    reference.why_none = fmt::format("the reference needs {}: {}", engine.name, location.error().message);
    return reference;
  }
  const DType precision = has_ulp(task.arithmetic) ? task.arithmetic : DType::kFloat32;
  const std::string key = sha256_hex(
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", task.reference.graph_hash, task.reference.weights_hash,
                  task.row.input_hash, engine.name, location->version, to_string(precision),
                  task.generation ? task.generation->output_tokens : -1,
                  Json(engine.reference.options).dump(), kMethod));
  const fs::path folder = cache_ / key.substr(0, 32);
  const std::size_t sets = set_count(task.inputs, task.input_sets);
  if (fs::exists(folder / kDone) && !is_whole(folder, sets)) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);  // incomplete: made again
  }
  if (fs::exists(folder / kDone)) {
    log_debug("{}: the reference is in the cache: {}", task.row.model, folder.string());
  } else {
    log_debug("{}: the reference is not in the cache: {}", task.row.model, folder.string());
    // The candidate uses the model's files, too: the time to make them does not count for the reference.
    const Result<Artefact> model = artefacts_.make(task.reference.artefact, task.row.model);
    const auto began = std::chrono::steady_clock::now();
    const Status made = [&]() -> Status {
      if (!model) return tl::unexpected<Error>(model.error());
      ASSAY_TRY(TemporaryDirectory building, TemporaryDirectory::create("assay-reference-", cache_));
      ASSAY_CHECK_OK(run(engine, task, precision, began + task.timeout, building.path(), reference));
      // A worker does not sync its outputs. What is kept for later runs must be on the disk before DONE is.
      std::error_code ignored;
      for (fs::directory_iterator it(building.path(), ignored), end; !ignored && it != end; it.increment(ignored))
        ASSAY_CHECK_OK(sync_file(it->path()));
      ASSAY_CHECK_OK(write_file_atomically(building.path() / kDone, ""));
      // Another process may have made the same reference meanwhile: then that one stays.
      std::move(building).keep_as(folder);
      return {};
    }();
    reference.spent = std::chrono::steady_clock::now() - began;
    if (!made || !fs::exists(folder / kDone)) {
      reference.why_none =
          made ? "the reference could not be kept" : "the reference could not be made: " + made.error().message;
      return reference;
    }
  }
  reference.name = own ? "given" : engine.reference_name();
  for (std::size_t set = 0; set < sets; ++set) {
    reference.outputs.push_back(folder / output_name(kOutputs, set));
    if (const fs::path perturbed = folder / output_name(kPerturbedOutputs, set); fs::exists(perturbed))
      reference.perturbed.push_back(perturbed);
  }
  return reference;
}

}  // namespace assay
