// SPDX-License-Identifier: Apache-2.0
// Writes the graphs with which assay times the generation of a checkpoint, one folder for each kind of KV cache:
// growing/model.onnx, runtime/model.onnx (ONNX Runtime's own cache) and openvino/model.xml (OpenVINO's).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "bench/engine/registry.hpp"
#include "bench/prepare/generation.hpp"
#include "bench/prepare/kv_cache.hpp"
#include "core/base/json.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

Status write(const fs::path& checkpoint, const fs::path& folder) {
  zoo::BuildRequest request;
  ASSAY_TRY(request.config, read_json(checkpoint / "config.json"));
  request.weights = checkpoint;
  for (const char* kind : {"growing", "runtime", "openvino"}) fs::create_directories(folder / kind);
  ASSAY_TRY(const auto graphs, build_generation(request, folder / "growing"));
  if (!graphs) return fail(ErrorCode::kUnsupported, fmt::format("{} generates nothing", checkpoint.string()));
  ASSAY_TRY([[maybe_unused]] const CacheGraph native,
            build_cache_graph(request, KvCache::kRuntime, folder / "runtime/model.onnx"));
  const EngineRegistry registry(EngineRegistry::default_places());
  Stateful with;
  with.engine = "openvino";
  with.program = registry.converter(*registry.entry(with.engine));
  ASSAY_TRY(with.runtime, registry.locate(with.engine));
  ASSAY_TRY([[maybe_unused]] const CacheGraph stateful, make_stateful(*graphs, with, folder / "openvino/model.xml"));
  return {};
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  std::string checkpoint, folder;
  CLI::App app("Writes the graphs with which assay times generation");
  app.add_option("CHECKPOINT", checkpoint, "A folder with config.json and weights")->required();
  app.add_option("FOLDER", folder, "Where the graphs are written")->required();
  CLI11_PARSE(app, argc, argv);
  const assay::Status status = assay::write(checkpoint, folder);
  if (status) return 0;
  fmt::print(stderr, "{}\n", assay::to_string(status.error()));
  return 1;
}
