// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/engine/registry.hpp"
#include "bench/worker/worker.hpp"

namespace CLI {
class App;
}

/// The common code of the comparisons in this folder: settings, and one model file on one runtime in fresh processes.
namespace assay::bench {

struct Settings {
  std::vector<std::string> engines{"onnxruntime", "openvino"};
  int pairs = 20, threads = 2;
  int turns = 10;  ///< turns of each process of a pair
  std::size_t sets = 4;
  double seconds = 2;
  std::int64_t least = 15;  ///< minimum samples per process, whatever their duration
  std::int64_t batch = 1, sequence = 128;
  std::filesystem::path folder;  ///< contains models, inputs and samples
};

/// The options of all comparisons, with the defaults that `settings` has.
void add_options(CLI::App& app, Settings& settings);

/// The file with that name, or the zoo's graph of that model with random weights, built in settings.folder.
Result<std::filesystem::path> model_file(const Settings& settings, const std::string& name);

constexpr std::uint64_t kSeed = 7;

/// A separate process that has loaded a model and runs it on request.
class Loaded {
 public:
  virtual ~Loaded() = default;
  /// Durations of n runs in nanoseconds; the first is on the first input set.
  virtual Result<std::vector<std::int64_t>> run(std::int64_t n) = 0;
  /// The largest resident set during any run() so far, in bytes.
  [[nodiscard]] std::uint64_t peak_bytes() const { return peak_bytes_; }

 protected:
  std::uint64_t peak_bytes_ = 0;
};

/// One model file on one runtime. `settings` and `registry` must outlive it, and it must outlive the processes that it
/// starts.
class Cell {
 public:
  Cell(const Settings& settings, const EngineRegistry& registry, EngineLocation location, std::filesystem::path model);

  /// Writes the inputs to files that begin with `inputs`, and determines how many samples fill the time.
  Status prepare(const std::string& inputs);

  /// A fresh process: assay's worker, or the bare loop (bare_ENGINE) beside it.
  Result<std::unique_ptr<Loaded>> start_assay();
  Result<std::unique_ptr<Loaded>> start_bare();

  [[nodiscard]] const std::vector<InputRecipe>& recipes() const { return recipes_; }
  [[nodiscard]] std::int64_t iterations() const { return iterations_; }
  void set_iterations(std::int64_t iterations) { iterations_ = iterations; }

 private:
  [[nodiscard]] LoadRequest load_request() const;
  [[nodiscard]] std::filesystem::path newest_library() const;
  Result<std::unique_ptr<Worker>> start_worker();

  const Settings& settings_;
  const EngineRegistry& registry_;
  EngineLocation location_;
  std::filesystem::path model_;
  std::vector<InputRecipe> recipes_;
  std::filesystem::path inputs_;
  std::int64_t iterations_ = 0;
};

/// The durations of each process, in nanoseconds. All have loaded their model; after a warm-up they run in `turns`,
/// each round in random order, at least `iterations` each in total, so that disturbances of the machine affect all of
/// them.
Result<std::vector<std::vector<std::int64_t>>> durations_in_turns(std::vector<std::unique_ptr<Loaded>>& processes,
                                                                  std::int64_t iterations, int turns,
                                                                  std::mt19937& random);
/// Their medians.
Result<std::vector<double>> medians_in_turns(std::vector<std::unique_ptr<Loaded>>& processes, std::int64_t iterations,
                                             int turns, std::mt19937& random);

}  // namespace assay::bench
