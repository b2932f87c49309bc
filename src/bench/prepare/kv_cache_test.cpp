// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/kv_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/prepare/generation.hpp"
#include "bench/prepare/kv_cache_testing.hpp"
#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/builder/graph_builder.hpp"

namespace assay {
namespace {
using namespace testing;
using ::testing::HasSubstr;

constexpr std::array<std::int64_t, kBatch> kLengths{4, 6};  ///< two prompts that are not equally long

Stateful stateful_with(const Bench& bench) {
  Stateful with;
  with.engine = "openvino";
  with.program = fs::path(ASSAY_BINARY_DIR) / "bin/assay-openvino-stateful";
  with.runtime = bench.registry().locate("openvino").value();
  return with;
}

// Makes an input of a file.
void take_from_file(InputRecipe& input, const Tensor& tensor, const fs::path& folder) {
  input.fill = Fill::kFile;
  input.shape = tensor.shape();
  input.file = folder / (input.name + ".safetensors");
  const NamedView named{input.name, tensor.view()};
  EXPECT_TRUE(write_safetensors(input.file, std::span(&named, 1), {}, Persistence::kScratch));
}

// The reference's logits of each sequence without padding: element n is a run on the first kLengths[n] tokens of all
// prompts, of which row n is that of the sequence.
std::vector<Tensor> run_each_alone(Bench& bench, const Growing& growing) {
  std::vector<Tensor> alone;
  for (const std::int64_t length : kLengths) {
    std::vector<InputRecipe> inputs = growing.prompt;
    for (InputRecipe& input : inputs) {
      if (input.shape != Shape{kBatch, kPrompt}) continue;
      const Tensor whole = make_input(input, kSeed, 0).value();  // no padding in set 0
      Tensor cut = Tensor::create(DType::kInt64, {kBatch, length}).value();
      for (std::int64_t row = 0; row < kBatch; ++row)
        for (std::int64_t i = 0; i < length; ++i)
          cut.as<std::int64_t>()[static_cast<std::size_t>(row * length + i)] =
              whole.as<std::int64_t>()[static_cast<std::size_t>(row * kPrompt + i)];
      take_from_file(input, cut, bench.folder.path());
    }
    Generation generation = growing.graphs.generation;
    generation.prompt_tokens = length;
    std::vector<Tensor> logits =
        bench.run("onnxruntime", growing.graphs.prompt.path, inputs, generation, {{"graph_optimization", "none"}});
    if (logits.empty()) return {};
    alone.push_back(std::move(logits.front()));
  }
  return alone;
}

// The largest difference of the logits after further tokens, as a share of the largest logit. The logits after a padded
// prompt belong to padding.
double difference_from_alone(const std::vector<Tensor>& alone, const Tensor& computed) {
  const auto width = static_cast<std::size_t>(computed.shape()[2]);
  const auto places = static_cast<std::size_t>(computed.shape()[1]);
  double worst = 0, largest = 0;
  for (std::size_t row = 0; row < alone.size(); ++row) {
    for (std::size_t i = (row * places + 1) * width; i < (row + 1) * places * width; ++i) {
      const double wanted = alone[row].as<float>()[i];
      EXPECT_TRUE(std::isfinite(computed.as<float>()[i]));
      worst = std::max(worst, std::abs(wanted - computed.as<float>()[i]));
      largest = std::max(largest, std::abs(wanted));
    }
  }
  return worst / largest;
}

class KvCacheOn : public ::testing::TestWithParam<Case> {
 protected:
  void compare(KvCache kind, const std::string& engine) {
    for (const std::string& needed : {std::string("onnxruntime"), engine})
      if (const std::string why = bench_.missing(needed); !why.empty()) GTEST_SKIP() << why;
    Growing growing = Growing::make(bench_, Json::parse(GetParam().config));
    const auto graph = build_cache_graph(growing.request, kind, bench_.folder.path() / "cache.onnx");
    ASSERT_TRUE(graph) << to_string(graph.error());
    EXPECT_EQ(growing.request.kv_cache, KvCache::kGrowing) << "left as it was";
    EXPECT_EQ(graph->model.kv_cache, kind);
    EXPECT_NE(graph->model.config_hash, growing.graphs.prompt.config_hash);
    EXPECT_EQ(graph->model.weights_hash, growing.graphs.prompt.weights_hash);
    expect_as_growing(bench_, growing, *graph, engine);
  }

