// SPDX-License-Identifier: Apache-2.0
#include "app/suite/coverage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/files.hpp"
#include "history/store/schema.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::suite {
namespace {
namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> names_of(const std::vector<ModelChoice>& models) {
  std::vector<std::string> names;
  for (const ModelChoice& model : models) names.push_back(model.name);
  return names;
}

TEST(CoverageModels, EveryArchitectureIsOneModelOfTheSmallestSize) {
  const auto models = coverage_models({}, {}, "tiny");
  ASSERT_TRUE(models) << to_string(models.error());
  EXPECT_THAT(*models, SizeIs(zoo::architectures().size()));
  for (const ModelChoice& model : *models) EXPECT_EQ(model.reference, "zoo:" + model.name);
}

TEST(CoverageModels, CategoriesAndNamesSelect) {
  const auto encoders = coverage_models({"text_encoders"}, {}, "tiny");
  ASSERT_TRUE(encoders);
  EXPECT_THAT(*encoders, Each(Field(&ModelChoice::category, "text_encoders")));
  EXPECT_LT(encoders->size(), zoo::architectures().size());
  const auto two = coverage_models({}, {"vit", "bert"}, "tiny");
  ASSERT_TRUE(two);
  EXPECT_THAT(names_of(*two), ::testing::UnorderedElementsAre("bert", "vit"));
  const auto one = coverage_models({"vision"}, {"vit", "bert"}, "tiny");
  ASSERT_TRUE(one);
  EXPECT_THAT(names_of(*one), ::testing::ElementsAre("vit"));
}

TEST(CoverageModels, OtherSizesAreOfThePublishedCheckpoint) {
  const auto models = coverage_models({}, {"bert"}, "reference");
  ASSERT_TRUE(models);
  EXPECT_EQ(models->front().reference, "zoo:bert");
}

TEST(CoverageModels, UnknownWordsAreErrorsWithTheNearest) {
  const auto category = coverage_models({"text_encoder"}, {}, "tiny");
  ASSERT_FALSE(category);
  EXPECT_THAT(to_string(category.error()), HasSubstr("text_encoders"));
  const auto model = coverage_models({}, {"brt"}, "tiny");
  ASSERT_FALSE(model);
  EXPECT_THAT(to_string(model.error()), HasSubstr("bert"));
  EXPECT_FALSE(coverage_models({"vision"}, {"bert"}, "tiny"));
  EXPECT_TRUE(is_architecture("bert"));
  EXPECT_FALSE(is_architecture("text_encoders"));
}

class CoveredTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(duckdb::create_database(database_));
    auto opened = duckdb::open_database(database_, duckdb::Access::kReadWrite);
    ASSERT_TRUE(opened) << to_string(opened.error());
    const Status done = opened->execute(
        "INSERT INTO benchmark_results (result_id, series_key, engine_version, hardware_id, timestamp, status, "
        "verification, latency_mean_ms) VALUES "
        "(1, 'old', '1.0', 'm', '2020-01-01T00:00:00.000000Z', 'completed', 'verified', 1), "
        "(3, 'elsewhere', '2.0', 'n', '2020-01-01T00:00:00.000000Z', 'completed', 'verified', 1), "
        "(4, 'renewed', '2.0', 'm', '2020-01-01T00:00:00.000000Z', 'completed', 'verified', 1), "
        "(5, 'renewed', '2.0', 'm', '2999-01-01T00:00:00.000000Z', 'completed', 'verified', 1); "
        "INSERT INTO benchmark_results (result_id, series_key, engine_version, hardware_id, timestamp, status, "
        "verification, tool_version) VALUES (6, 'refused', '2.0', 'm', '2020-01-01T00:00:00.000000Z', 'unsupported', "
        "'unverified', '0.1.0'), "
        "(7, 'failed', '2.0', 'm', '2020-01-01T00:00:00.000000Z', 'failed', 'unverified', '0.1.0'), "
        "(8, 'renewed', '2.0', 'm', '2999-01-02T00:00:00.000000Z', 'failed', 'unverified', '0.1.0')");
    ASSERT_TRUE(done) << to_string(done.error());
  }
  static Record row(const std::string& series, const std::string& version, const std::string& tool = "0.1.0") {
    Record record;
    record.tool_version = tool;
    record.series_key = series;
    record.engine_version = version;
    return record;
  }

  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path database_ = folder_.path() / "benchmark_db.duckdb";
};

TEST_F(CoveredTest, ACellCountsOnItsMachineWithTheVersionOfItsEngine) {
  const auto covered = Covered::read(database_, "m");
  ASSERT_TRUE(covered) << to_string(covered.error());
  EXPECT_TRUE(covered->has(row("old", "1.0")));
  EXPECT_FALSE(covered->has(row("old", "2.0"))) << "another version is to be measured";
  EXPECT_FALSE(covered->has(row("elsewhere", "2.0"))) << "another machine says nothing about this one";
  EXPECT_TRUE(covered->has(row("renewed", "2.0")));
}

TEST_F(CoveredTest, AFailureCountsForTheVersionsThatItFailedWith) {
  const auto covered = Covered::read(database_, "m");
  ASSERT_TRUE(covered) << to_string(covered.error());
  EXPECT_TRUE(covered->has(row("failed", "2.0")));
  EXPECT_TRUE(covered->has_failed(row("failed", "2.0")));
  EXPECT_FALSE(covered->has(row("failed", "2.1"))) << "another runtime may run it";
  EXPECT_FALSE(covered->has(row("failed", "2.0", "0.2.0"))) << "another assay may run it";
  EXPECT_FALSE(covered->has_failed(row("renewed", "2.0"))) << "it has a result, too";
  EXPECT_FALSE(covered->has_any(row("failed", "2.0"))) << "a failure is not a result that could be old";
}

// Most of it is not supported by assay itself: its zoo, its converters.
TEST_F(CoveredTest, WhatAnOlderAssayRefusedIsTriedAgain) {
  const auto covered = Covered::read(database_, "m");
  ASSERT_TRUE(covered) << to_string(covered.error());
  EXPECT_TRUE(covered->has(row("refused", "2.0", "0.1.0")));
  EXPECT_FALSE(covered->has(row("refused", "2.0", "0.2.0")));
  EXPECT_FALSE(covered->has(row("refused", "2.1", "0.1.0")));
  EXPECT_TRUE(covered->has(row("renewed", "2.0", "0.2.0"))) << "a time stays a time";
}

TEST_F(CoveredTest, OldIsACellWhoseNewestResultIsOld) {
  const auto old = Covered::older_than(database_, "m", 30);
  ASSERT_TRUE(old) << to_string(old.error());
  EXPECT_TRUE(old->has(row("old", "9.9"))) << "the version does not matter";
  EXPECT_FALSE(old->has(row("renewed", "2.0")));
  EXPECT_FALSE(old->has(row("failed", "2.0")));
  EXPECT_FALSE(old->has(row("unknown", "2.0")));
  EXPECT_TRUE(old->has_any(row("renewed", "9.9")));
  EXPECT_FALSE(old->has_any(row("failed", "2.0")));
  EXPECT_FALSE(old->has_any(row("unknown", "2.0")));
  EXPECT_TRUE(Covered::older_than(database_, "m", kMostDays)) << "the time is one that a clock can have";
}

TEST_F(CoveredTest, WithoutADatabaseNothingIsCovered) {
  const auto covered = Covered::read(folder_.path() / "absent.duckdb", "m");
  ASSERT_TRUE(covered) << to_string(covered.error());
  EXPECT_FALSE(covered->has(row("old", "1.0")));
}

}  // namespace
}  // namespace assay::suite
