// SPDX-License-Identifier: Apache-2.0
#include "cell.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "measure/samples_file.hpp"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

InputRecipe recipe_for(const Settings& settings, const ValueSignature& input) {
  InputRecipe recipe{input.name, input.dtype, input.shape};
  for (std::size_t d = 0; d < recipe.shape.size(); ++d) {
    if (recipe.shape[d] < 0) recipe.shape[d] = d == 0 ? settings.batch : settings.sequence;
  }
  if (input.name == "attention_mask") {
    recipe.fill = Fill::kPaddingMask;
  } else if (input.dtype == DType::kInt64) {
    recipe.fill = Fill::kInteger;
    recipe.high = input.name == "token_type_ids" ? 1 : 999;
  }
  return recipe;
}

// The values of all sets and the list of them that the bare loops read.
Status write_inputs(const fs::path& list_path, const std::vector<InputRecipe>& recipes, std::size_t sets) {
  std::ofstream list(list_path);
  for (std::size_t set = 0; set < sets; ++set) {
    for (const InputRecipe& recipe : recipes) {
      ASSAY_TRY(const Tensor tensor, make_input(recipe, kSeed, set));
      const fs::path file = fmt::format("{}.{}.{}", list_path.string(), set, recipe.name);
      std::ofstream(file, std::ios::binary)
          .write(reinterpret_cast<const char*>(tensor.bytes().data()),
                 static_cast<std::streamsize>(tensor.bytes().size()));
      list << fmt::format("{} {} {} {} {} {}\n", set, recipe.name, static_cast<int>(recipe.dtype), recipe.shape.size(),
                          fmt::join(recipe.shape, " "), fs::absolute(file).string());
    }
  }
  if (!list.flush()) return fail(ErrorCode::kInternal, fmt::format("cannot write {}", list_path.string()));
  return {};
}

double median(std::vector<std::int64_t> durations) {
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::ranges::nth_element(durations, middle);
  return static_cast<double>(*middle);
}

}  // namespace

void add_options(CLI::App& app, Settings& settings) {
  app.add_option("--engines", settings.engines)->delimiter(',')->capture_default_str();
  app.add_option("--pairs", settings.pairs)->check(CLI::Range(2, 1000))->capture_default_str();
  app.add_option("--threads", settings.threads)->capture_default_str();
  app.add_option("--sets", settings.sets, "Rotating input sets")->capture_default_str();
  app.add_option("--seconds", settings.seconds, "Of samples per process")->capture_default_str();
  app.add_option("--least", settings.least, "Samples per process at least")->capture_default_str();
  app.add_option("--batch", settings.batch)->capture_default_str();
  app.add_option("--sequence", settings.sequence)->capture_default_str();
  app.add_option("--folder", settings.folder, "For what is written")->capture_default_str();
}

Cell::Cell(const Settings& settings, const EngineRegistry& registry, EngineLocation location, fs::path model)
    : settings_(settings), registry_(registry), location_(std::move(location)), model_(std::move(model)) {}

Status Cell::prepare(const std::string& inputs) {
  ASSAY_TRY(const auto worker, start());
  ASSAY_TRY(const LoadReply loaded, worker->load(load_request(), 10min));
  for (const ValueSignature& input : loaded.inputs) recipes_.push_back(recipe_for(settings_, input));
  inputs_ = settings_.folder / inputs;
  ASSAY_CHECK_OK(write_inputs(inputs_, recipes_, settings_.sets));
  MeasurePlan pilot;
  pilot.warmup_iterations = 3;
  pilot.iterations = 10;
  ASSAY_TRY(const double run_ns, measure(*worker, pilot));
  iterations_ = std::clamp(static_cast<std::int64_t>(settings_.seconds * 1e9 / run_ns), settings_.least,
                           std::max(settings_.least, std::int64_t{20'000}));
  return {};
}

Result<double> Cell::assay_median() {
  ASSAY_TRY(const auto worker, start());
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load_request(), 10min));
  MeasurePlan plan;
  plan.warmup_iterations = warmup();
  plan.iterations = iterations_;
  return measure(*worker, plan);
}

Result<double> Cell::bare_median() {
  const fs::path program = registry_.places().worker.parent_path() / ("bare_" + location_.engine);
  const std::string command = fmt::format("'{}' '{}' '{}' '{}' {} {} {}", program.string(), newest_library().string(),
                                          model_.string(), inputs_.string(), settings_.threads, warmup(), iterations_);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return fail(ErrorCode::kInternal, fmt::format("cannot start {}", command));
  std::vector<std::int64_t> durations;
  for (long long duration = 0; std::fscanf(pipe, "%lld", &duration) == 1;) durations.push_back(duration);
  if (pclose(pipe) != 0 || durations.size() != static_cast<std::size_t>(iterations_)) {
    return fail(ErrorCode::kInternal,
                fmt::format("{} gave {} of {} durations", command, durations.size(), iterations_));
  }
  return median(std::move(durations));
}

std::int64_t Cell::warmup() const { return std::max<std::int64_t>(5, iterations_ / 5); }

LoadRequest Cell::load_request() const {
  LoadRequest request;
  request.model = model_;
  request.precision = "float32";
  request.threads = settings_.threads;
  return request;
}

Result<std::unique_ptr<Worker>> Cell::start() {
  Worker::StartOptions options;
  options.executable = registry_.places().worker;
  return Worker::start(location_, options);
}

Result<double> Cell::measure(Worker& worker, const MeasurePlan& plan) {
  ASSAY_TRY([[maybe_unused]] const BindReply bound, worker.bind({recipes_, kSeed, settings_.sets, 1}, 10min));
  const fs::path samples = settings_.folder / "samples";
  ASSAY_TRY([[maybe_unused]] const MeasureReply reply, worker.measure({plan, samples}, 10min));
  ASSAY_TRY(SamplesFile file, read_samples(samples));
  return median(std::move(file.samples.duration_ns));
}

// The bare loop of ONNX Runtime opens this; that of OpenVINO is linked.
fs::path Cell::newest_library() const {
  fs::path newest = "linked";
  for (const auto& entry : fs::directory_iterator(location_.home)) {
    if (entry.path().filename().string().starts_with("libonnxruntime.so")) newest = std::max(newest, entry.path());
  }
  return newest;
}

}  // namespace assay::bench
