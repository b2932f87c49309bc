// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/prepare/prepare.hpp"
#include "bench/prepare/zoo_source_testing.hpp"
#include "core/base/files.hpp"
#include "core/result/status.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::source_of;

constexpr double kGiga = 1e9;

RunSettings settings_for(std::int64_t batch) {
  RunSettings settings;
  settings.batch_sizes = {batch};
  return settings;
}

class EstimateTest : public ::testing::Test {
 protected:
  [[nodiscard]] Estimate needs_of(const std::string& name, const RunSettings& settings) const {
    return estimate(describe(zoo_build(source_of(name), settings), true, folder_.path(), {}).value(), settings).value();
  }
  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
};

TEST_F(EstimateTest, ForAForwardPassUsesItsFlops) {
  const MachineRate rate{kGiga, 1e6 * kGiga, "onnxruntime"};
  const Estimate one = needs_of("prajjwal1/bert-tiny", settings_for(1));
  EXPECT_NEAR(static_cast<double>(one.weight_bytes), 4.0 * 4.4e6, 1e5);
  EXPECT_GT(one.activation_bytes, 0U);
  // Two layers of 128: 2 × 12 × 128² × 2 for each of 128 tokens, and the attention.
  const CellTime time = time_of(one, settings_for(1), rate);
  EXPECT_GT(time.run_s, 2 * 12 * 128.0 * 128 * 2 * 128 / kGiga);
  EXPECT_LT(time.run_s, 3 * 12 * 128.0 * 128 * 2 * 128 / kGiga);
  const Estimate eight = needs_of("prajjwal1/bert-tiny", settings_for(8));
  EXPECT_NEAR(time_of(eight, settings_for(8), rate).run_s / time.run_s, 8, 0.1);
  EXPECT_EQ(eight.weight_bytes, one.weight_bytes);
  // Twelve runs to verify, one to warm up and three samples.
  EXPECT_NEAR(time.cell_s, 16 * time.run_s, 1e-9);
  RunSettings fixed = settings_for(1);
  fixed.verify = false;
  fixed.measure.warmup_iterations = 10;
  fixed.measure.iterations = 50;
  EXPECT_NEAR(time_of(one, fixed, rate).cell_s, 60 * time.run_s, 1e-9);
  EXPECT_EQ(time_of({}, settings_for(1), rate).cell_s, 0) << "nobody knows the time";
}

TEST_F(EstimateTest, ForAGenerationReadsTheWeightsForEachToken) {
  const MachineRate rate{1e6 * kGiga, 10 * kGiga, "onnxruntime"};
  RunSettings settings = settings_for(1);
  settings.output_tokens = {32};
  const Estimate needs = needs_of("HuggingFaceTB/SmolLM-135M", settings);
  const CellTime time = time_of(needs, settings, rate);
  const double read_s = static_cast<double>(needs.weight_bytes) / (10 * kGiga);
  EXPECT_NEAR(time.run_s, 32 * read_s, 0.01 * time.run_s);
  EXPECT_NEAR(time.cell_s, 16 * 32 * read_s, 0.01 * time.cell_s);
  EXPECT_THAT(time.figures, HasSubstr("0.5 GB a token"));
}

