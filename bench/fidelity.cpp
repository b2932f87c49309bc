// SPDX-License-Identifier: Apache-2.0
// Does assay report what a bare loop on the runtime's own API measures?
//
// For each runtime and model: pairs of fresh processes in random order, one running the bare loop (bare_*.cpp), one
// assay's worker; same model file, inputs, rotation, threads, warm-up and number of samples. Printed is the ratio of
// medians (assay / bare), its 95 % interval over the pairs, and the same as a difference in microseconds.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "engine/registry.hpp"
#include "measure/samples_file.hpp"
#include "stats/stats.hpp"
#include "worker/worker.hpp"
#include "zoo/zoo.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t kSeed = 7;

struct Settings {
  std::vector<std::string> engines{"onnxruntime", "openvino"};
  std::vector<std::string> models{"resnet50", "bert-base-uncased", "prajjwal1/bert-tiny"};
  int pairs = 20, threads = 2;
  std::size_t sets = 4;
  double seconds = 2;
  std::int64_t batch = 1, sequence = 128;
  fs::path folder = "fidelity";
};

/// The zoo's graph with seeded weights, or the file that `name` is.
Result<fs::path> model_file(const Settings& settings, const std::string& name) {
  if (fs::exists(name)) return fs::path(name);
  const auto known = zoo::find_known(name);
  if (!known) return fail(ErrorCode::kNotFound, fmt::format("'{}' is no file and no model of the zoo", name));
  std::string stem = name;
  std::ranges::replace(stem, '/', '_');
  const fs::path path = settings.folder / (stem + ".onnx");
  if (fs::exists(path)) return path;
  zoo::BuildRequest request;
  request.config = known->config;
  request.model_class = known->model_class;
  ASSAY_TRY(const zoo::BuiltModel built, zoo::build(request, path));
  return built.path;
}

InputRecipe recipe_for(const Settings& settings, const ValueSignature& input) {
  InputRecipe recipe{input.name, input.dtype, input.shape};
  for (std::size_t d = 0; d < recipe.shape.size(); ++d)
    if (recipe.shape[d] < 0) recipe.shape[d] = d == 0 ? settings.batch : settings.sequence;
  if (input.name == "attention_mask") {
    recipe.fill = Fill::kPaddingMask;
  } else if (input.dtype == DType::kInt64) {
    recipe.fill = Fill::kInteger;
    recipe.high = input.name == "token_type_ids" ? 1 : 999;
  }
  return recipe;
}

