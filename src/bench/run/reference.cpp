// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "bench/run/reference_files.hpp"
#include "bench/worker/forced_at_once.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/tensor/safetensors.hpp"
#include "core/tensor/ulp.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr int kMethod = 3;        ///< raised if the outputs change for the same model, inputs and runtime
constexpr int kHonestMethod = 3;  ///< raised if the honest errors change for the same model, inputs and runtime

std::chrono::nanoseconds left(std::chrono::steady_clock::time_point until) {
  return std::max(std::chrono::nanoseconds(1), std::chrono::nanoseconds(until - std::chrono::steady_clock::now()));
}

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

// Whether the model has inputs of 16 bits and its reference expects them in 32.
bool expects_wider_inputs(const Task& task) {
  const std::optional<ZooBuild>& zoo = task.reference.artefact.zoo;
  return zoo && zoo->precision != "float32" && std::ranges::any_of(task.inputs, [](const InputRecipe& recipe) {
           return is_floating(recipe.dtype) && bit_width(recipe.dtype) == 16;
         });
}

// Whether several tokens in one run give the numbers of one run for each: not if rotary embeddings depend on the length
// of the run, nor on an engine that computes no model.
bool may_run_at_once(const EngineEntry& engine, const Task& task) {
  const std::optional<ZooBuild>& zoo = task.reference.artefact.zoo;
  if (!engine.needs_model || !task.generation || !zoo) return false;
  const std::string config = json_text(zoo->config);
  return std::ranges::none_of(std::array{"\"dynamic\"", "\"longrope\"", "\"su\""},
                              [&](const char* type) { return config.find(type) != std::string::npos; });
}

// Whether the set's prompts are timed, so that the tokens that follow them are compared.
bool is_generated(const Task& task, std::size_t set) {
  const auto timed = timed_sets(task.inputs, set_count(task.inputs, task.input_sets));
  return task.generation && std::ranges::find(timed, set) != timed.end();
}

// The arithmetic that a task's reference is made for.
DType arithmetic_of(const Task& task) { return has_ulp(task.arithmetic) ? task.arithmetic : DType::kFloat32; }

// The honest runs that a task's arithmetic requires.
HonestMethod honest_method(const Task& task, DType precision) {
  using Kind = HonestMethod::Kind;
  const Kind kind = task.reference.quantised     ? Kind::kQuantised
                    : bit_width(precision) == 16 ? Kind::kRounded
                                                 : Kind::kPerturbed;
  return {.kind = kind, .precision = precision};
}

// Whether the same request would end with the same error another time.
bool is_permanent(ErrorCode code) {
  return code == ErrorCode::kUnsupported || code == ErrorCode::kNotFound || code == ErrorCode::kInvalidArgument;
}

// The honest errors once the exact outputs are known; those of the reference if they cannot be compared.
std::optional<HonestErrors> honest_beside(const Task& task, const Reference& reference, const Opinion& exact) {
  if (!reference.honest) return std::nullopt;
  std::vector<std::size_t> sets(exact.outputs.size());
  std::iota(sets.begin(), sets.end(), 0);
  const auto measured = [&]() -> Result<HonestErrors> {
    ASSAY_TRY(const MaskInputs masks, MaskInputs::make(task, task.inputs, sets));
    return measure_honest("reference", exact.outputs, {reference.outputs}, masks.views);
  }();
  if (measured) return with_reference_error(*reference.honest, *measured);
  log_debug("{}: the error of the reference is not known: {}", task.row.model, measured.error().message);
  return reference.honest;
}

}  // namespace

/// Shared by the references of one model: its worker, loaded once for all shapes.
struct ReferenceMaker::Loaded {
  std::string key;  ///< identifies engine, model and precision
  ArtefactSpec spec;
  std::optional<TemporaryDirectory> folder{};  ///< contains inputs that a recipe cannot describe
  Artefact artefact{};                         ///< kept while its worker may read it
  std::unique_ptr<Worker> worker{};
};

