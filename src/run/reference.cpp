// SPDX-License-Identifier: Apache-2.0
#include "run/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "tensor/random.hpp"
#include "tensor/safetensors.hpp"
#include "tensor/ulp.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDone = "DONE";
constexpr std::uint64_t kMoveSeed = 1;

// The inputs of a set, moved; as files, because a recipe cannot say "moved".
Result<std::vector<InputRecipe>> moved_inputs(const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                                              std::size_t set, DType precision, const fs::path& folder) {
  std::vector<InputRecipe> moved = recipes;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    ASSAY_TRY(Tensor tensor, make_input(recipes[i], seed, set));
    move_by_one_ulp(tensor.dtype(), tensor.bytes(), precision, CounterRandom(kMoveSeed, recipes[i].name));
    moved[i].fill = Fill::kFile;
    moved[i].file = folder / fmt::format("input_{}.safetensors", i);  // .npy has no bfloat16
    const NamedView named{recipes[i].name, tensor.view()};
    ASSAY_CHECK_OK(write_safetensors(moved[i].file, std::span(&named, 1), {}, Persistence::kScratch));
  }
  return moved;
}

std::chrono::nanoseconds left(std::chrono::steady_clock::time_point until) {
  return std::max(std::chrono::nanoseconds(1), std::chrono::nanoseconds(until - std::chrono::steady_clock::now()));
}

std::string output_name(const char* kind, std::size_t set) { return fmt::format("{}{}.safetensors", kind, set); }

// Floats of 16 bits, as files, where the reference's graph takes float32.
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

// Names of copies.
constexpr const char* kModel = "model.onnx";
constexpr const char* kStep = "step.onnx";

// The second graph of a model that generates; "": it has none.
fs::path step_file(const PreparedModel& model) {
  return model.generation && model.generation->step ? model.generation->step->path : fs::path();
}

// Copies the model's files from `from` (empty: themselves) into `to`, each changed by `change`.
template <class Change>
Status copy_changed(const PreparedModel& model, const fs::path& from, const fs::path& to, Change&& change) {
  ASSAY_CHECK_OK(change(from.empty() ? model.file : from / kModel, to / kModel));
  const fs::path step = step_file(model);
  return step.empty() ? Status() : change(from.empty() ? step : from / kStep, to / kStep);
}

// The graphs of a model built in 16 bits once more, in float32.
Status build_again(const PreparedModel& model, const fs::path& to) {
  ASSAY_CHECK_OK(make_directories(to));
  zoo::BuildRequest& request = *model.in_float32;
  if (model.generation) {
    ASSAY_TRY([[maybe_unused]] const auto graphs, build_generation(request, to));
  } else {
    ASSAY_TRY([[maybe_unused]] const auto built, zoo::build(request, to / kModel));
  }
  return {};
}

// Whether the outputs that were kept can still be read.
bool is_whole(const fs::path& folder, std::size_t sets) {
  std::error_code error;
  for (std::size_t set = 0; set < sets; ++set) {
    if (!SafetensorsFile::open(folder / output_name("set", set))) return false;
    const fs::path moved = folder / output_name("moved", set);
    if (fs::exists(moved, error) && !SafetensorsFile::open(moved)) return false;
  }
  return true;
}

}  // namespace

std::size_t distinct_sets(const std::vector<InputRecipe>& recipes) {
  const bool files =
      std::all_of(recipes.begin(), recipes.end(), [](const InputRecipe& r) { return r.fill == Fill::kFile; });
  return files && !recipes.empty() ? 1 : 2;
}

void add_signature(EngineOptions& options, const ModelInfo& info) {
  const auto text = [](const std::vector<ModelValue>& values) {
    std::vector<std::string> parts;
    for (const ModelValue& value : values) {
      std::vector<std::string> extents;
      for (std::size_t i = 0; i < value.shape.size(); ++i) {
        const bool named = i < value.symbols.size() && !value.symbols[i].empty();
        extents.push_back(value.shape[i] >= 0 ? std::to_string(value.shape[i]) : named ? value.symbols[i] : "?");
      }
      parts.push_back(fmt::format("{}:{}[{}]", value.name, to_string(value.dtype), join(extents, ",")));
    }
    return join(parts, ";");
  };
  const auto told = [&](const char* key) {
    return std::any_of(options.begin(), options.end(), [&](const auto& option) { return option.first == key; });
  };
  if (!told("inputs")) options.emplace_back("inputs", text(info.inputs));
  if (!told("outputs")) options.emplace_back("outputs", text(info.outputs));
}