/// Writes the values of all sets and the list of them that the bare loops read.
Status write_inputs(const fs::path& list_path, const std::vector<InputRecipe>& recipes, std::size_t sets) {
  std::ofstream list(list_path);
  for (std::size_t set = 0; set < sets; ++set) {
    for (const InputRecipe& recipe : recipes) {
      ASSAY_TRY(const Tensor tensor, make_input(recipe, kSeed, set));
      const fs::path file = fmt::format("{}.{}.{}", list_path.string(), set, recipe.name);
      std::ofstream(file, std::ios::binary)
          .write(reinterpret_cast<const char*>(tensor.bytes().data()), static_cast<std::streamsize>(tensor.bytes().size()));
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

/// One comparison: a runtime and a model.
class Cell {
 public:
  Cell(const Settings& settings, EngineLocation location, fs::path model, const EngineRegistry::Places& places)
      : settings_(settings), location_(std::move(location)), model_(std::move(model)), places_(places) {}

  Status prepare() {
    ASSAY_TRY(const auto worker, start());
    ASSAY_TRY(const LoadReply loaded, worker->load(load_request(), 10min));
    for (const ValueSignature& input : loaded.inputs) recipes_.push_back(recipe_for(settings_, input));
    inputs_ = settings_.folder / (location_.engine + ".inputs");
    ASSAY_CHECK_OK(write_inputs(inputs_, recipes_, settings_.sets));
    MeasurePlan pilot;
    pilot.warmup_iterations = 3;
    pilot.iterations = 10;
    ASSAY_TRY(const double run_ns, measure(*worker, pilot));
    iterations_ = std::clamp(static_cast<std::int64_t>(settings_.seconds * 1e9 / run_ns), std::int64_t{15}, std::int64_t{20'000});
    return {};
  }

  Result<double> assay_median() {
    ASSAY_TRY(const auto worker, start());
    ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load_request(), 10min));
    MeasurePlan plan;
    plan.warmup_iterations = warmup();
    plan.iterations = iterations_;
    return measure(*worker, plan);
  }

  Result<double> bare_median() {
    const std::string library = newest_library().string();
    const std::string command =
        fmt::format("'{}' '{}' '{}' '{}' {} {} {}", (places_.worker.parent_path() / ("bare_" + location_.engine)).string(), library,
                    model_.string(), inputs_.string(), settings_.threads, warmup(), iterations_);
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return fail(ErrorCode::kInternal, fmt::format("cannot start {}", command));
    std::vector<std::int64_t> durations;
    for (long long duration = 0; std::fscanf(pipe, "%lld", &duration) == 1;) durations.push_back(duration);
    if (pclose(pipe) != 0 || durations.size() != static_cast<std::size_t>(iterations_))
      return fail(ErrorCode::kInternal, fmt::format("{} gave {} of {} durations", command, durations.size(), iterations_));
    return median(std::move(durations));
  }

  [[nodiscard]] std::int64_t iterations() const { return iterations_; }

 private:
  [[nodiscard]] std::int64_t warmup() const { return std::max<std::int64_t>(5, iterations_ / 5); }
  [[nodiscard]] LoadRequest load_request() const {
    LoadRequest request;
    request.model = model_;
    request.precision = "float32";
    request.threads = settings_.threads;
    return request;
  }
  Result<std::unique_ptr<Worker>> start() {
    Worker::StartOptions options;
    options.executable = places_.worker;
    return Worker::start(location_, options);
  }
  Result<double> measure(Worker& worker, const MeasurePlan& plan) {
    ASSAY_TRY([[maybe_unused]] const BindReply bound, worker.bind({recipes_, kSeed, settings_.sets, 1}, 10min));
    const fs::path samples = settings_.folder / "samples";
    ASSAY_TRY([[maybe_unused]] const MeasureReply reply, worker.measure({plan, samples}, 10min));
    ASSAY_TRY(SamplesFile file, read_samples(samples));
    return median(std::move(file.samples.duration_ns));
  }
  /// The bare loop of ONNX Runtime opens this; that of OpenVINO is linked.
  [[nodiscard]] fs::path newest_library() const {
    fs::path newest = "linked";
    for (const auto& entry : fs::directory_iterator(location_.home))
      if (entry.path().filename().string().starts_with("libonnxruntime.so")) newest = std::max(newest, entry.path());
    return newest;
  }

  const Settings& settings_;
  EngineLocation location_;
  fs::path model_;
  const EngineRegistry::Places& places_;
  std::vector<InputRecipe> recipes_;
  fs::path inputs_;
  std::int64_t iterations_ = 0;
};

Status compare(const Settings& settings, const EngineRegistry& registry, const std::string& engine, const std::string& name,
               std::mt19937& random) {
  ASSAY_TRY(const fs::path model, model_file(settings, name));
  ASSAY_TRY(EngineLocation location, registry.locate(engine));
  Cell cell(settings, std::move(location), model, registry.places());
  ASSAY_CHECK_OK(cell.prepare());
  std::vector<double> bare, ours;
  for (int pair = 0; pair < settings.pairs; ++pair) {
    const bool bare_first = random() % 2 == 0;
    for (const bool run_bare : {bare_first, !bare_first}) {
      ASSAY_TRY(const double value, run_bare ? cell.bare_median() : cell.assay_median());
      (run_bare ? bare : ours).push_back(value);
    }
    fmt::print(stderr, "{} {} pair {}: bare {:.1f} us, assay {:.1f} us\n", engine, name, pair + 1, bare.back() / 1e3, ours.back() / 1e3);
  }
  const stats::RatioEstimate estimate = stats::paired_ratio(bare, ours);
  std::ranges::sort(bare);
  const double typical_us = bare[bare.size() / 2] / 1e3;
  fmt::print("| {} | {} | {} | {} | {:.1f} | {:.4f} | {:.4f} to {:.4f} | {:+.2f} | {:+.2f} to {:+.2f} |\n", engine, name, settings.pairs,
             cell.iterations(), typical_us, estimate.ratio, estimate.interval.low, estimate.interval.high,
             (estimate.ratio - 1) * typical_us, (estimate.interval.low - 1) * typical_us, (estimate.interval.high - 1) * typical_us);
  std::fflush(stdout);
  return {};
}

Status run(const Settings& settings) {
  std::error_code ignored;
  fs::create_directories(settings.folder, ignored);
  const EngineRegistry registry(EngineRegistry::default_places());
  std::mt19937 random(kSeed);
  fmt::print("| engine | model | pairs | samples | bare median us | ratio | 95 % interval | difference us | 95 % interval |\n"
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& name : settings.models)
    for (const std::string& engine : settings.engines) ASSAY_CHECK_OK(compare(settings, registry, engine, name, random));
  return {};
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  assay::Settings settings;
  CLI::App app("Compares assay's medians with those of bare loops on the runtimes' own APIs");
  app.add_option("--engines", settings.engines)->delimiter(',')->capture_default_str();
  app.add_option("--models", settings.models, "Names of the zoo or .onnx files")->delimiter(',')->capture_default_str();
  app.add_option("--pairs", settings.pairs)->check(CLI::Range(2, 1000))->capture_default_str();
  app.add_option("--threads", settings.threads)->capture_default_str();
  app.add_option("--sets", settings.sets, "Rotating input sets")->capture_default_str();
  app.add_option("--seconds", settings.seconds, "Of samples per process")->capture_default_str();
  app.add_option("--batch", settings.batch)->capture_default_str();
  app.add_option("--sequence", settings.sequence)->capture_default_str();
  app.add_option("--folder", settings.folder, "Models and inputs")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const assay::Status status = assay::run(settings);
  if (status) return 0;
  fmt::print(stderr, "{}\n", assay::to_string(status.error()));
  return 1;
}
