// SPDX-License-Identifier: Apache-2.0
// Compares the times that assay reports with those of a bare loop on the runtime's own API.
//
// For each runtime and model: pairs of fresh processes, one running the bare loop (bare_*.cpp), one assay's worker;
// same model file, inputs, rotation, threads, warm-up and number of samples, interleaved. Prints the ratio of
// medians (assay / bare), its 95 % interval over the pairs, and the difference in microseconds with its interval.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>

#include "cell.hpp"
#include "stats/stats.hpp"

namespace assay::bench {
namespace {
namespace fs = std::filesystem;

Status compare(const Settings& settings, const EngineRegistry& registry, const std::string& engine,
               const std::string& name, std::mt19937& random) {
  ASSAY_TRY(const fs::path model, model_file(settings, name));
  ASSAY_TRY(EngineLocation location, registry.locate(engine));
  Cell cell(settings, registry, std::move(location), model);
  ASSAY_CHECK_OK(cell.prepare(engine + ".inputs"));
  std::vector<double> bare, ours;
  for (int pair = 0; pair < settings.pairs; ++pair) {
    std::vector<std::unique_ptr<Loaded>> both(2);
    const bool bare_first = random() % 2 == 0;
    for (const bool start_bare : {bare_first, !bare_first}) {
      ASSAY_TRY(both[start_bare ? 0 : 1], start_bare ? cell.start_bare() : cell.start_assay());
    }
    ASSAY_TRY(const std::vector<double> medians, medians_in_turns(both, cell.iterations(), settings.turns, random));
    bare.push_back(medians[0]);
    ours.push_back(medians[1]);
    fmt::print(stderr, "{} {} pair {}: bare {:.1f} us, assay {:.1f} us\n", engine, name, pair + 1, bare.back() / 1e3,
               ours.back() / 1e3);
  }
  const stats::RatioEstimate estimate = stats::paired_ratio(bare, ours);
  std::ranges::sort(bare);
  const double typical_us = bare[bare.size() / 2] / 1e3;
  fmt::print("| {} | {} | {} | {} | {:.1f} | {:.4f} | {:.4f} to {:.4f} | {:+.2f} | {:+.2f} to {:+.2f} |\n", engine,
             name, settings.pairs, cell.iterations(), typical_us, estimate.ratio, estimate.interval.low,
             estimate.interval.high, (estimate.ratio - 1) * typical_us, (estimate.interval.low - 1) * typical_us,
             (estimate.interval.high - 1) * typical_us);
  std::fflush(stdout);
  return {};
}

Status run(const Settings& settings, const std::vector<std::string>& models) {
  std::error_code ignored;
  fs::create_directories(settings.folder, ignored);
  const EngineRegistry registry(EngineRegistry::default_places());
  std::mt19937 random(kSeed);
  fmt::print(
      "| engine | model | pairs | samples | bare median us | ratio | 95 % interval | difference us | 95 % interval |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& name : models)
    for (const std::string& engine : settings.engines)
      ASSAY_CHECK_OK(compare(settings, registry, engine, name, random));
  return {};
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  assay::bench::Settings settings;
  settings.folder = "fidelity";
  std::vector<std::string> models{"resnet50", "bert-base-uncased", "prajjwal1/bert-tiny"};
  CLI::App app("Compares assay's medians with those of bare loops on the runtimes' own APIs");
  app.add_option("--models", models, "Names of the zoo or .onnx files")->delimiter(',')->capture_default_str();
  assay::bench::add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  const assay::Status status = assay::bench::run(settings, models);
  if (status) return 0;
  fmt::print(stderr, "{}\n", assay::to_string(status.error()));
  return 1;
}