ReferenceMaker::ReferenceMaker(const EngineRegistry& registry, ArtefactStore& artefacts, fs::path cache,
                               Cancelled cancelled)
    : registry_(registry),
      artefacts_(artefacts),
      cache_(std::move(cache)),
      cancelled_(cancelled ? std::move(cancelled) : Cancelled([] { return false; })) {}
ReferenceMaker::~ReferenceMaker() = default;
void ReferenceMaker::release() { loaded_.reset(); }

Result<std::unique_ptr<Worker>> ReferenceMaker::start(const EngineEntry& engine, const Task& task,
                                                      const Artefact& artefact, Until until) const {
  ASSAY_TRY(const EngineLocation location, registry_.locate(engine.name));
  Worker::StartOptions start;
  start.executable = registry_.places().worker;
  start.cancelled = cancelled_;
  start.memory_limit_bytes = memory_limit_;
  if (may_run_at_once(engine, task)) start.environment.emplace_back(kForcedAtOnce, "1");
  ASSAY_TRY(std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
  LoadRequest load;
  load.model = artefact.model;
  load.step_model = artefact.step_model;
  if (engine.needs_model) load.device_id = engine.cpu_device;
  load.options = engine.needs_model ? engine.reference.options : task.reference.signature;
  if (!engine.needs_model) load.step_options = task.reference.step_signature;
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, left(until)));
  return worker;
}

Status ReferenceMaker::load(const EngineEntry& engine, const Task& task, DType precision, Until until) {
  const ArtefactSpec spec = engine.needs_model ? rounded(task.reference.artefact, precision) : task.reference.artefact;
  std::string key = fmt::format("{} {} {} {}", engine.name, Json(engine.reference.options).dump(), to_string(precision),
                                json_text(to_json(spec)));
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

Result<std::vector<InputRecipe>> ReferenceMaker::inputs_of(const Task& task, const std::vector<InputRecipe>& recipes,
                                                           std::size_t set) const {
  if (!expects_wider_inputs(task)) return recipes;
  return widened_inputs(recipes, task.seed, set, loaded_->folder ? loaded_->folder->path() : fs::path());
}

const EngineEntry& ReferenceMaker::engine_of(const Task& task) const {
  const EngineEntry* candidate = registry_.entry(task.engine);
  return candidate != nullptr && !candidate->needs_model ? *candidate : *registry_.entry(kReferenceEngine);
}

Status ReferenceMaker::force(const Task& task, std::size_t set, const TensorView& ids, const fs::path& largest,
                             std::chrono::nanoseconds limit) {
  const Until until = std::chrono::steady_clock::now() + limit;
  ASSAY_CHECK_OK(load(engine_of(task), task, arithmetic_of(task), until));
  ASSAY_TRY(const std::vector<InputRecipe> inputs, inputs_of(task, task.inputs, set));
  const std::size_t sets = set_count(task.inputs, task.input_sets);
  ASSAY_TRY([[maybe_unused]] const BindReply bound,
            loaded_->worker->bind({inputs, task.seed, sets, 1, task.generation}, left(until)));
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create("assay-forced-"));
  InferRequest request{.set = set, .outputs = {}, .largest = largest};
  request.forced = folder.path() / "ids.safetensors";
  const NamedView named{"ids", ids};
  ASSAY_CHECK_OK(write_safetensors(request.forced, std::span(&named, 1), {}, Persistence::kScratch));
  ASSAY_TRY([[maybe_unused]] const InferReply ran, loaded_->worker->infer(request, left(until)));
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
  const std::size_t sets = set_count(task.inputs, task.input_sets);
  const bool wider = expects_wider_inputs(task);
  for (std::size_t set = 0; set < sets; ++set) {
    // Inputs in files belong to one set: bind again for the next.
    if (set == 0 || wider) {
      ASSAY_TRY(const std::vector<InputRecipe> inputs, inputs_of(task, task.inputs, set));
      const Result<BindReply> bound = loaded_->worker->bind({inputs, task.seed, sets, 1, task.generation}, left(until));
      if (!bound) return judged(tl::unexpected<Error>(bound.error()));
    }
    InferRequest request{set, folder / outputs_file(set)};
    if (is_generated(task, set) && !engine.exact) request.largest = folder / largest_file(set);
    const Result<InferReply> ran = loaded_->worker->infer(request, left(until));
    if (!ran) return judged(tl::unexpected<Error>(ran.error()));
    reference.run_ms = ran->run_ms;
  }
  return {};
}

