// SPDX-License-Identifier: Apache-2.0
// How long lowering takes, and how much memory: opens an ONNX file, infers its shapes, lowers it and writes the result.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "bench/measure/memory.hpp"
#include "core/base/files.hpp"
#include "models/inputs/inputs.hpp"
#include "models/lower/program.hpp"
#include "models/onnx/inspect.hpp"

namespace assay::bench {
namespace {
namespace fs = std::filesystem;

struct Settings {
  std::vector<std::string> files;
  std::string dialect = "torchscript";
  std::int64_t batch = 1, sequence = 128;
  int rounds = 5;
};

std::uint64_t size_of(const fs::path& file) {
  std::error_code missing;
  const std::uint64_t size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

Status time_one(const fs::path& file, const Settings& settings, lowering::Dialect dialect) {
  ASSAY_TRY(const ModelInfo info, inspect_model(file));
  ASSAY_TRY(const ModelInputs inputs, make_inputs(info, {.batch = settings.batch, .sequence = settings.sequence}));
  SpecialiseRequest request;
  for (const InputRecipe& input : inputs.recipes) request.shapes.emplace(input.name, input.shape);
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create("assay-lowering-"));
  const fs::path written = folder.path() / ("model." + settings.dialect);
  std::vector<double> seconds;
  ASSAY_CHECK_OK(reset_peak_memory());
  ASSAY_TRY(const ResidentMemory before, resident_memory());
  for (int round = 0; round < settings.rounds; ++round) {
    const auto began = std::chrono::steady_clock::now();
    ASSAY_TRY(const StaticModel model, StaticModel::open(file));
    ASSAY_TRY(const lowering::Program program, lowering::lower(model, request, dialect));
    ASSAY_CHECK_OK(lowering::write_program(program, written));
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  ASSAY_TRY(const ResidentMemory after, resident_memory());
  std::ranges::sort(seconds);
  std::printf("| %s | %.0f | %.1f | %.4f | %.4f | %.1f |\n", file.stem().c_str(),
              static_cast<double>(size_of(file) + size_of(file.string() + ".data")) / 1e6,
              static_cast<double>(size_of(written)) / 1e3, seconds[seconds.size() / 2], seconds.back(),
              static_cast<double>(after.peak - before.now) / 1e6);
  return {};
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  using namespace assay;
  bench::Settings settings;
  CLI::App app{"Times the lowering of ONNX files, and prints the memory that it adds to the process."};
  app.add_option("files", settings.files, "ONNX files, the smallest first")->required()->check(CLI::ExistingFile);
  app.add_option("--dialect", settings.dialect, "torchscript or stablehlo")->capture_default_str();
  app.add_option("--batch-size", settings.batch, "Items in one inference")->capture_default_str();
  app.add_option("--sequence-length", settings.sequence, "Tokens")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "How often")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto dialect = lowering::dialect_from(settings.dialect);
  if (!dialect)
    return std::fprintf(stderr, "--dialect: unknown value '%s'; valid: torchscript, stablehlo\n",
                        settings.dialect.c_str()),
           2;
  std::printf(
      "| model | file MB | text kB | median s | longest s | memory MB |\n| --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& file : settings.files)
    if (const Status done = bench::time_one(file, settings, *dialect); !done)
      return std::fprintf(stderr, "%s\n", to_string(done.error()).c_str()), 1;
  return 0;
}
