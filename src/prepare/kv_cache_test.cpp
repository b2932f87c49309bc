// SPDX-License-Identifier: Apache-2.0
#include "prepare/kv_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/json.hpp"
#include "builder/graph_builder.hpp"
#include "engine/registry.hpp"
#include "graph/specialise.hpp"
#include "onnx/inspect.hpp"
#include "prepare/generation.hpp"
#include "prepare/places_for_test.hpp"
#include "tensor/safetensors.hpp"
#include "worker/forced_at_once.hpp"

namespace assay {
namespace {
using namespace std::chrono_literals;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 3;
constexpr std::int64_t kBatch = 2, kPrompt = 7, kOutput = 12;
constexpr std::array<std::int64_t, kBatch> kLengths{4, 6};  ///< of prompts that are not equally long
constexpr std::array<std::size_t, 4> kRuns{0, kPaddedSet, 2, 0};

/// Workers of this machine's engines, one each, and what they compute.
class Bench {
 public:
  Bench() { registry_.emplace(testing::built_places()); }

  [[nodiscard]] Stateful stateful() const {
    Stateful with;
    with.engine = "openvino";
    with.program = fs::path(ASSAY_BINARY_DIR) / "bin/assay-openvino-stateful";
    with.runtime = registry_->locate("openvino").value();
    return with;
  }
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
    const auto loaded = worker->load(load, 60s);
    EXPECT_TRUE(loaded) << to_string(loaded.error());
    if (!loaded) return logits;
    const auto bound = worker->bind({inputs, kSeed, 3, 1, generation}, 60s);
    EXPECT_TRUE(bound) << to_string(bound.error());
    for (const std::size_t set : kRuns) {
      if (!bound) break;
      const fs::path outputs = folder.path() / "outputs.safetensors";
      const auto ran = worker->infer({set, outputs}, 60s);
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

// A limit of rounding errors: of all logits of a run, as a share of the largest.
void expect_equal(const Tensor& expected, const Tensor& computed) {
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
    made.logits = bench.run("onnxruntime", info.path, made.prompt, made.graphs.generation,
                            {{"graph_optimization", "none"}}, made.graphs.step ? made.graphs.step->path : fs::path());
    return made;
  }
};

/// The generation of a graph with another cache, with the lengths of these tests.
Generation with_lengths(const Growing& growing, const CacheGraph& graph) {
  Generation generation = graph.generation;
  generation.prompt_tokens = growing.graphs.generation.prompt_tokens;
  if (!generation.states.empty()) generation.cache_tokens = generation.prompt_tokens + kOutput - 1;
  return generation;
}

/// `files`: of the prompt and of the steps; none: those of `graph`.
void expect_as_growing(Bench& bench, Growing& growing, const CacheGraph& graph, const std::string& engine,
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

struct Case {
  const char* name;  ///< of the test
  const char* config;
  bool placed_outside = false;  ///< rotary embeddings or positions are not the operator's
};

class KvCacheOn : public ::testing::TestWithParam<Case> {
 protected:
  void compare(zoo::KvCache kind, const std::string& engine) {
    for (const std::string& needed : {std::string("onnxruntime"), engine})
      if (const std::string why = bench_.missing(needed); !why.empty()) GTEST_SKIP() << why;
    Growing growing = Growing::make(bench_, Json::parse(GetParam().config));
    const auto graph = build_cache_graph(growing.request, kind, bench_.folder.path() / "cache.onnx");
    ASSERT_TRUE(graph) << to_string(graph.error());
    EXPECT_EQ(growing.request.kv_cache, zoo::KvCache::kGrowing) << "left as it was";
    EXPECT_EQ(graph->model.kv_cache, zoo::kv_cache_name(kind));
    EXPECT_NE(graph->model.config_hash, growing.graphs.prompt.config_hash);
    EXPECT_EQ(graph->model.weights_hash, growing.graphs.prompt.weights_hash);
    expect_as_growing(bench_, growing, *graph, engine);
  }

  Bench bench_;
};

constexpr Case kLlama{"llama", R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"vocab_size":97,
  "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "max_position_embeddings":64,"rope_theta":10000.0,"rms_norm_eps":1e-5,"hidden_act":"silu",
  "tie_word_embeddings":false})"};
// Heads of 8: the operator attends, but does not turn.
constexpr Case kNarrowLlama{"narrow_llama", R"({"model_type":"llama","architectures":["LlamaForCausalLM"],
  "vocab_size":97,"hidden_size":32,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,
  "num_key_value_heads":1,"max_position_embeddings":64})",
                            true};
constexpr Case kScaledLlama{"scaled_llama", R"({"model_type":"llama","architectures":["LlamaForCausalLM"],
  "vocab_size":97,"hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,
  "num_key_value_heads":2,"max_position_embeddings":64,"rope_theta":500.0,"rope_scaling":{"rope_type":"llama3",
  "factor":4.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":16}})"};
constexpr Case kMistral{"mistral", R"({"model_type":"mistral","architectures":["MistralForCausalLM"],"vocab_size":97,
  "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "max_position_embeddings":64,"sliding_window":4})"};
constexpr Case kQwen2{"qwen2", R"({"model_type":"qwen2","architectures":["Qwen2ForCausalLM"],"vocab_size":97,
  "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "max_position_embeddings":64,"tie_word_embeddings":true})"};
constexpr Case kQwen3{"qwen3", R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"vocab_size":97,
  "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "head_dim":32,"max_position_embeddings":64})"};

constexpr Case kGpt2{"gpt2", R"({"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"vocab_size":97,"n_embd":64,
  "n_layer":2,"n_head":4,"n_positions":64,"n_ctx":64})",
                     true};