Result<HonestErrors> ReferenceMaker::measure_by(const HonestMethod& method, const EngineEntry& engine, const Task& task,
                                                const std::vector<InputRecipe>& recipes,
                                                const std::vector<fs::path>& expected, Until until) {
  const fs::path files = loaded_->folder->path();
  const bool wider = expects_wider_inputs(task) && !method.keeps_types(task.reference.artefact);
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create("assay-honest-"));
  std::vector<std::vector<fs::path>> runs;
  for (std::size_t run = 0; run < method.runs(); ++run) {
    // One copy at a time: it may be as large as the model.
    ASSAY_TRY(const Artefact artefact,
              artefacts_.make(method.artefact(task.reference.artefact, loaded_->spec, run), task.row.model));
    ASSAY_TRY(const std::unique_ptr<Worker> worker, start(engine, task, artefact, until));
    runs.emplace_back();
    for (std::size_t set = 0; set < expected.size(); ++set) {
      ASSAY_TRY(std::vector<InputRecipe> inputs, method.inputs(recipes, task.seed, set, run, files));
      if (wider) {
        ASSAY_TRY(inputs, widened_inputs(inputs, task.seed, set, files));
      }
      ASSAY_TRY([[maybe_unused]] const BindReply bound,
                worker->bind({inputs, task.seed, 1, 1, task.generation}, left(until)));
      runs.back().push_back(folder.path() / fmt::format("run{}_{}", run, outputs_file(set)));
      ASSAY_TRY([[maybe_unused]] const InferReply ran, worker->infer({0, runs.back().back()}, left(until)));
    }
  }
  std::vector<std::size_t> sets(expected.size());
  std::iota(sets.begin(), sets.end(), 0);
  ASSAY_TRY(const MaskInputs masks, MaskInputs::make(task, recipes, sets));
  return measure_honest(method.name(), expected, runs, masks.views);
}

Result<HonestErrors> ReferenceMaker::measure(const EngineEntry& engine, const Task& task, DType precision, Until until,
                                             const Reference& reference) {
  ASSAY_CHECK_OK(load(engine, task, precision, until));
  std::vector<InputRecipe> recipes = at_batch_one(task.inputs, task.shape.batch);
  const std::size_t sets = std::min({kHonestSets, set_count(task.inputs, task.input_sets), reference.outputs.size()});
  std::vector<fs::path> expected(reference.outputs.begin(),
                                 reference.outputs.begin() + static_cast<std::ptrdiff_t>(sets));
  ASSAY_TRY(const TemporaryDirectory small, TemporaryDirectory::create("assay-honest-"));
  const auto run_small = [&]() -> Status {
    for (std::size_t set = 0; set < sets; ++set) {
      ASSAY_TRY(const std::vector<InputRecipe> inputs, inputs_of(task, recipes, set));
      ASSAY_TRY([[maybe_unused]] const BindReply bound,
                loaded_->worker->bind({inputs, task.seed, sets, 1, task.generation}, left(until)));
      const fs::path outputs = small.path() / outputs_file(set);
      ASSAY_TRY([[maybe_unused]] const InferReply ran, loaded_->worker->infer({set, outputs}, left(until)));
      expected[set] = outputs;
    }
    return {};
  };
  if (!task.reference.given_outputs.empty()) {
    // Honest runs are compared with a run of the same engine, not with outputs that another one computed.
    ASSAY_CHECK_OK(run_small());
  } else if (task.shape.batch != 1 && !run_small()) {
    // A model whose batch cannot be one is measured as it is.
    recipes = task.inputs;
    std::copy_n(reference.outputs.begin(), sets, expected.begin());
  }
  using Kind = HonestMethod::Kind;
  HonestMethod method = honest_method(task, precision);
  Result<HonestErrors> errors = measure_by(method, engine, task, recipes, expected, until);
  if (errors || method.kind == Kind::kPerturbed || cancelled_()) return errors;
  log_debug("{}: {} results cannot be run, weights and inputs are perturbed instead: {}", task.row.model, method.name(),
            errors.error().message);
  method.kind = Kind::kPerturbed;
  return measure_by(method, engine, task, recipes, expected, until);
}