/// What one model's references share: the workers of the model and of its moved twin, loaded once for all shapes.
struct ReferenceMaker::Live {
  std::string engine;
  fs::path model;
  DType precision;
  std::optional<TemporaryDirectory> folder;  ///< holds the rounded weights and the moved twin
  fs::path files;                            ///< of the copies with rounded weights; empty: the model's own
  std::unique_ptr<Worker> worker;
  std::unique_ptr<Worker> moved_worker;
};

ReferenceMaker::ReferenceMaker(const EngineRegistry& registry, fs::path cache, std::function<bool()> cancelled)
    : registry_(registry), cache_(std::move(cache)), cancelled_(std::move(cancelled)) {}
ReferenceMaker::~ReferenceMaker() = default;
void ReferenceMaker::release() { live_.reset(); }

Result<std::unique_ptr<Worker>> ReferenceMaker::start(const std::string& engine, const PreparedModel& model,
                                                      const fs::path& folder, Until until) const {
  ASSAY_TRY(const EngineLocation location, registry_.locate(engine));
  Worker::StartOptions start;
  start.executable = registry_.places().worker;
  start.cancelled = cancelled_;
  start.memory_limit_bytes = memory_limit_;
  ASSAY_TRY(std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
  LoadRequest load;
  const auto file_of = [&](const fs::path& own, const char* copy) { return folder.empty() ? own : folder / copy; };
  load.model = file_of(model.file, kModel);
  if (const fs::path step = step_file(model); !step.empty()) load.step_model = file_of(step, kStep);
  const EngineEntry& entry = *registry_.entry(engine);
  load.options = entry.reference.options;
  if (!entry.needs_model && model.info) add_signature(load.options, *model.info);
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, left(until)));
  return worker;
}

Status ReferenceMaker::revive(const std::string& engine, const PreparedModel& model, DType precision, Until until) {
  if (live_ && live_->engine == engine && live_->model == model.file && live_->precision == precision &&
      live_->worker->alive())
    return {};
  live_.reset();
  Live live{engine, model.file, precision, std::nullopt, {}, nullptr, nullptr};
  if (registry_.entry(engine)->needs_model) {
    ASSAY_TRY(live.folder, TemporaryDirectory::create("assay-reference-"));
    if (bit_width(precision) < 32) {
      live.files = live.folder->path() / "rounded";
      ASSAY_CHECK_OK(model.in_float32
                         ? build_again(model, live.files)
                         : copy_changed(model, {}, live.files, [&](const fs::path& from, const fs::path& to) {
                             return write_rounded(from, precision, to, cancelled_);
                           }));
    }
  }
  ASSAY_TRY(live.worker, start(engine, model, live.files, until));
  live_ = std::make_unique<Live>(std::move(live));
  return {};
}