TEST_P(KvCacheOn, RuntimeComputesWhatGrowingComputes) { compare(zoo::KvCache::kRuntime, "onnxruntime"); }
// Assay's own sets have no such prompts (docs/metrics.md, "Generative models"); this is what the graph can take.
TEST_P(KvCacheOn, RuntimeContinuesPromptsOfUnequalLengthsAsIfEachWereAlone) {
  if (const std::string why = bench_.missing("onnxruntime"); !why.empty()) GTEST_SKIP() << why;
  Growing growing = Growing::make(bench_, Json::parse(GetParam().config));
  const auto graph = build_cache_graph(growing.request, zoo::KvCache::kRuntime, bench_.folder.path() / "cache.onnx");
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
TEST_P(KvCacheOn, StaticComputesWhatGrowingComputes) { compare(zoo::KvCache::kStatic, "onnxruntime"); }
TEST_P(KvCacheOn, StatefulComputesWhatGrowingComputes) {
  for (const char* needed : {"onnxruntime", "openvino"})
    if (const std::string why = bench_.missing(needed); !why.empty()) GTEST_SKIP() << why;
  Growing growing = Growing::make(bench_, Json::parse(GetParam().config));
  const auto graph = make_stateful(growing.graphs, bench_.stateful(), bench_.folder.path() / "stateful.xml");
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ(graph->model.kv_cache, "runtime");
  EXPECT_EQ(graph->model.path.extension(), ".xml");
  EXPECT_THAT(graph->generation.states, ::testing::IsEmpty());
  EXPECT_EQ(graph->note, "") << "each attention is one operator with its cache";
  EXPECT_GT(fs::file_size(fs::path(graph->model.path).replace_extension(".bin")),
            growing.graphs.step_info.weight_bytes / 2);
  expect_as_growing(bench_, growing, *graph, "openvino");
}
TEST_P(KvCacheOn, StaticComputesTheSameInTwoStaticShapes) { compare(zoo::KvCache::kStatic, "openvino"); }
TEST_P(KvCacheOn, StaticComputesTheSameInAFileForThePromptAndOneForTheSteps) {
  if (const std::string why = bench_.missing("onnxruntime"); !why.empty()) GTEST_SKIP() << why;
  Growing growing = Growing::make(bench_, Json::parse(GetParam().config));
  const auto graph =
      build_cache_graph(growing.request, zoo::KvCache::kStatic, bench_.folder.path() / "cache.onnx").value();
  const auto at = [&](std::int64_t tokens) {
    const auto shapes = cache_graph_shapes(graph.info, with_lengths(growing, graph),
                                           inspect_model(growing.graphs.prompt.path).value(), growing.prompt, tokens);
    EXPECT_TRUE(shapes) << to_string(shapes.error());
    const fs::path file = bench_.folder.path() / (std::to_string(tokens) + ".onnx");
    const auto written = specialise(graph.model.path, {.shapes = shapes.value()}, file);
    EXPECT_TRUE(written) << to_string(written.error());
    EXPECT_THAT(written->dynamic, ::testing::IsEmpty());
    return file;
  };
  expect_as_growing(bench_, growing, graph, "onnxruntime", {at(kPrompt), at(1)});
}

INSTANTIATE_TEST_SUITE_P(Decoders, KvCacheOn,
                         ::testing::Values(kLlama, kNarrowLlama, kScaledLlama, kMistral, kQwen2, kQwen3, kGpt2),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(KvCache, StaticOfEveryGoldenWhosePromptHasItsOwnGraphAgreesWithGrowing) {
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
    const auto graph = build_cache_graph(request, zoo::KvCache::kStatic, bench.folder.path() / "cache.onnx");
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
    for (const zoo::KvCache kind : {zoo::KvCache::kRuntime, zoo::KvCache::kStatic}) {
      const auto graph = build_cache_graph(request, kind, bench.folder.path() / "cache.onnx");
      if (!graph) {
        EXPECT_EQ(graph.error().code, ErrorCode::kUnsupported) << to_string(graph.error());
        continue;
      }
      if (!growing) growing = Growing::make(bench, *config, model_class);
      expect_as_growing(bench, *growing, *graph, "onnxruntime");
      ++(kind == zoo::KvCache::kRuntime ? runtime : fixed_length);
    }
    if (!openvino) continue;
    if (!growing) growing = Growing::make(bench, *config, model_class);
    const auto graph = make_stateful(growing->graphs, bench.stateful(), bench.folder.path() / "stateful.xml");
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
  Stateful with = bench.stateful();
  with.runtime.home = bench.folder.path();  // no library of that release
  EXPECT_EQ(refusal(with).code, ErrorCode::kUnsupported);
  EXPECT_THAT(refusal(with).message,
              ::testing::AllOf(HasSubstr("libopenvino.so"), HasSubstr("stateful model for openvino is")));
  with.program = bench.folder.path() / "absent";
  EXPECT_EQ(refusal(with).code, ErrorCode::kUnsupported);
  with = bench.stateful();
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
  const auto stateful = make_stateful(graphs, bench.stateful(), bench.folder.path() / "stateful.xml");
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
  const auto refusal = [&](const char* golden, const Json& changes, zoo::KvCache kind) {
    zoo::BuildRequest request;
    request.config = read_json(fs::path(ASSAY_SOURCE_DIR) / "tests/goldens" / golden / "config.json").value();
    request.config.update(changes);
    const auto graph = build_cache_graph(request, kind, folder.path() / "cache.onnx");
    EXPECT_EQ(request.kv_cache, zoo::KvCache::kGrowing);
    EXPECT_EQ(request.part, zoo::Part::kWhole);
    return graph ? std::string() : to_string(graph.error());
  };
  EXPECT_THAT(refusal("t5", Json::object(), zoo::KvCache::kRuntime), HasSubstr("unsupported: kv_cache = runtime"));
  EXPECT_THAT(refusal("bert", Json::object(), zoo::KvCache::kStatic), HasSubstr("unsupported: kv_cache = static"));
  EXPECT_EQ(refusal("t5", Json::object(), zoo::KvCache::kStatic), "");
  EXPECT_THAT(refusal("llama", {{"head_dim", 4}}, zoo::KvCache::kRuntime), HasSubstr("a multiple of 8"));
  EXPECT_EQ(refusal("llama", {{"head_dim", 4}}, zoo::KvCache::kStatic), "");
}

}  // namespace
}  // namespace assay