void ReferenceMaker::add_honest(const EngineEntry& engine, const std::string& version, const Task& task,
                                DType precision, Until until, Reference& reference) {
  const std::size_t sets = std::min(kHonestSets, set_count(task.inputs, task.input_sets));
  const Result<std::string> inputs = input_hash(at_batch_one(task.inputs, task.shape.batch), task.seed, sets);
  const std::string key =
      sha256_hex(fmt::format("honest\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{} {}\n", task.reference.graph_hash,
                             task.reference.weights_hash, inputs.value_or(task.row.input_hash), engine.name, version,
                             to_string(precision), task.generation ? task.generation->output_tokens : -1,
                             Json(engine.reference.options).dump(), kMethod, kHonestMethod));
  const fs::path file = cache_ / (key.substr(0, 32) + ".json");
  reference.honest = kept_honest(file);
  if (reference.honest) return;
  const auto began = std::chrono::steady_clock::now();
  Result<HonestErrors> errors = measure(engine, task, precision, until, reference);
  reference.spent += std::chrono::steady_clock::now() - began;
  if (!errors) {
    reference.why_no_honest = errors.error().message;
    log_debug("{}: the honest error is not known: {}", task.row.model, reference.why_no_honest);
    return;
  }
  reference.honest = std::move(*errors);
  if (reference.honest->method != honest_method(task, precision).name()) return;
  if (const Status kept = keep_honest(file, *reference.honest); !kept)
    log_debug("{}: the honest error is not kept: {}", task.row.model, kept.error().message);
}

Reference ReferenceMaker::make_given(const Task& task) {
  Reference reference;
  reference.name = "given";
  reference.outputs = {task.reference.given_outputs};
  const EngineEntry& engine = engine_of(task);
  if (!engine.needs_model) return reference;
  const Result<EngineLocation> location = registry_.locate(engine.name);
  if (!location) {
    reference.why_no_honest = fmt::format("it needs {}: {}", engine.name, location.error().message);
    return reference;
  }
  add_honest(engine, location->version, task, arithmetic_of(task), std::chrono::steady_clock::now() + task.timeout,
             reference);
  return reference;
}

Result<fs::path> ReferenceMaker::outputs_of(const EngineEntry& engine, const std::string& version, const Task& task,
                                            std::chrono::nanoseconds limit, Reference& reference) {
  const DType precision = arithmetic_of(task);
  const std::string key = sha256_hex(fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", task.reference.graph_hash, task.reference.weights_hash,
      task.row.input_hash, engine.name, version, to_string(precision),
      task.generation ? task.generation->output_tokens : -1, Json(engine.reference.options).dump(), kMethod));
  fs::path folder = cache_ / key.substr(0, 32);
  const std::size_t sets = set_count(task.inputs, task.input_sets);
  if (keep_only_whole_reference(folder, sets)) {
    log_debug("{}: the outputs of {} are in the cache: {}", task.row.model, engine.reference_name(), folder.string());
    return folder;
  }
  log_debug("{}: the outputs of {} are not in the cache: {}", task.row.model, engine.reference_name(), folder.string());
  // The candidate uses the model's files, too: the time to make them does not count for the reference.
  const Result<Artefact> model = artefacts_.make(task.reference.artefact, task.row.model);
  const auto began = std::chrono::steady_clock::now();
  const Status made = [&]() -> Status {
    if (!model) return tl::unexpected<Error>(model.error());
    ASSAY_TRY(TemporaryDirectory building, TemporaryDirectory::create("assay-reference-", cache_));
    ASSAY_CHECK_OK(run(engine, task, precision, began + limit, building.path(), reference));
    ASSAY_CHECK_OK(complete_reference(building.path(), sets));
    // Another process may have made the same outputs meanwhile: then those stay.
    std::move(building).keep_as(folder);
    return {};
  }();
  reference.spent = std::chrono::steady_clock::now() - began;
  ASSAY_CHECK_OK(made);
  if (!is_complete_reference(folder)) return fail(ErrorCode::kInternal, "its outputs could not be kept");
  return folder;
}