  Bench bench_;
};

TEST_P(KvCacheOn, RuntimeComputesWhatGrowingComputes) { compare(KvCache::kRuntime, "onnxruntime"); }
// Assay's own sets have no such prompts (docs/metrics.md, "Generative models"); this is what the graph can take.
TEST_P(KvCacheOn, RuntimeContinuesPromptsOfUnequalLengthsAsIfEachWereAlone) {
  if (const std::string why = bench_.missing("onnxruntime"); !why.empty()) GTEST_SKIP() << why;
  Growing growing = Growing::make(bench_, Json::parse(GetParam().config));
  const auto graph = build_cache_graph(growing.request, KvCache::kRuntime, bench_.folder.path() / "cache.onnx");
  ASSERT_TRUE(graph) << to_string(graph.error());
  const std::vector<Tensor> alone = run_each_alone(bench_, growing);
  ASSERT_EQ(alone.size(), kLengths.size());
  Generation generation = graph->generation;
  generation.cache_tokens = kPrompt + kOutput - 1;
  std::vector<InputRecipe> inputs = cache_graph_inputs(graph->info, generation, growing.prompt);
  const auto mask = std::ranges::find(inputs, Fill::kPaddingMask, &InputRecipe::fill);
  ASSERT_NE(mask, inputs.end());
  const auto difference = [&](const std::array<std::int64_t, kBatch>& lengths) {
    Tensor of_lengths = Tensor::create(DType::kInt64, {kBatch, kPrompt}).value();
    for (std::size_t i = 0; i < kBatch * kPrompt; ++i)
      of_lengths.as<std::int64_t>()[i] = static_cast<std::int64_t>(i % kPrompt) < lengths[i / kPrompt] ? 1 : 0;
    take_from_file(*mask, of_lengths, bench_.folder.path());
    const std::vector<Tensor> computed = bench_.run("onnxruntime", graph->model.path, inputs, generation, {});
    EXPECT_EQ(computed.size(), kRuns.size());
    // The last run finds what the earlier ones left.
    return computed.empty() ? 0.0 : difference_from_alone(alone, computed.back());
  };
  if (GetParam().placed_outside)
    EXPECT_GT(difference(kLengths), 1e-2) << "now as if alone: say so in docs/metrics.md";
  else
    EXPECT_LE(difference(kLengths), 2e-5);
  EXPECT_GT(difference({kPrompt, kPrompt}), 1e-2) << "no lengths";
  EXPECT_GT(difference({kLengths[1], kLengths[0]}), 1e-2) << "each other's lengths";
  EXPECT_GT(difference({kLengths[1], kLengths[1]}), 1e-2) << "one length for all";
}
TEST_P(KvCacheOn, StatefulComputesWhatGrowingComputes) {
  for (const char* needed : {"onnxruntime", "openvino"})
    if (const std::string why = bench_.missing(needed); !why.empty()) GTEST_SKIP() << why;
  Growing growing = Growing::make(bench_, Json::parse(GetParam().config));
  const auto graph = make_stateful(growing.graphs, stateful_with(bench_), bench_.folder.path() / "stateful.xml");
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ(graph->model.kv_cache, KvCache::kRuntime);
  EXPECT_EQ(graph->model.path.extension(), ".xml");
  EXPECT_THAT(graph->generation.states, ::testing::IsEmpty());
  EXPECT_EQ(graph->note, "") << "each attention is one operator with its cache";
  EXPECT_GT(fs::file_size(fs::path(graph->model.path).replace_extension(".bin")),
            growing.graphs.step_info.weight_bytes / 2);
  expect_as_growing(bench_, growing, *graph, "openvino");
}
INSTANTIATE_TEST_SUITE_P(Decoders, KvCacheOn, ::testing::ValuesIn(kDecoders),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(KvCache, OfEveryGoldenThatBeginsWithAnEmptyPastAgreesWithGrowing) {
  const char* goldens = std::getenv("ASSAY_GOLDENS_DIR");
  if (goldens == nullptr) GTEST_SKIP() << "ASSAY_GOLDENS_DIR names no goldens";
  Bench bench;
  if (const std::string why = bench.missing("onnxruntime"); !why.empty()) GTEST_SKIP() << why;
  const bool openvino = bench.missing("openvino").empty();
  int runtime = 0, fixed_length = 0, stateful = 0;
  std::map<std::string, std::string> not_fused;
  for (const auto& folder : fs::directory_iterator(goldens)) {
    const auto config = read_json(folder.path() / "config.json"), meta = read_json(folder.path() / "meta.json");
    if (!config || !meta) continue;
    const std::string model_class = meta->value("class", "");
    const auto generates = zoo::generates(*config, model_class);
    if (!generates || *generates != zoo::Generates::kFromEmptyPast) continue;
    SCOPED_TRACE(folder.path().filename().string());
    zoo::BuildRequest request;
    request.config = *config;
    request.model_class = model_class;
    std::optional<Growing> growing;
    for (const KvCache kind : {KvCache::kRuntime, KvCache::kStatic}) {
      const auto graph = build_cache_graph(request, kind, bench.folder.path() / "cache.onnx");
      if (!graph) {
        EXPECT_EQ(graph.error().code, ErrorCode::kUnsupported) << to_string(graph.error());
        continue;
      }
      if (!growing) growing = Growing::make(bench, *config, model_class);
      expect_as_growing(bench, *growing, *graph, "onnxruntime");
      ++(kind == KvCache::kRuntime ? runtime : fixed_length);
    }
    if (!openvino) continue;
    if (!growing) growing = Growing::make(bench, *config, model_class);
    const auto graph = make_stateful(growing->graphs, stateful_with(bench), bench.folder.path() / "stateful.xml");
    ASSERT_TRUE(graph) << to_string(graph.error());
    expect_as_growing(bench, *growing, *graph, "openvino");
    if (!graph->note.empty()) not_fused[folder.path().filename()] = graph->note;
    ++stateful;
  }
  EXPECT_GT(runtime, 0);
  EXPECT_GE(fixed_length, runtime);
  RecordProperty("runtime", runtime);
  RecordProperty("fixed_length", fixed_length);
  EXPECT_EQ(stateful > 0, openvino);
  // Its scores pass a tanh, which OpenVINO's operator does not have.
  EXPECT_THAT(not_fused, ::testing::UnorderedElementsAre(
                             ::testing::Pair("gemma2", "openvino fuses 0 of 2 attentions with their caches")));
  RecordProperty("stateful", stateful);
}

TEST(KvCache, OpenVinosIsRefusedIfItsProgramDoesNotRun) {
  Bench bench;
  if (const std::string why = bench.missing("openvino"); !why.empty()) GTEST_SKIP() << why;
  GenerationGraphs graphs;
  graphs.generation.states.push_back({"present", "past", "present"});
  const auto refusal = [&](const Stateful& with) {
    const auto graph = make_stateful(graphs, with, bench.folder.path() / "stateful.xml");
    EXPECT_FALSE(graph);
    return graph ? Error{} : graph.error();
  };
  Stateful with = stateful_with(bench);
  with.runtime.home = bench.folder.path();  // no library of that release
  EXPECT_EQ(refusal(with).code, ErrorCode::kUnsupported);
  EXPECT_THAT(refusal(with).message,
              ::testing::AllOf(HasSubstr("libopenvino.so"), HasSubstr("stateful model for openvino is")));
  with.program = bench.folder.path() / "absent";
  EXPECT_EQ(refusal(with).code, ErrorCode::kUnsupported);
  with = stateful_with(bench);
  graphs.prompt.path = bench.folder.path() / "absent.onnx";
  EXPECT_THAT(refusal(with).message, HasSubstr("absent.onnx"));
  with.cancelled = [] { return true; };
  EXPECT_EQ(refusal(with).code, ErrorCode::kCancelled);
  graphs.step.emplace();
  EXPECT_THAT(refusal(with).message, HasSubstr("unsupported: kv_cache = runtime"));
}

TEST(KvCache, AnAttentionWhoseCacheHasAnotherFormIsCountedAsNotFused) {
  Bench bench;
  if (const std::string why = bench.missing("openvino"); !why.empty()) GTEST_SKIP() << why;
  constexpr std::int64_t kWidth = 16;
  // One attention without heads: its caches have three axes.
  GraphBuilder graph("attention");
  const Value ids = graph.input("ids", DType::kInt64, {"batch", "sequence"});
  const std::vector<float> values(kWidth * kWidth, 0.5F);
  const Value table = graph.numbers(values, {kWidth, kWidth});
  const Value x = graph.node("", "Gather", {table, ids}, {}, DType::kFloat32);
  GenerationGraphs graphs;
  graphs.generation.tokens = "ids";
  std::vector<Value> caches;
  for (const std::string kind : {"keys", "values"}) {
    const Value past = graph.input("past_" + kind, DType::kFloat32, {"batch", "past", kWidth});
    caches.push_back(graph.node("/" + kind, "Concat", {past, x}, {{"axis", std::int64_t{1}}}));
    graph.output("present_" + kind, caches.back(), {"batch", "all", kWidth});
    graphs.generation.states.push_back({"present_" + kind, "past_" + kind, "present_" + kind});
  }
  const Value keys = graph.node("/attention", "Transpose", {caches[0]}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  const Value scores = graph.node("/attention/scores", "MatMul", {x, keys});
  const Value shares = graph.node("/attention", "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  graph.output("logits", graph.node("/attention", "MatMul", {shares, caches[1]}), {"batch", "sequence", kWidth});
  graphs.prompt.path = bench.folder.path() / "attention.onnx";
  ASSERT_TRUE(graph.write(graphs.prompt.path));
  const auto stateful = make_stateful(graphs, stateful_with(bench), bench.folder.path() / "stateful.xml");
  ASSERT_TRUE(stateful) << to_string(stateful.error());
  EXPECT_EQ(stateful->note, "openvino fuses 0 of 1 attentions with their caches");
}

TEST(KvCache, WhatTheConverterDoesNotCountIsUnknown) {
  const TemporaryDirectory folder = TemporaryDirectory::create("assay-kv-cache-test-").value();
  const fs::path program = folder.path() / "converter";
  const auto note = [&](const std::string& last_line) {
    EXPECT_TRUE(write_file_atomically(program, "#!/bin/sh\ntouch \"$2\"\necho '" + last_line + "'\n"));
    fs::permissions(program, fs::perms::owner_all);
    Stateful with;
    with.engine = "openvino";
    with.program = program;
    const auto graph = make_stateful(GenerationGraphs{}, with, folder.path() / "stateful.xml");
    EXPECT_TRUE(graph) << to_string(graph.error());
    return graph ? graph->note : std::string();
  };
  EXPECT_EQ(note("fused 2 of 2"), "");
  EXPECT_EQ(note("fused 1 of 2"), "openvino fuses 1 of 2 attentions with their caches");
  for (const char* uncounted : {"fused 0 of 0", "fused 3 of 2", "not counted: out of memory"})
    EXPECT_EQ(note(uncounted), "whether openvino fuses attention and cache is unknown") << uncounted;
}

TEST(KvCache, IsRefusedIfTheGraphOrTheAttentionDoesNotSupportIt) {
  const TemporaryDirectory folder = TemporaryDirectory::create("assay-kv-cache-test-").value();
  const auto refusal = [&](const char* golden, const Json& changes, KvCache kind) {
    zoo::BuildRequest request;
    request.config = read_json(fs::path(ASSAY_SOURCE_DIR) / "tests/goldens" / golden / "config.json").value();
    request.config.update(changes);
    const auto graph = build_cache_graph(request, kind, folder.path() / "cache.onnx");
    EXPECT_EQ(request.kv_cache, KvCache::kGrowing);
    EXPECT_EQ(request.part, zoo::Part::kWhole);
    return graph ? std::string() : to_string(graph.error());
  };
  EXPECT_THAT(refusal("t5", Json::object(), KvCache::kRuntime), HasSubstr("unsupported: kv_cache = runtime"));
  EXPECT_THAT(refusal("bert", Json::object(), KvCache::kStatic), HasSubstr("unsupported: kv_cache = static"));
  EXPECT_EQ(refusal("t5", Json::object(), KvCache::kStatic), "");
  EXPECT_THAT(refusal("llama", {{"head_dim", 4}}, KvCache::kRuntime), HasSubstr("a multiple of 8"));
  EXPECT_EQ(refusal("llama", {{"head_dim", 4}}, KvCache::kStatic), "");
}

}  // namespace
}  // namespace assay
