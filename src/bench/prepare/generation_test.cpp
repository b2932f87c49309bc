// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/generation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/engine/registry.hpp"
#include "bench/rate/places_for_test.hpp"
#include "bench/worker/forced_at_once.hpp"
#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace {
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 3;
constexpr std::int64_t kBatch = 2, kPrompt = 5;

/// The graphs that are timed against a whole forward pass over the same tokens, on a runtime.
class GenerationGraphsOn : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    registry_.emplace(testing::built_places());
    if (const auto found = registry_->locate("onnxruntime"); !found) GTEST_SKIP() << to_string(found.error());
  }

  Tensor run(const fs::path& model, const fs::path& step, const std::vector<InputRecipe>& inputs,
             const std::optional<Generation>& generation, bool at_once = false) {
    Worker::StartOptions start;
    if (at_once) start.environment.emplace_back(kForcedAtOnce, "1");
    start.executable = registry_->places().worker;
    const auto worker = Worker::start(registry_->locate("onnxruntime").value(), std::move(start)).value();
    LoadRequest load;
    load.model = model;
    load.step_model = step;
    load.threads = 1;
    const auto loaded = worker->load(load, 60s);
    if (!loaded) throw std::runtime_error(to_string(loaded.error()));
    const auto bound = worker->bind({inputs, kSeed, 1, 1, generation}, 60s);
    if (!bound) throw std::runtime_error(to_string(bound.error()));
    const fs::path outputs = folder_.path() / "outputs.safetensors";
    const auto ran = worker->infer({0, outputs}, 60s);
    if (!ran) throw std::runtime_error(to_string(ran.error()));
    return Tensor::copy_of(SafetensorsFile::open(outputs).value().tensor("logits").value()).value();
  }

  /// Ids as a file, for a recipe.
  InputRecipe given(const std::string& name, const Tensor& tensor) {
    const fs::path file = folder_.path() / (name + ".safetensors");
    const NamedView named{name, tensor.view()};
    EXPECT_TRUE(write_safetensors(file, std::span(&named, 1), {}, Persistence::kScratch));
    return {name, tensor.dtype(), tensor.shape(), Fill::kFile, 0, 1, file};
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-generation-test-").value();
  std::optional<EngineRegistry> registry_;
};

TEST_P(GenerationGraphsOn, ComputeWhatAWholePassComputes) {
  zoo::BuildRequest request;
  const fs::path golden = fs::path(ASSAY_SOURCE_DIR) / "tests/goldens" / GetParam();
  request.config = read_json(golden / "config.json").value();
  request.weights = golden;
  const auto graphs = build_generation(request, folder_.path());
  ASSERT_TRUE(graphs) << to_string(graphs.error());
  ASSERT_TRUE(graphs->has_value());
  const GenerationGraphs& built = **graphs;
  EXPECT_EQ(request.part, zoo::Part::kWhole) << "left as it was";

  const ModelInfo info = inspect_model(built.prompt.path).value();
  const std::vector<InputRecipe> prompt =
      prompt_inputs(info, {.batch = kBatch, .sequence = kPrompt, .cache = folder_.path()}).value().recipes;
  Generation generation = built.generation;
  // A random token may be that of an image, which a whole pass would replace.
  generation.output_tokens = info.image ? 5 : 32;
  generation.prompt_tokens = built.prompt_tokens(info, kPrompt);
  EXPECT_EQ(info.image.has_value(), std::string(GetParam()).starts_with("llava"));
  const Tensor forced = run(built.prompt.path, built.step ? built.step->path : fs::path(), prompt, generation);
  const std::vector<std::int64_t> compared = compared_tokens(generation.output_tokens);
  ASSERT_EQ(forced.shape()[1], std::ssize(compared));
  // As a reference runs them: several tokens at once, if one graph runs prompt and steps.
  const Tensor at_once =
      run(built.prompt.path, built.step ? built.step->path : fs::path(), prompt, generation, /*at_once=*/true);
  ASSERT_EQ(at_once.shape(), forced.shape());
  for (std::size_t i = 0; i < forced.as<float>().size(); ++i)
    ASSERT_NEAR(at_once.as<float>()[i], forced.as<float>()[i], 1e-4) << i;

  // The same tokens at once: those of the prompt and the teacher-forced ones.
  const std::int64_t width = forced.shape()[2], length = generation.prompt_tokens + compared.back();
  const auto ids = std::ranges::find(prompt, generation.tokens, &InputRecipe::name);
  ASSERT_NE(ids, prompt.end());
  const Tensor begun = make_input(*ids, kSeed, 0).value();
  Tensor all = Tensor::create(DType::kInt64, {kBatch, length}).value();
  const CounterRandom random(kSeed, "taught tokens");
  for (std::int64_t row = 0; row < kBatch; ++row)
    for (std::int64_t i = 0; i < length; ++i)
      all.as<std::int64_t>()[row * length + i] =
          i < generation.prompt_tokens
              ? begun.as<std::int64_t>()[row * generation.prompt_tokens + i]
              : random.integer(static_cast<std::uint64_t>((i - generation.prompt_tokens) * kBatch + row), 0, width - 1);
  const auto whole = zoo::build(request, folder_.path() / "whole.onnx");
  ASSERT_TRUE(whole) << to_string(whole.error());
  std::vector<InputRecipe> inputs;
  for (const InputRecipe& recipe : prompt) {
    if (recipe.name == generation.tokens) {
      inputs.push_back(given(recipe.name, all));
    } else if (std::ranges::count(whole->inputs, recipe.name) > 0) {
      inputs.push_back(recipe);
      if (recipe.name == generation.mask) inputs.back().shape = {kBatch, length};
    }
  }
  const Tensor logits = run(whole->path, {}, inputs, std::nullopt);
  ASSERT_EQ(logits.shape(), (Shape{kBatch, length, width}));
  double worst = 0, largest = 0;
  for (std::int64_t row = 0; row < kBatch; ++row)
    for (std::size_t i = 0; i < compared.size(); ++i)
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int64_t place = row * length + generation.prompt_tokens - 1 + compared[i];
        const double expected = logits.as<float>()[place * width + j];
        const double computed =
            forced.as<float>()[(row * std::ssize(compared) + static_cast<std::int64_t>(i)) * width + j];
        worst = std::max(worst, std::abs(expected - computed));
        largest = std::max(largest, std::abs(expected));
      }
  EXPECT_LE(worst, 1e-4 * std::max(1.0, largest));
  EXPECT_GT(largest, 1e-3) << "the logits are not constant";
}

INSTANTIATE_TEST_SUITE_P(OnnxRuntime, GenerationGraphsOn,
                         ::testing::Values("llama", "qwen2", "t5", "whisper", "llava", "llava_next"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(GenerationGraphs, DoNotExistForModelsThatDoNotGenerate) {
  const TemporaryDirectory folder = TemporaryDirectory::create("assay-generation-test-").value();
  for (const char* name : {"bert", "vit", "t5__encoder", "clip", "wav2vec2"}) {
    zoo::BuildRequest request;
    const fs::path golden = fs::path(ASSAY_SOURCE_DIR) / "tests/goldens" / name;
    request.config = read_json(golden / "config.json").value();
    request.model_class = read_json(golden / "meta.json").value().value("class", "");
    const auto graphs = build_generation(request, folder.path());
    ASSERT_TRUE(graphs) << name << ": " << to_string(graphs.error());
    EXPECT_FALSE(graphs->has_value()) << name;
  }
}

}  // namespace
}  // namespace assay
