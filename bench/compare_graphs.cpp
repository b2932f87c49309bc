// SPDX-License-Identifier: Apache-2.0
// Compares the speed of several graphs of one model.
//
// For each runtime: rounds of fresh processes, each the bare loop (bare_*.cpp) on one of the files, with the same
// inputs, rotation, threads, warm-up and number of samples, interleaved. Prints for each baseline the ratio of
// medians (candidate / baseline) and its 95 % interval over the rounds.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>

#include "cell.hpp"
#include "core/stats/stats.hpp"

namespace assay::bench {
namespace {
namespace fs = std::filesystem;

// A file is identified by its folder, because exporters write the same model with the same name.
std::string label(const fs::path& file) { return (file.parent_path().filename() / file.stem()).string(); }

// Whether both have the same inputs, in any order.
bool same_inputs(const Cell& a, const Cell& b) {
  const auto taken = [](const Cell& cell) {
    std::vector<std::string> all;
    for (const InputRecipe& recipe : cell.recipes()) all.push_back(to_json(recipe).dump());
    std::ranges::sort(all);
    return all;
  };
  return taken(a) == taken(b);
}

Result<std::vector<Cell>> prepare(const Settings& settings, const EngineRegistry& registry, const std::string& engine,
                                  const std::vector<fs::path>& files) {
  std::vector<Cell> cells;
  for (const fs::path& file : files) {
    ASSAY_TRY(EngineLocation location, registry.locate(engine));
    Cell& cell = cells.emplace_back(settings, registry, std::move(location), file);
    ASSAY_CHECK_OK(cell.prepare(fmt::format("{}.{}.inputs", engine, cells.size())));
    if (!same_inputs(cell, cells.front())) {
      return fail(ErrorCode::kMismatch,
                  fmt::format("{} has other inputs than {}", file.string(), files.front().string()));
    }
    cell.set_iterations(cells.front().iterations());
  }
  return cells;
}

Status compare(const Settings& settings, const EngineRegistry& registry, const std::string& engine,
               const std::vector<fs::path>& files, std::mt19937& random) {
  ASSAY_TRY(std::vector<Cell> cells, prepare(settings, registry, engine, files));
  std::vector<std::vector<double>> medians(cells.size());
  std::vector<std::size_t> order(cells.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < settings.pairs; ++round) {
    std::ranges::shuffle(order, random);
    std::vector<std::unique_ptr<Loaded>> processes(cells.size());
    for (const std::size_t i : order) {
      ASSAY_TRY(processes[i], cells[i].start_bare());
    }
    ASSAY_TRY(const std::vector<double> round_medians,
              medians_in_turns(processes, cells.front().iterations(), settings.turns, random));
    for (const std::size_t i : order) medians[i].push_back(round_medians[i]);
    fmt::print(stderr, "{} round {}:", engine, round + 1);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      fmt::print(stderr, " {} {:.2f} ms", label(files[i]), medians[i].back() / 1e6);
    }
    fmt::print(stderr, "\n");
  }
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const stats::RatioEstimate estimate = stats::paired_ratio(medians[i], medians[0]);
    std::vector<double> sorted = medians[i];
    std::ranges::sort(sorted);
    fmt::print("| {} | {} | {} | {} | {} | {:.2f} | {:.3f} | {:.3f} to {:.3f} |\n", engine, label(files[0]),
               label(files[i]), settings.pairs, cells[i].iterations(), sorted[sorted.size() / 2] / 1e6, estimate.ratio,
               estimate.interval.low, estimate.interval.high);
  }
  std::fflush(stdout);
  return {};
}

Status run(const Settings& settings, const std::vector<fs::path>& files) {
  std::error_code ignored;
  fs::create_directories(settings.folder, ignored);
  const EngineRegistry registry(EngineRegistry::default_places());
  std::mt19937 random(kSeed);
  fmt::print(
      "| engine | candidate | baseline | pairs | samples | baseline median ms | ratio | 95 % interval |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& engine : settings.engines) {
    ASSAY_CHECK_OK(compare(settings, registry, engine, files, random));
  }
  return {};
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  assay::bench::Settings settings;
  settings.folder = "compare_graphs";
  std::vector<std::filesystem::path> files;
  CLI::App app("Compares the speed of files of one model, in rounds of fresh processes");
  app.add_option("files", files, "The candidate, then the baselines")->required()->expected(2, 16);
  assay::bench::add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  const assay::Status status = assay::bench::run(settings, files);
  if (status) return 0;
  fmt::print(stderr, "{}\n", assay::to_string(status.error()));
  return 1;
}