Reference ReferenceMaker::make(const Task& task) {
  if (!task.reference.given_outputs.empty()) return make_given(task);
  Reference reference;
  const EngineEntry& engine = engine_of(task);
  const bool own = !engine.needs_model;
  if (!task.reference.why_none.empty()) {
    reference.why_none = task.reference.why_none;
    return reference;
  }
  const Result<EngineLocation> location = registry_.locate(engine.name);
  if (!location) {
    reference.why_none = fmt::format("the reference needs {}: {}", engine.name, location.error().message);
    return reference;
  }
  const Result<fs::path> folder = outputs_of(engine, location->version, task, task.timeout, reference);
  if (!folder) {
    reference.why_none = "the reference could not be made: " + folder.error().message;
    return reference;
  }
  const std::size_t sets = set_count(task.inputs, task.input_sets);
  reference.name = own ? "given" : engine.reference_name();
  for (std::size_t set = 0; set < sets; ++set) {
    reference.outputs.push_back(*folder / outputs_file(set));
    if (!task.generation) continue;
    const bool generated = is_generated(task, set);
    reference.largest.push_back(generated ? *folder / largest_file(set) : fs::path());
  }
  const Until until = std::chrono::steady_clock::now() + task.timeout - reference.spent;
  if (!own) add_honest(engine, location->version, task, arithmetic_of(task), until, reference);
  return reference;
}

Opinion ReferenceMaker::ask_engine(const EngineEntry& engine, const Task& task, std::chrono::nanoseconds limit) {
  Opinion opinion{.name = engine.reference_name(), .engine = engine.name, .exact = engine.exact};
  const Result<EngineLocation> location = registry_.locate(engine.name);
  if (!location) {
    opinion.why_none = location.error().message;
    return opinion;
  }
  Reference made;
  const Result<fs::path> folder = outputs_of(engine, location->version, task, limit, made);
  if (!folder) {
    opinion.why_none = folder.error().message;
    opinion.may_answer_later = !is_permanent(folder.error().code);
    log_debug("{}: {} has no opinion: {}", task.row.model, opinion.name, opinion.why_none);
    return opinion;
  }
  for (std::size_t set = 0; set < set_count(task.inputs, task.input_sets); ++set)
    opinion.outputs.push_back(*folder / outputs_file(set));
  return opinion;
}

Result<std::vector<Opinion>> ReferenceMaker::ask(const Task& task, const Reference& reference,
                                                 std::chrono::nanoseconds limit) {
  const Until until = std::chrono::steady_clock::now() + limit;
  std::vector<Opinion> opinions;
  for (const bool exact : {true, false}) {
    for (const EngineEntry& entry : registry_.entries()) {
      if (entry.exact != exact || !entry.built || !entry.needs_model || !entry.serves("cpu") || !entry.reads("onnx") ||
          entry.static_shapes)
        continue;
      // As users run it: the reference engine itself with its optimisations.
      EngineEntry asked = entry;
      if (!exact) asked.reference = {};
      opinions.push_back(ask_engine(asked, task, left(until)));
      if (cancelled_()) return fail(ErrorCode::kCancelled, "interrupted before it was decided who errs");
      if (exact && !opinions.back().outputs.empty()) {
        opinions.back().honest = honest_beside(task, reference, opinions.back());
        return opinions;
      }
    }
  }
  return opinions;
}

}  // namespace assay
