// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/prepare/kv_cache.hpp"
#include "bench/prepare/kv_cache_testing.hpp"
#include "core/base/json.hpp"
#include "core/traits/engine_entry.hpp"
#include "models/graph/specialise.hpp"
#include "models/lower/program.hpp"
#include "models/onnx/inspect.hpp"

/// Generation with a static KV cache, on every engine that runs it.
namespace assay {
namespace {
using namespace testing;

/// How an engine gets a model: with open extents in one graph, or in two files with the extents of the prompt and of a
/// step, lowered if the engine reads no ONNX.
struct Delivery {
  std::string engine;
  bool fixed = false;
};

std::vector<Delivery> deliveries() {
  const EngineRegistry registry(built_places());
  std::vector<Delivery> all;
  for (const EngineEntry& engine : registry.entries()) {
    if (!engine.built || !engine.needs_model || std::ranges::find(engine.kv_cache, "static") == engine.kv_cache.end())
      continue;
    if (!engine.fixes_shapes_of("onnx")) all.push_back({engine.name, false});
    all.push_back({engine.name, true});
  }
  return all;
}

// Writes `model` with these extents to `folder`, in the format that the engine gets.
fs::path with_extents(const fs::path& model, const std::map<std::string, Shape>& shapes, const EngineEntry& engine,
                      const fs::path& folder) {
  static int number = 0;
  const auto dialect = lowering::dialect_from(engine.lowered_to);
  const fs::path file = folder / (std::to_string(++number) + "." + (dialect ? engine.lowered_to : "onnx"));
  if (dialect) {
    const auto opened = StaticModel::open(model);
    EXPECT_TRUE(opened) << to_string(opened.error());
    const Status lowered = lowering::lower_to_file(opened.value(), {.shapes = shapes}, *dialect, file);
    EXPECT_TRUE(lowered) << to_string(lowered.error());
  } else {
    const auto written = specialise(model, {.shapes = shapes}, file);
    EXPECT_TRUE(written) << to_string(written.error());
    EXPECT_THAT(written->dynamic, ::testing::IsEmpty());
  }
  return file;
}

// The files of the prompt and of the steps.
std::pair<fs::path, fs::path> two_files(const Growing& growing, const CacheGraph& graph, const EngineEntry& engine,
                                        const fs::path& folder) {
  const Generation generation = with_lengths(growing, graph);
  const ModelInfo prompt = inspect_model(growing.graphs.prompt.path).value();
  const auto of_tokens = [&](std::int64_t tokens) {
    const auto shapes = cache_graph_shapes(graph.info, generation, prompt, growing.prompt, tokens);
    EXPECT_TRUE(shapes) << to_string(shapes.error());
    return with_extents(graph.model.path, shapes.value(), engine, folder);
  };
  if (!graph.prompt) return {of_tokens(generation.prompt_tokens), of_tokens(1)};
  std::map<std::string, Shape> shapes;
  for (const InputRecipe& input : growing.prompt) shapes[input.name] = input.shape;
  return {with_extents(graph.prompt->path, shapes, engine, folder), of_tokens(1)};
}

std::string name_of(const std::string& model, const Delivery& delivery) {
  return model + "_" + delivery.engine + (delivery.fixed ? "_fixed" : "");
}

// Logits of several tokens after the prompt, on four input sets one after the other, equal those of the growing cache.
void compare(Bench& bench, const Json& config, const std::string& model_class, const Delivery& delivery) {
  Growing growing = Growing::make(bench, config, model_class);
  const fs::path& folder = bench.folder.path();
  const auto graph = build_cache_graph(growing.request, KvCache::kStatic, folder / "cache.onnx");
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ(growing.request.kv_cache, KvCache::kGrowing) << "left as it was";
  EXPECT_EQ(graph->model.kv_cache, KvCache::kStatic);
  EXPECT_NE(graph->model.config_hash, growing.graphs.prompt.config_hash);
  EXPECT_EQ(graph->model.weights_hash, growing.graphs.prompt.weights_hash);
  const EngineEntry& engine = *bench.registry().entry(delivery.engine);
  expect_as_growing(bench, growing, *graph, delivery.engine,
                    delivery.fixed ? two_files(growing, *graph, engine, folder) : std::pair<fs::path, fs::path>());
}

class StaticCacheOfDecoders : public ::testing::TestWithParam<std::tuple<Case, Delivery>> {};

TEST_P(StaticCacheOfDecoders, ComputesWhatGrowingComputes) {
  const auto& [model, delivery] = GetParam();
  Bench bench;
  for (const std::string& needed : {std::string("onnxruntime"), delivery.engine})
    if (const std::string why = bench.missing(needed); !why.empty()) GTEST_SKIP() << why;
  compare(bench, Json::parse(model.config), {}, delivery);
}

INSTANTIATE_TEST_SUITE_P(Engines, StaticCacheOfDecoders,
                         ::testing::Combine(::testing::ValuesIn(kDecoders), ::testing::ValuesIn(deliveries())),
                         [](const auto& tested) {
                           return name_of(std::get<0>(tested.param).name, std::get<1>(tested.param));
                         });

/// Models whose prompt has a graph of its own, of tests/goldens.
class StaticCacheOfEncoders : public ::testing::TestWithParam<std::tuple<std::string, Delivery>> {};

TEST_P(StaticCacheOfEncoders, ComputesWhatGrowingComputes) {
  const auto& [golden, delivery] = GetParam();
  Bench bench;
  for (const std::string& needed : {std::string("onnxruntime"), delivery.engine})
    if (const std::string why = bench.missing(needed); !why.empty()) GTEST_SKIP() << why;
  const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "tests/goldens" / golden;
  compare(bench, read_json(folder / "config.json").value(), read_json(folder / "meta.json").value().value("class", ""),
          delivery);
}

INSTANTIATE_TEST_SUITE_P(Engines, StaticCacheOfEncoders,
                         ::testing::Combine(::testing::Values("t5", "whisper", "llava"),
                                            ::testing::ValuesIn(deliveries())),
                         [](const auto& tested) {
                           return name_of(std::get<0>(tested.param), std::get<1>(tested.param));
                         });

TEST(StaticCache, OfEveryGoldenWhosePromptHasItsOwnGraphAgreesWithGrowing) {
  const char* goldens = std::getenv("ASSAY_GOLDENS_DIR");
  if (goldens == nullptr) GTEST_SKIP() << "ASSAY_GOLDENS_DIR names no goldens";
  Bench bench;
  if (const std::string why = bench.missing("onnxruntime"); !why.empty()) GTEST_SKIP() << why;
  std::vector<std::string> compared;
  for (const auto& folder : fs::directory_iterator(goldens)) {
    const auto config = read_json(folder.path() / "config.json"), meta = read_json(folder.path() / "meta.json");
    if (!config || !meta) continue;
    zoo::BuildRequest request;
    request.config = *config;
    request.model_class = meta->value("class", "");
    const auto generates = zoo::generates(*config, request.model_class);
    if (!generates || *generates != zoo::Generates::kAfterPrefill) continue;
    SCOPED_TRACE(folder.path().filename().string());
    const auto graph = build_cache_graph(request, KvCache::kStatic, bench.folder.path() / "cache.onnx");
    if (!graph) {
      EXPECT_EQ(graph.error().code, ErrorCode::kUnsupported) << to_string(graph.error());
      continue;
    }
    ASSERT_TRUE(graph->prompt);
    Growing growing = Growing::make(bench, *config, request.model_class);
    expect_as_growing(bench, growing, *graph, "onnxruntime");
    compared.push_back(folder.path().filename().string());
  }
  EXPECT_THAT(compared, ::testing::IsSupersetOf({"bart", "t5", "whisper"}));
}

}  // namespace
}  // namespace assay