Status ReferenceMaker::run(const std::string& engine, const PreparedModel& model, DType precision,
                           const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                           const std::optional<Generation>& generation, Until until, const fs::path& folder,
                           Reference& reference) {
  // Loading, binding or running: what ONNX Runtime refuses as invalid breaks ONNX's rules, not a runtime's.
  const auto judged = [&](Status status) {
    if (!status && status.error().code == ErrorCode::kInvalidArgument) reference.file_at_fault = status.error();
    return status;
  };
  ASSAY_CHECK_OK(judged(revive(engine, model, precision, until)));
  const std::size_t sets = distinct_sets(recipes);
  const fs::path files = live_->folder ? live_->folder->path() : fs::path();
  const bool narrow = model.in_float32 && std::ranges::any_of(recipes, [](const InputRecipe& recipe) {
                        return is_floating(recipe.dtype) && bit_width(recipe.dtype) == 16;
                      });
  const auto widened = [&](const std::vector<InputRecipe>& given, std::size_t set) -> Result<std::vector<InputRecipe>> {
    if (!narrow) return given;
    return widened_inputs(given, seed, set, files);
  };
  for (std::size_t set = 0; set < sets; ++set) {
    // What is in files is of one set.
    if (set == 0 || narrow) {
      ASSAY_TRY(const std::vector<InputRecipe> inputs, widened(recipes, set));
      const Result<BindReply> bound = live_->worker->bind({inputs, seed, sets, 1, generation}, left(until));
      if (!bound) return judged(tl::unexpected<Error>(bound.error()));
    }
    const Result<InferReply> ran = live_->worker->infer({set, folder / output_name("set", set)}, left(until));
    if (!ran) return judged(tl::unexpected<Error>(ran.error()));
    reference.run_ms = ran->run_ms;
  }
  if (!registry_.entry(engine)->needs_model) return {};  // its numbers are exact

  if (!live_->moved_worker || !live_->moved_worker->alive()) {
    const fs::path copies = files / "moved";
    ASSAY_CHECK_OK(copy_changed(model, live_->files, copies, [&](const fs::path& from, const fs::path& to) {
      return write_perturbed(from, precision, kMoveSeed, to, cancelled_);
    }));
    ASSAY_TRY(live_->moved_worker, start(engine, model, copies, until));
  }
  for (std::size_t set = 0; set < sets; ++set) {
    ASSAY_TRY(std::vector<InputRecipe> moved, moved_inputs(recipes, seed, set, precision, files));
    ASSAY_TRY(moved, widened(moved, set));
    ASSAY_TRY([[maybe_unused]] const BindReply again,
              live_->moved_worker->bind({moved, seed, 1, 1, generation}, left(until)));
    ASSAY_TRY([[maybe_unused]] const InferReply run,
              live_->moved_worker->infer({0, folder / output_name("moved", set)}, left(until)));
  }
  return {};
}

Reference ReferenceMaker::make(const PreparedModel& model, const std::string& candidate_engine, DType precision,
                               const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                               const std::string& input_hash, const std::optional<Generation>& generation,
                               std::chrono::nanoseconds timeout) {
  Reference reference;
  const bool itself = !registry_.entry(candidate_engine)->needs_model;
  if (!itself && !model.info) {
    reference.why_none = "there is no reference for this format without given outputs";
    return reference;
  }
  const std::string engine = itself ? candidate_engine : kReferenceEngine;
  const Result<EngineLocation> location = registry_.locate(engine);
  if (!location) {
    reference.why_none = fmt::format("the reference needs {}: {}", engine, location.error().message);
    return reference;
  }
  if (!has_ulp(precision)) precision = DType::kFloat32;
  const std::string key = sha256_hex(fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}\n{}\n", model.identity.graph_hash, model.identity.weights_hash, input_hash, engine,
      location->version, to_string(precision), generation ? taught_tokens(generation->output_tokens) : -1));
  const fs::path folder = cache_ / key.substr(0, 32);
  if (fs::exists(folder / kDone) && !is_whole(folder, distinct_sets(recipes))) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);  // cut short or emptied since: made again
  }
  if (!fs::exists(folder / kDone)) {
    const auto began = std::chrono::steady_clock::now();
    const Status made = [&]() -> Status {
      ASSAY_TRY(TemporaryDirectory building, TemporaryDirectory::create("assay-reference-", cache_));
      ASSAY_CHECK_OK(
          run(engine, model, precision, recipes, seed, generation, began + timeout, building.path(), reference));
      // A worker's outputs wait for no disk; what is kept for later runs must lie there before it is called done.
      std::error_code ignored;
      for (fs::directory_iterator it(building.path(), ignored), end; !ignored && it != end; it.increment(ignored))
        ASSAY_CHECK_OK(sync_file(it->path()));
      ASSAY_CHECK_OK(write_file_atomically(building.path() / kDone, ""));
      // Another process may have made the same reference meanwhile: then theirs stays.
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
  reference.name = itself ? "given" : registry_.entry(engine)->reference_name();
  for (std::size_t set = 0; set < distinct_sets(recipes); ++set) {
    reference.outputs.push_back(folder / output_name("set", set));
    if (const fs::path moved = folder / output_name("moved", set); fs::exists(moved)) reference.moved.push_back(moved);
  }
  return reference;
}

}  // namespace assay
