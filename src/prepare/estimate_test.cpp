// SPDX-License-Identifier: Apache-2.0
#include "prepare/estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/files.hpp"
#include "prepare/prepare.hpp"
#include "result/status.hpp"
#include "zoo/zoo.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;

constexpr double kGiga = 1e9;

ZooSource source_of(const std::string& name) { return zoo_source(zoo::find_known(name).value()); }

RunSettings settings_for(std::int64_t batch) {
  RunSettings settings;
  settings.batch_sizes = {batch};
  return settings;
}

TEST(Estimate, OfAForwardPassStandsOnItsFlops) {
  const MachineRate rate{kGiga, 1e6 * kGiga, "onnxruntime"};
  const ZooSource bert = source_of("prajjwal1/bert-tiny");
  const Estimate one = estimate(bert, settings_for(1), &rate).value();
  EXPECT_NEAR(static_cast<double>(one.weight_bytes), 4.0 * 4.4e6, 1e5);
  EXPECT_GT(one.activation_bytes, 0U);
  // Two layers of 128: 2 × 12 × 128² × 2 for each of 128 tokens, and the attention.
  EXPECT_GT(one.run_s, 2 * 12 * 128.0 * 128 * 2 * 128 / kGiga);
  EXPECT_LT(one.run_s, 3 * 12 * 128.0 * 128 * 2 * 128 / kGiga);
  const Estimate eight = estimate(bert, settings_for(8), &rate).value();
  EXPECT_NEAR(eight.run_s / one.run_s, 8, 0.1);
  EXPECT_EQ(eight.weight_bytes, one.weight_bytes);
  // Six runs to verify, one to warm up and three samples.
  EXPECT_NEAR(one.cell_s, 10 * one.run_s, 1e-9);
  RunSettings fixed = settings_for(1);
  fixed.verify = false;
  fixed.measure.warmup_iterations = 10;
  fixed.measure.iterations = 50;
  EXPECT_NEAR(estimate(bert, fixed, &rate)->cell_s, 60 * one.run_s, 1e-9);
  EXPECT_EQ(estimate(bert, settings_for(1), nullptr)->cell_s, 0) << "nothing tells the time";
}

TEST(Estimate, OfAGenerationReadsTheWeightsForEachToken) {
  const MachineRate rate{1e6 * kGiga, 10 * kGiga, "onnxruntime"};
  RunSettings settings = settings_for(1);
  settings.output_tokens = {32};
  const Estimate told = estimate(source_of("HuggingFaceTB/SmolLM-135M"), settings, &rate).value();
  const double read_s = static_cast<double>(told.weight_bytes) / (10 * kGiga);
  EXPECT_NEAR(told.run_s, 32 * read_s, 0.01 * told.run_s);
  EXPECT_NEAR(told.cell_s, (4 * 32 + 6 * 5) * read_s, 0.01 * told.cell_s);
  EXPECT_THAT(told.told, HasSubstr("0.5 GB a token"));
}

TEST(Estimate, TellsWhatIsLacking) {
  EXPECT_FALSE(lack_of_memory(10'000'000'000, 0, 20'000'000'000));
  EXPECT_EQ(lack_of_memory(10'000'000'000, 0, 19'000'000'000),
            "weights of 10.0 GB need about 20.0 GB to run, 19.0 GB are free");
  EXPECT_EQ(lack_of_memory(10'000'000'000, 2'500'000'000, 21'000'000'000),
            "weights of 10.0 GB and activations of 2.5 GB need about 22.5 GB to run, 21.0 GB are free");
  RunSettings settings;
  EXPECT_FALSE(lack_of_time({0, 0, 0, 300, "a run"}, settings));
  EXPECT_EQ(lack_of_time({0, 0, 0, 301, "a run"}, settings),
            "a cell takes about 301 s at least, and --timeout gives 600 s: a run");
}

class FittingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create();
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  // ViT-base, of which half a second of ten runs is given, on a machine that multiplies at `flops_per_s`.
  PreparedModel prepared(bool any_size, double flops_per_s) {
    hub::Settings nowhere;
    nowhere.cache = folder_->path();
    nowhere.offline = true;
    hub::Hub hub(nowhere, {}, [] { return false; });
    RunSettings settings = settings_for(1);
    settings.timeout = std::chrono::seconds(1);
    const MachineRate rate{flops_per_s, 1e6 * kGiga, "onnxruntime"};
    ModelChoice choice;
    choice.name = "vit";
    choice.reference = "google/vit-base-patch16-224";
    choice.any_size = any_size;
    Result<PreparedModel> model = prepare_model(choice, settings, {folder_->path() / "models", &hub, &rate});
    EXPECT_TRUE(model) << to_string(model.error());
    return std::move(*model);
  }
  std::optional<TemporaryDirectory> folder_;
};

TEST_F(FittingTest, WhatIsTooSlowIsReplacedByTheLargestThatIsNotAndSaysSo) {
  const PreparedModel model = prepared(true, 100 * kGiga);
  EXPECT_EQ(model.identity.model_id, "WinKawaks/vit-tiny-patch16-224");
  EXPECT_EQ(model.identity.size, "tiny");
  EXPECT_TRUE(model.identity.has_flag(flag::kScaled));
  EXPECT_THAT(model.note, HasSubstr("stands in for google/vit-base-patch16-224: a cell takes about"));
  EXPECT_THAT(model.note, HasSubstr("--timeout gives 1 s"));
}

TEST_F(FittingTest, WhereAllAreTooSlowTheQuickestRuns) {
  const PreparedModel model = prepared(true, 1e3);
  EXPECT_EQ(model.identity.model_id, "WinKawaks/vit-tiny-patch16-224");
  EXPECT_FALSE(model.verdict);
}

TEST_F(FittingTest, WhatWasNamedIsNotReplaced) {
  const PreparedModel model = prepared(false, 1e3);
  EXPECT_EQ(model.identity.model_id, "google/vit-base-patch16-224");
  EXPECT_FALSE(model.identity.has_flag(flag::kScaled));
  EXPECT_EQ(model.note.find("stands in"), std::string::npos);
}

}  // namespace
}  // namespace assay