TEST(Shortfall, SaysWhatThereIsTooLittleOf) {
  EXPECT_FALSE(memory_shortfall(10'000'000'000, 0, 20'000'000'000));
  EXPECT_EQ(memory_shortfall(10'000'000'000, 0, 19'000'000'000),
            "weights of 10.0 GB need about 20.0 GB to run, 19.0 GB are free");
  EXPECT_EQ(memory_shortfall(10'000'000'000, 2'500'000'000, 21'000'000'000),
            "weights of 10.0 GB and activations of 2.5 GB need about 22.5 GB to run, 21.0 GB are free");
  RunSettings settings;
  EXPECT_FALSE(time_shortfall({0, 300, "a run"}, settings));
  EXPECT_EQ(time_shortfall({0, 301, "a run"}, settings),
            "a cell takes about 301 s at least, and --timeout gives 600 s: a run");
  const TemporaryDirectory folder = TemporaryDirectory::create().value();
  EXPECT_FALSE(disk_shortfall({1, "the model"}, folder.path() / "not" / "there"));
  EXPECT_THAT(
      disk_shortfall({std::uint64_t{1} << 62, "the model 4 EB"}, folder.path() / "not" / "there").value(),
      AllOf(HasSubstr("its files need 4611686018.4 GB at the same time (the model 4 EB), '"), HasSubstr("GB free")));
}

TEST(DiskUseTest, CountsAllFilesThatAreThereAtOnce) {
  constexpr std::uint64_t kModel = 10'000'000'000;
  EngineEntry imitates, computes, converts, fixed;
  imitates.needs_model = false;
  converts.runtime_cache = EngineEntry::RuntimeCache{"", "convert", "xml"};
  fixed.static_shapes = true;
  const auto bytes = [](const RunSettings& settings, const EngineEntry& engine) {
    return disk_use(kModel, settings, {engine}, true).bytes;
  };
  RunSettings settings;
  EXPECT_EQ(bytes(settings, imitates), kModel);
  EXPECT_EQ(disk_use(kModel, settings, {imitates, computes}, true).files,
            "the model 10.0 GB, the reference with perturbed weights 10.0 GB");
  EXPECT_EQ(bytes(settings, computes), 2 * kModel);
  EXPECT_EQ(bytes(settings, fixed), 2 * kModel) << "the reference is done when shapes are fixed";
  EXPECT_EQ(bytes(settings, converts), 2 * kModel) << "a growing KV cache";
  settings.kv_cache = KvCache::kRuntime;
  EXPECT_EQ(bytes(settings, converts), 3 * kModel);
  EXPECT_EQ(disk_use(kModel, settings, {converts}, false).bytes, 2 * kModel) << "it does not generate";
  settings.precision = "float16";
  EXPECT_EQ(bytes(settings, computes), 5 * kModel) << "the reference has 32 bits, twice";
  settings.precision = "runtime";
  EXPECT_EQ(bytes(settings, computes), 3 * kModel);
  settings.verify = false;
  EXPECT_EQ(bytes(settings, computes), kModel);
  EXPECT_EQ(bytes(settings, fixed), 2 * kModel);
}

TEST_F(EstimateTest, AGraphIsNotBuiltAfterAnInterruption) {
  const ZooSource source = source_of("google/t5-efficient-tiny");
  const auto error = [&](int allowed) {
    const auto model = describe(zoo_build(source, {}), true, folder_.path(), [&] { return allowed-- <= 0; });
    return model ? ErrorCode::kInternal : model.error().code;
  };
  for (int allowed = 0; allowed < 4; ++allowed) EXPECT_EQ(error(allowed), ErrorCode::kCancelled) << allowed;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(EstimateTest, WhatDoesNotFitIsNotLookedInto) {
  const ZooSource source = source_of("google/t5-efficient-tiny");
  std::vector<std::uint64_t> asked;
  const auto model = describe(zoo_build(source, {}), true, folder_.path(), {}, [&](std::uint64_t bytes) {
    asked.push_back(bytes);
    return std::optional<std::string>("too little");
  });
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(model.error().message, "too little");
  EXPECT_THAT(asked, ElementsAre(::testing::Gt(50'000'000U)));
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
    settings.timeout = timeout_;
    const EngineRegistry registry(EngineRegistry::Places{});
    Preparing with{.cache = folder_->path() / "models", .inputs = folder_->path() / "inputs"};
    with.hub = &hub;
    with.registry = &registry;
    with.engines = {"null"};
    with.rate = [&]() -> std::optional<MachineRate> {
      ++asked_;
      return MachineRate{flops_per_s, 1e6 * kGiga, "onnxruntime"};
    };
    ModelChoice choice;
    choice.name = "vit";
    choice.reference = "google/vit-base-patch16-224";
    choice.any_size = any_size;
    Result<PreparedModel> model = prepare_model(choice, settings, with);
    EXPECT_TRUE(model) << to_string(model.error());
    return std::move(*model);
  }
  std::optional<TemporaryDirectory> folder_;
  std::chrono::nanoseconds timeout_ = std::chrono::seconds(1);
  int asked_ = 0;  ///< number of requests for the rate
};

TEST_F(FittingTest, TheRateIsNotAskedForWhereASlowMachineHasTimeEnough) {
  timeout_ = std::chrono::hours(2);
  EXPECT_EQ(prepared(true, 1e3).identity.model_id, "google/vit-base-patch16-224");
  EXPECT_EQ(asked_, 0);
}

TEST_F(FittingTest, WhatIsTooSlowIsReplacedByTheLargestThatIsNotAndSaysSo) {
  const PreparedModel model = prepared(true, 100 * kGiga);
  EXPECT_EQ(model.identity.model_id, "WinKawaks/vit-tiny-patch16-224");
  EXPECT_EQ(model.identity.size, "tiny");
  EXPECT_TRUE(model.identity.flags.has(Flag::kScaled));
  EXPECT_THAT(model.note, HasSubstr("stands in for google/vit-base-patch16-224: a cell takes about"));
  EXPECT_THAT(model.note, HasSubstr("--timeout gives 1 s"));
}

TEST_F(FittingTest, TheChosenSizeIsPartOfThePlanAndTheTimeItselfIsNot) {
  const auto sizes = [&](bool any_size, std::chrono::nanoseconds timeout) {
    timeout_ = timeout;
    std::vector<PreparedModel> models;
    models.push_back(prepared(any_size, 100 * kGiga));
    return chosen_sizes(models);
  };
  const Json whole = sizes(true, std::chrono::hours(1)), tiny = sizes(true, std::chrono::seconds(1));
  EXPECT_FALSE(different_size(whole, sizes(true, std::chrono::hours(2))));
  EXPECT_EQ(different_size(whole, tiny),
            "vit was google/vit-base-patch16-224, size reference and is now WinKawaks/vit-tiny-patch16-224, size tiny");
  const Json named = sizes(false, std::chrono::seconds(1));
  EXPECT_TRUE(named.at(0).is_null()) << "its size depends on nothing";
  EXPECT_FALSE(different_size(named, tiny));
  EXPECT_FALSE(different_size(Json(), tiny)) << "nothing is known of the earlier run";
  EXPECT_EQ(with_earlier_sizes(named, whole), whole) << "it was refused in between";
  EXPECT_EQ(with_earlier_sizes(tiny, whole), tiny);
  EXPECT_EQ(with_earlier_sizes(tiny, Json()), tiny);
}

TEST_F(FittingTest, WhereAllAreTooSlowTheQuickestRuns) {
  const PreparedModel model = prepared(true, 1e3);
  EXPECT_EQ(model.identity.model_id, "WinKawaks/vit-tiny-patch16-224");
  EXPECT_FALSE(model.refusal);
}

TEST_F(FittingTest, WhatWasNamedIsNotReplaced) {
  const PreparedModel model = prepared(false, 1e3);
  EXPECT_EQ(model.identity.model_id, "google/vit-base-patch16-224");
  EXPECT_FALSE(model.identity.flags.has(Flag::kScaled));
  EXPECT_EQ(model.note.find("stands in"), std::string::npos);
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace assay
