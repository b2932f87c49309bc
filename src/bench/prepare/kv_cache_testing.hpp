// SPDX-License-Identifier: Apache-2.0
#pragma once

/// For tests that compare graphs with other KV caches with the graph with a growing cache, on real runtimes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/registry.hpp"
#include "bench/prepare/generation.hpp"
#include "bench/prepare/kv_cache.hpp"
#include "bench/rate/places_for_test.hpp"
#include "bench/worker/forced_at_once.hpp"
#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/onnx/inspect.hpp"

namespace assay::testing {
namespace fs = std::filesystem;

inline constexpr std::uint64_t kSeed = 3;
inline constexpr std::int64_t kBatch = 2, kPrompt = 7, kOutput = 12;
inline constexpr std::array<std::size_t, 4> kRuns{0, kPaddedSet, 2, 0};
/// Time limit of any response: a slow machine is not a fault of the engine.
inline constexpr std::chrono::minutes kPatience{4};

/// Workers of this machine's engines, one each, and what they compute.
class Bench {
 public:
  Bench() { registry_.emplace(testing::built_places()); }

  [[nodiscard]] const EngineRegistry& registry() const { return *registry_; }
  /// Why the engine cannot run; empty: it can.
  [[nodiscard]] std::string missing(const std::string& engine) const {
    const auto found = registry_->locate(engine);
    return found ? std::string() : to_string(found.error());
  }

  /// Logits of four runs on three input sets, of which kPaddedSet has padding: a later one finds what the earlier ones
  /// left.
  std::vector<Tensor> run(const std::string& engine, const fs::path& model, const std::vector<InputRecipe>& inputs,
                          Generation generation, const EngineOptions& options, const fs::path& step_model = {}) {
    generation.output_tokens = kOutput;
    if (generation.prompt_tokens == 0) generation.prompt_tokens = kPrompt;
    std::vector<Tensor> logits;
    // The graph without optimisation is a reference, which runs forced tokens at once.
    const bool reference = !options.empty();
    std::unique_ptr<Worker>& worker = workers_[{engine, reference}];
    if (!worker) {
      Worker::StartOptions start;
      start.executable = registry_->places().worker;
      if (reference) start.environment.emplace_back(kForcedAtOnce, "1");
      worker = Worker::start(registry_->locate(engine).value(), std::move(start)).value();
    }
    LoadRequest load;
    load.model = model;
    load.step_model = step_model;
    load.precision = "float32";
    load.threads = 1;
    load.options = options;
    const auto loaded = worker->load(load, kPatience);
    EXPECT_TRUE(loaded) << to_string(loaded.error());
    if (!loaded) return logits;
    const auto bound = worker->bind({inputs, kSeed, 3, 1, generation}, kPatience);
    EXPECT_TRUE(bound) << to_string(bound.error());
    for (const std::size_t set : kRuns) {
      if (!bound) break;
      const fs::path outputs = folder.path() / "outputs.safetensors";
      const auto ran = worker->infer({set, outputs}, kPatience);
      EXPECT_TRUE(ran) << to_string(ran.error());
      if (!ran) break;
      logits.push_back(Tensor::copy_of(SafetensorsFile::open(outputs).value().tensor("logits").value()).value());
    }
    return logits;
  }

  TemporaryDirectory folder = TemporaryDirectory::create("assay-kv-cache-test-").value();

 private:
  std::optional<EngineRegistry> registry_;
  std::map<std::pair<std::string, bool>, std::unique_ptr<Worker>> workers_;
};

/// A limit of rounding errors: of all logits of a run, as a share of the largest.
inline void expect_equal(const Tensor& expected, const Tensor& computed) {
  ASSERT_EQ(computed.shape(), expected.shape());
  ASSERT_EQ(expected.shape()[1], std::ssize(compared_tokens(kOutput)));
  const auto width = expected.shape()[2];
  const auto wanted = expected.as<float>(), found = computed.as<float>();
  double worst = 0, largest = 0;
  for (std::int64_t row = 0; row < std::ssize(wanted); row += width) {
    for (std::int64_t i = row; i < row + width; ++i) {
      const double difference = std::abs(static_cast<double>(wanted[i]) - found[i]);
      if (!(difference <= worst)) worst = difference;
      largest = std::max(largest, std::abs(static_cast<double>(wanted[i])));
    }
    const auto best = [&](const auto& all) {
      return std::max_element(all.begin() + row, all.begin() + row + width) - all.begin() - row;
    };
    EXPECT_EQ(best(found), best(wanted)) << "the same token, in row " << row / width;
  }
  EXPECT_LE(worst, 2e-5 * std::max(1.0, largest));
  EXPECT_GT(largest, 1e-3) << "the logits are not constant";
}

/// One model with a growing cache, as the reference of a row: on ONNX Runtime without optimisation.
struct Growing {
  zoo::BuildRequest request;
  GenerationGraphs graphs;
  std::vector<InputRecipe> prompt;
  std::vector<Tensor> logits;

