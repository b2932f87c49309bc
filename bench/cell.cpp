// SPDX-License-Identifier: Apache-2.0
#include "cell.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>

#include "core/samples/samples_file.hpp"
#include "models/zoo/zoo.hpp"

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
    recipe.fill = Fill::kConstant;  // what is timed has no padding
    recipe.low = 1;
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

// VmHWM; 0 if the process has ended.
std::uint64_t resident_peak(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

// assay's worker.
class Assay final : public Loaded {
 public:
  Assay(std::unique_ptr<Worker> worker, fs::path samples) : worker_(std::move(worker)), samples_(std::move(samples)) {}
  Result<std::vector<std::int64_t>> run(std::int64_t n) override {
    MeasurePlan plan;
    plan.warmup_iterations = 0;
    plan.iterations = n;
    ASSAY_TRY(const MeasureReply reply, worker_->measure({plan, samples_}, 10min));
    peak_bytes_ = std::max(peak_bytes_, reply.peak_rss_bytes);
    ASSAY_TRY(SamplesFile file, read_samples(samples_));
    return std::move(file.samples.duration_ns);
  }

 private:
  std::unique_ptr<Worker> worker_;
  fs::path samples_;
};

// A bare loop, driven through its standard input and output.
class Bare final : public Loaded {
 public:
  static Result<std::unique_ptr<Loaded>> start(std::vector<std::string> command) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return fail(ErrorCode::kInternal, "cannot create a pair of sockets");
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
      ::close(ends[0]);
      return fail(ErrorCode::kInternal, fmt::format("cannot start {}", command.front()));
    }
    return std::unique_ptr<Loaded>(new Bare(pid, ends[0], command.front()));
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  ~Bare() override {
    std::fclose(pipe_);  // it ends at the end of its input
    ::waitpid(pid_, nullptr, 0);
  }

  Result<std::vector<std::int64_t>> run(std::int64_t n) override {
    const std::string asked = fmt::format("{}\n", n);
    std::vector<std::int64_t> durations;
    std::ofstream(fmt::format("/proc/{}/clear_refs", pid_)) << 5;  // resets VmHWM, as assay's worker does
    if (::send(::fileno(pipe_), asked.data(), asked.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(asked.size()))
      for (long long duration = 0; std::ssize(durations) < n && std::fscanf(pipe_, "%lld", &duration) == 1;)
        durations.push_back(duration);
    peak_bytes_ = std::max(peak_bytes_, resident_peak(pid_));
    if (std::ssize(durations) == n) return durations;
    return fail(ErrorCode::kInternal, fmt::format("{} gave {} of {} durations", name_, durations.size(), n));
  }

 private:
  Bare(pid_t pid, int end, std::string name) : pid_(pid), pipe_(::fdopen(end, "r")), name_(std::move(name)) {}
  pid_t pid_;
  std::FILE* pipe_;
  std::string name_;
};

}  // namespace

void add_options(CLI::App& app, Settings& settings) {
  app.add_option("--engines", settings.engines)->delimiter(',')->capture_default_str();
  app.add_option("--pairs", settings.pairs)->check(CLI::Range(2, 1000))->capture_default_str();
  app.add_option("--turns", settings.turns, "Turns of each process of a pair")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--threads", settings.threads)->capture_default_str();
  app.add_option("--sets", settings.sets, "Rotating input sets")->capture_default_str();
  app.add_option("--seconds", settings.seconds, "Seconds of samples per process")->capture_default_str();
  app.add_option("--least", settings.least, "Minimum samples per process")->capture_default_str();
  app.add_option("--batch", settings.batch)->capture_default_str();
  app.add_option("--sequence", settings.sequence)->capture_default_str();
  app.add_option("--folder", settings.folder, "Folder for models, inputs and samples")->capture_default_str();
}

Result<fs::path> model_file(const Settings& settings, const std::string& name) {
  if (fs::exists(name)) return fs::path(name);
  const auto known = zoo::find_known(name);
  if (!known) return fail(ErrorCode::kNotFound, fmt::format("'{}' is neither a file nor a model of the zoo", name));
  std::string stem = name;
  std::ranges::replace(stem, '/', '_');
  fs::path path = settings.folder / (stem + ".onnx");
  if (fs::exists(path)) return path;
  zoo::BuildRequest request;
  request.config = known->config;
  request.model_class = known->model_class;
  ASSAY_TRY(const zoo::BuiltModel built, zoo::build(request, path));
  return built.path;
}