  static Growing make(Bench& bench, const Json& config, const std::string& model_class = {}) {
    Growing made;
    made.request.config = config;
    made.request.model_class = model_class;
    made.graphs = build_generation(made.request, bench.folder.path()).value().value();
    const ModelInfo info = inspect_model(made.graphs.prompt.path).value();
    const InputAxes axes{.batch = kBatch, .sequence = kPrompt, .cache = bench.folder.path()};
    made.prompt = prompt_inputs(info, axes).value().recipes;
    made.graphs.generation.prompt_tokens = made.graphs.prompt_tokens(info, kPrompt);
    made.logits = bench.run(kReferenceEngine, info.path, made.prompt, made.graphs.generation,
                            {{"graph_optimization", "none"}}, made.graphs.step ? made.graphs.step->path : fs::path());
    return made;
  }
};

/// The generation of a graph with another cache, with the lengths of these tests.
inline Generation with_lengths(const Growing& growing, const CacheGraph& graph) {
  Generation generation = graph.generation;
  generation.prompt_tokens = growing.graphs.generation.prompt_tokens;
  if (!generation.states.empty()) generation.cache_tokens = generation.prompt_tokens + kOutput - 1;
  return generation;
}

/// `files`: of the prompt and of the steps; none: those of `graph`.
inline void expect_as_growing(Bench& bench, Growing& growing, const CacheGraph& graph, const std::string& engine,
                              std::pair<fs::path, fs::path> files = {}) {
  const Generation generation = with_lengths(growing, graph);
  if (files.first.empty()) files.first = graph.prompt ? graph.prompt->path : graph.model.path;
  if (files.second.empty() && graph.prompt) files.second = graph.model.path;
  const std::vector<Tensor> computed = bench.run(
      engine, files.first, graph.prompt ? growing.prompt : cache_graph_inputs(graph.info, generation, growing.prompt),
      generation, {}, files.second);
  ASSERT_EQ(growing.logits.size(), kRuns.size());
  ASSERT_EQ(computed.size(), kRuns.size());
  for (std::size_t run = 0; run < kRuns.size(); ++run)
    if (kRuns[run] != kPaddedSet || generation.takes_padding()) expect_equal(growing.logits[run], computed[run]);
  EXPECT_NE(growing.logits[0].as<float>()[0], growing.logits[2].as<float>()[0]) << "the sets differ";
}

/// A decoder whose caches the tests compare.
struct Case {
  const char* name;  ///< the test's name
  const char* config;
  bool placed_outside = false;  ///< rotary embeddings or positions are not the operator's
};

inline constexpr Case kLlama{"llama", R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"vocab_size":97,
  "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "max_position_embeddings":64,"rope_theta":10000.0,"rms_norm_eps":1e-5,"hidden_act":"silu",
  "tie_word_embeddings":false})"};
// Heads of 8: the operator attends, but does not turn.
inline constexpr Case kNarrowLlama{"narrow_llama", R"({"model_type":"llama","architectures":["LlamaForCausalLM"],
  "vocab_size":97,"hidden_size":32,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,
  "num_key_value_heads":1,"max_position_embeddings":64})",
                                   true};
inline constexpr Case kScaledLlama{"scaled_llama", R"({"model_type":"llama","architectures":["LlamaForCausalLM"],
  "vocab_size":97,"hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,
  "num_key_value_heads":2,"max_position_embeddings":64,"rope_theta":500.0,"rope_scaling":{"rope_type":"llama3",
  "factor":4.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":16}})"};
inline constexpr Case kMistral{"mistral",
                               R"({"model_type":"mistral","architectures":["MistralForCausalLM"],"vocab_size":97,
  "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "max_position_embeddings":64,"sliding_window":4})"};
inline constexpr Case kQwen2{"qwen2", R"({"model_type":"qwen2","architectures":["Qwen2ForCausalLM"],"vocab_size":97,
  "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "max_position_embeddings":64,"tie_word_embeddings":true})"};
inline constexpr Case kQwen3{"qwen3", R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"vocab_size":97,
  "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "head_dim":32,"max_position_embeddings":64})"};

inline constexpr Case kGpt2{"gpt2",
                            R"({"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"vocab_size":97,"n_embd":64,
  "n_layer":2,"n_head":4,"n_positions":64,"n_ctx":64})",
                            true};

inline constexpr std::array kDecoders{kLlama, kNarrowLlama, kScaledLlama, kMistral, kQwen2, kQwen3, kGpt2};

}  // namespace assay::testing