Cell::Cell(const Settings& settings, const EngineRegistry& registry, EngineLocation location, fs::path model)
    : settings_(settings), registry_(registry), location_(std::move(location)), model_(std::move(model)) {}

Status Cell::prepare(const std::string& inputs) {
  ASSAY_TRY(auto worker, start_worker());
  ASSAY_TRY(const LoadReply loaded, worker->load(load_request(), 10min));
  for (const ValueSignature& input : loaded.inputs) recipes_.push_back(recipe_for(settings_, input));
  inputs_ = settings_.folder / inputs;
  ASSAY_CHECK_OK(write_inputs(inputs_, recipes_, settings_.sets));
  ASSAY_TRY([[maybe_unused]] const BindReply bound, worker->bind({recipes_, kSeed, settings_.sets, 1}, 10min));
  Assay pilot(std::move(worker), settings_.folder / "samples");
  ASSAY_TRY([[maybe_unused]] const auto warmed, pilot.run(3));
  ASSAY_TRY(std::vector<std::int64_t> durations, pilot.run(10));
  const double run_ns = median(std::move(durations));
  iterations_ = std::clamp(static_cast<std::int64_t>(settings_.seconds * 1e9 / run_ns), settings_.least,
                           std::max(settings_.least, std::int64_t{20'000}));
  return {};
}

Result<std::unique_ptr<Loaded>> Cell::start_assay() {
  ASSAY_TRY(auto worker, start_worker());
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load_request(), 10min));
  ASSAY_TRY([[maybe_unused]] const BindReply bound, worker->bind({recipes_, kSeed, settings_.sets, 1}, 10min));
  return std::make_unique<Assay>(std::move(worker), settings_.folder / "samples");
}

Result<std::unique_ptr<Loaded>> Cell::start_bare() {
  const fs::path program = registry_.places().worker.parent_path() / ("bare_" + location_.engine);
  return Bare::start({program.string(), newest_library().string(), model_.string(), inputs_.string(),
                      std::to_string(settings_.threads)});
}

LoadRequest Cell::load_request() const {
  LoadRequest request;
  request.model = model_;
  request.precision = "float32";
  request.threads = settings_.threads;
  return request;
}

Result<std::unique_ptr<Worker>> Cell::start_worker() {
  Worker::StartOptions options;
  options.executable = registry_.places().worker;
  return Worker::start(location_, options);
}

// The bare loop of ONNX Runtime opens this; that of OpenVINO is linked.
fs::path Cell::newest_library() const {
  fs::path newest = "linked";
  for (const auto& entry : fs::directory_iterator(location_.home)) {
    if (entry.path().filename().string().starts_with("libonnxruntime.so")) newest = std::max(newest, entry.path());
  }
  return newest;
}

Result<std::vector<std::vector<std::int64_t>>> durations_in_turns(std::vector<std::unique_ptr<Loaded>>& processes,
                                                                  std::int64_t iterations, int turns,
                                                                  std::mt19937& random) {
  const std::int64_t rounds = std::clamp<std::int64_t>(iterations / 3, 1, turns);
  const std::int64_t each = (iterations + rounds - 1) / rounds;
  for (const auto& process : processes) {
    ASSAY_TRY([[maybe_unused]] const auto warmed, process->run(std::max<std::int64_t>(5, iterations / 5)));
  }
  std::vector<std::vector<std::int64_t>> durations(processes.size());
  std::vector<std::size_t> order(processes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      // The first run of a turn finds the caches of another process, whose threads may still spin.
      ASSAY_TRY(const std::vector<std::int64_t> more, processes[i]->run(each + 1));
      durations[i].insert(durations[i].end(), more.begin() + 1, more.end());
    }
  }
  return durations;
}

Result<std::vector<double>> medians_in_turns(std::vector<std::unique_ptr<Loaded>>& processes, std::int64_t iterations,
                                             int turns, std::mt19937& random) {
  ASSAY_TRY(std::vector<std::vector<std::int64_t>> durations, durations_in_turns(processes, iterations, turns, random));
  std::vector<double> medians;
  for (std::vector<std::int64_t>& all : durations) medians.push_back(median(std::move(all)));
  return medians;
}

}  // namespace assay::bench
