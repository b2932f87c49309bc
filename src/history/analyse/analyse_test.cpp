// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/analyse.hpp"
#include "core/result/launch_medians.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/inconsistency.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

Record row(const std::string& model, const std::string& hardware, const std::string& engine, double p50,
           std::int64_t batch = 1) {
  Record r;
  r.model = model;
  r.family = "embedding";
  r.hardware = hardware;
  r.engine = engine;
  r.precision = "float32";
  r.effective_precision = "float32";
  r.contract = Contract::kHost;
  r.status = CellStatus::kCompleted;
  r.verification = Verification::kVerified;
  r.batch_size = batch;
  r.streams = 1;
  r.latency_p50_ms = p50;
  r.latency_p50_low_ms = p50 * 0.99;
  r.latency_p50_high_ms = p50 * 1.01;
  r.throughput_ips = 1000.0 * static_cast<double>(batch) / p50;
  r.iterations = 100;
  r.launches = 3;
  r.latency_p50_interval = IntervalScope::kLaunches;
  r.launch_p50_ms = *parse_launch_medians(fmt::format("1:{} 2:{} 3:{}", p50 * 0.995, p50, p50 * 1.005));
  return r;
}

/// The same with one launch: an interval within one process.
Record alone(Record r) {
  r.launches = 1;
  r.latency_p50_interval = IntervalScope::kOneProcess;
  r.launch_p50_ms.clear();
  return r;
}

/// The same with other medians of its launches.
Record with_launches(Record r, const std::string& medians) {
  r.launch_p50_ms = *parse_launch_medians(medians);
  return r;
}

std::string rating(std::span<const Record> rows, const std::string& target) {
  const std::optional<Rating> found = performance_rating(rows, target);
  return found ? found->rating : "nothing";
}

TEST(ShapeKey, NamesOnlyWhatIsNotTheDefault) {
  Record r = row("m", "cpu", "onnxruntime", 1);
  EXPECT_EQ(shape_key(r), "batch_1");
  r.sequence_length = 128;
  r.precision = "float16";
  r.streams = 2;
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2");
  r.contract = Contract::kDeviceResident;
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2_device_resident");
  r.kv_cache = KvCache::kGrowing;
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2_device_resident") << "a growing cache is the default";
  r.kv_cache = KvCache::kStatic;
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2_device_resident_kv_static");
  r.kv_cache = KvCache::kRuntime;
  r.engine_options = "graph=off";
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2_device_resident_kv_runtime_8b5b1395");
}

TEST(ShapeKey, NamesTheFormOfShapesThatIsNotTheDefaultOfTheEngine) {
  const auto key = [](const char* engine, const char* shapes, Count tokens = {}) {
    Record r = row("m", "cpu", engine, 1);
    r.shapes = from_word<ShapesForm>(shapes);
    r.output_tokens = tokens;
    return shape_key(r);
  };
  EXPECT_EQ(key("onnxruntime", "exported"), "batch_1");
  EXPECT_EQ(key("onnxruntime", "dynamic"), "batch_1") << "the same form";
  EXPECT_EQ(key("onnxruntime", "static"), "batch_1_static");
  EXPECT_EQ(key("onnxruntime", "open"), "batch_1_static") << "fixed in part";
  EXPECT_EQ(key("onnxruntime", "open", 32), "batch_1") << "its cache grows in either form";
  EXPECT_EQ(key("openvino", "static"), "batch_1");
  EXPECT_EQ(key("openvino", "open", 32), "batch_1");
  EXPECT_EQ(key("openvino", "dynamic"), "batch_1_dynamic");
  EXPECT_EQ(key("another", "open"), "batch_1");
  EXPECT_EQ(key("another", "dynamic"), "batch_1_dynamic");
  EXPECT_EQ(key("another", "static"), "batch_1");
}

Record unreached(Record r) {
  r.status = CellStatus::kSkipped;
  r.reason_code = Reason::kCancelled;
  r.latency_p50_ms = std::nullopt;
  return r;
}

Record cut_short(Record r) {
  r.flags.add(Flag::kPartial);
  r.stop_reason = StopReasons{StopReason::kInterrupted};
  return r;
}

TEST(Interruption, LeavesCellsUnfinished) {
  const Record whole = row("m", "cpu", "onnxruntime", 1);
  EXPECT_FALSE(unfinished(whole));
  EXPECT_TRUE(unfinished(unreached(whole)));
  EXPECT_TRUE(unfinished(cut_short(whole)));
}

TEST(Interruption, WhatWasCutShortIsNeitherRecommendedNorRated) {
  const std::vector<Record> rows{row("m", "cpu", "onnxruntime", 5), cut_short(row("m", "openvino", "openvino", 1)),
                                 cut_short(row("m", "cpu", "onnxruntime", 1, 8))};
  EXPECT_FALSE(rows[1].ranked());
  EXPECT_THAT(recommendations(rows), ElementsAre(AllOf(HasSubstr("5 ms at batch 1 on cpu"), HasSubstr("openvino"))));
  EXPECT_EQ(rating(rows, "openvino"), "");
  EXPECT_EQ(rating(rows, "cpu"), "") << "the fastest of those that were not compared";
  EXPECT_EQ(best_throughput(rows, "m", "cpu", rows[0]), &rows[0]);
  EXPECT_THAT(speedups_against_cpu(rows), IsEmpty());
}

TEST(Recommendations, TheOnlyChoiceIsOneWhereEveryOtherWasTried) {
  std::vector<Record> rows{row("m", "cpu", "onnxruntime", 5), row("m", "openvino", "openvino", 1)};
  rows[1].status = CellStatus::kFailed;
  EXPECT_THAT(recommendations(rows), ElementsAre(HasSubstr("the only verified choice")));
  for (const CellStatus status : {CellStatus::kUnavailable, CellStatus::kUnsupported, CellStatus::kWrong}) {
    rows[1].status = status;
    EXPECT_THAT(recommendations(rows), ElementsAre(HasSubstr("the only verified choice")));
  }
  rows[1] = unreached(rows[1]);
  EXPECT_THAT(recommendations(rows),
              ElementsAre(AllOf(Not(HasSubstr("only")), HasSubstr("there is no such result from openvino"))));
  EXPECT_THAT(recommendations(std::span(rows).first(1)),
              ElementsAre(AllOf(Not(HasSubstr("only")), HasSubstr("no other target was tried"))));
  rows[1] = row("m", "openvino", "openvino", 1, 4);
  EXPECT_THAT(recommendations(rows), Contains(HasSubstr("there is no such result from")))
      << "cells of different shapes are not compared";
}

TEST(DistinctNames, SayWhichModelWhereANameHasSeveral) {
  std::vector<Record> rows{row("bert", "cpu", "onnxruntime", 1), row("bert", "cpu", "onnxruntime", 9),
                           row("vit", "cpu", "onnxruntime", 2)};
  rows[0].model_id = "prajjwal1/bert-tiny";
  rows[1].model_id = "bert-base-uncased";
  rows[2].model_id = "vit";
  const auto names = [](const std::vector<Record>& given) { return models_of(with_distinct_names(given)); };
  EXPECT_THAT(names(rows), ElementsAre("bert (prajjwal1/bert-tiny)", "bert (bert-base-uncased)", "vit"));
  rows[1].model_id = rows[0].model_id;
  EXPECT_THAT(names(rows), ElementsAre("bert", "vit"));
  rows[0].size = "small";
  rows[1].size = "reference";
  EXPECT_THAT(names(rows), ElementsAre("bert (size small)", "bert (size reference)", "vit"));
}

TEST(DistinctNames, CallAModelByItsIdWhereTheHistoryHasSeveralNamesOfIt) {
  std::vector<Record> rows{row("bert", "cpu", "onnxruntime", 1), row("bert-base-uncased", "cpu", "onnxruntime", 1),
                           row("bert", "cpu", "onnxruntime", 1), row("vit", "cpu", "onnxruntime", 1)};
  rows[0].model_id = rows[1].model_id = "google-bert/bert-base-uncased";
  rows[2].model_id = "prajjwal1/bert-tiny";
  rows[3].model_id = "";
  const auto names = [](const std::vector<Record>& given) { return models_of(with_names_of_models(given)); };
  EXPECT_THAT(names(rows), ElementsAre("google-bert/bert-base-uncased", "bert (prajjwal1/bert-tiny)", "vit"));
  rows[0].size = "reference";
  rows[1].size = "reference*0.5";
  EXPECT_THAT(names(rows),
              ElementsAre("google-bert/bert-base-uncased (size reference)",
                          "google-bert/bert-base-uncased (size reference*0.5)", "bert (prajjwal1/bert-tiny)", "vit"));
  rows[1].model = "bert";
  rows[0].size = rows[1].size = "";
  EXPECT_THAT(names(rows), ElementsAre("bert (google-bert/bert-base-uncased)", "bert (prajjwal1/bert-tiny)", "vit"));
}

TEST(NextSteps, NameTheLogOfWhatFailedAndTheMatrixThatIsWritten) {
  std::vector<Record> rows{row("m", "cpu", "onnxruntime", 5), row("m", "openvino", "openvino", 1)};
  rows[1].status = CellStatus::kFailed;
  rows[1].attempt_id = "a1";
  const ReportedFiles files{{{"a1", "spool/key/a1/worker.log"}}, "out/hardware_compatibility_matrix.json"};
  EXPECT_THAT(next_steps(rows, files), ElementsAre(HasSubstr("see 'spool/key/a1/worker.log', or run again"),
                                                   HasSubstr("open out/hardware_compatibility_matrix.json")));
  EXPECT_THAT(next_steps(rows), ElementsAre(AllOf(HasSubstr("failed"), Not(HasSubstr("log")))));
}

TEST(TargetKey, NamesTheEngineOnlyWhenItIsNotTheDefault) {
  EXPECT_EQ(target_key(row("m", "cpu", "onnxruntime", 1)), "cpu");
  EXPECT_EQ(target_key(row("m", "cpu", "openvino", 1)), "cpu@openvino");
  EXPECT_EQ(target_key(row("m", "openvino", "openvino", 1)), "openvino");
}

TEST(Speedups, AreGeometricMeansOverEqualCells) {
  const std::vector<Record> rows{row("a", "cpu", "onnxruntime", 8), row("a", "openvino", "openvino", 2),
                                 row("b", "cpu", "onnxruntime", 1), row("b", "openvino", "openvino", 1),
                                 row("c", "openvino", "openvino", 1)};
  const std::vector<Speedup> found = speedups_against_cpu(rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].target, "openvino");
  EXPECT_NEAR(found[0].comparison.ratio, 2.0, 1e-9);  // sqrt(4 * 1)
  EXPECT_EQ(found[0].pairs, 2U);
  EXPECT_TRUE(found[0].comparison.claimed());
  ASSERT_TRUE(found[0].comparison.interval);
  EXPECT_LE(found[0].comparison.interval->low, 2.0);
  EXPECT_GE(found[0].comparison.interval->high, 2.0);
}

TEST(Speedups, OfOneProcessEachAreNotClaimed) {
  std::vector<Record> rows{alone(row("a", "cpu", "onnxruntime", 8)), alone(row("a", "openvino", "openvino", 2))};
  std::vector<Speedup> found = speedups_against_cpu(rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].comparison.claimed());
  EXPECT_EQ(found[0].comparison.interval, std::nullopt);
  EXPECT_EQ(no_claim_words(found[0].comparison), "not compared: one process each");
  rows.push_back(row("b", "cpu", "onnxruntime", 9));
  rows.push_back(row("b", "openvino", "openvino", 3));
  found = speedups_against_cpu(rows);
  EXPECT_NEAR(found[0].comparison.ratio, 3, 1e-9) << "only the cells with launches";
  EXPECT_EQ(found[0].pairs, 1U);
  EXPECT_EQ(found[0].left_out, 1U);
}

TEST(Speedups, HaveAnIntervalOverRoundsThatCoversWhatRoundsDifferBy) {
  // In round 2 the first model was slower on one target, the second on the other: the round's mean did not change.
  const std::vector<Record> rows{with_launches(row("a", "cpu", "onnxruntime", 8), "1:8 2:16 3:8"),
                                 with_launches(row("a", "openvino", "openvino", 2), "1:2 2:2 3:2"),
                                 with_launches(row("b", "cpu", "onnxruntime", 8), "1:8 2:8 3:8"),
                                 with_launches(row("b", "openvino", "openvino", 2), "1:2 2:4 3:2")};
  const std::vector<Speedup> found = speedups_against_cpu(rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].comparison.ratio, 4, 1e-9);
  ASSERT_TRUE(found[0].comparison.interval);
  EXPECT_NEAR(found[0].comparison.interval->low, 4, 1e-6);
  const std::vector<Speedup> one = speedups_against_cpu(std::span(rows).first(2));
  EXPECT_LT(one[0].comparison.interval->low, 3);
}

TEST(Speedups, LeaveOutWhatIsNotVerifiedOrOfAnotherPrecision) {
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 8), row("a", "openvino", "openvino", 2)};
  rows[1].verification = Verification::kWrong;
  rows[1].status = CellStatus::kWrong;
  EXPECT_THAT(speedups_against_cpu(rows), IsEmpty());
  rows[1] = row("a", "openvino", "openvino", 2);
  rows[1].effective_precision = "bfloat16";
  EXPECT_THAT(speedups_against_cpu(rows), IsEmpty());
  rows[1] = row("a", "openvino", "openvino", 2);
  rows[1].flags.add(Flag::kSimulated);
  EXPECT_THAT(speedups_against_cpu(rows), IsEmpty());
}

TEST(Rating, IsRelativeToTheFastestOtherOnTheSameCells) {
  const std::vector<Record> rows{row("a", "cpu", "onnxruntime", 5.4), row("a", "cuda", "onnxruntime", 1.0),
                                 row("a", "openvino", "openvino", 3.4), row("a", "qnn", "onnxruntime", 11)};
  EXPECT_EQ(rating(rows, "cuda"), "high");
  EXPECT_EQ(rating(rows, "openvino"), "medium-high");
  EXPECT_EQ(rating(rows, "cpu"), "medium");
  EXPECT_EQ(rating(rows, "qnn"), "low");
  EXPECT_EQ(performance_rating(rows, "mps"), std::nullopt);

  std::vector<Record> wrong = rows;
  wrong.push_back(row("a", "cuda", "onnxruntime", 1.0, 4));
  wrong.back().status = CellStatus::kWrong;
  EXPECT_EQ(rating(wrong, "cuda"), "") << "fast and wrong is not fast";
  EXPECT_EQ(rating(wrong, "openvino"), "high") << "the fastest of those that are right";
}

TEST(Rating, SaysBothIfItsIntervalCoversABoundAndCountsAsTheWorse) {
  const std::vector<Record> rows{with_launches(row("a", "cpu", "onnxruntime", 1.45), "1:1.4 2:1.45 3:1.5"),
                                 row("a", "cuda", "onnxruntime", 1.0)};
  const std::optional<Rating> found = performance_rating(rows, "cpu");
  ASSERT_TRUE(found && found->interval);
  EXPECT_LT(found->interval->low, 1.5);
  EXPECT_GT(found->interval->high, 1.5);
  EXPECT_EQ(found->rating, "medium-high");
  EXPECT_EQ(rating_words(*found), "medium-high or high");
}

TEST(Rating, NeedsLaunchesIfThereIsAnotherHardware) {
  std::vector<Record> rows{alone(row("a", "cpu", "onnxruntime", 5)), alone(row("a", "cuda", "onnxruntime", 1))};
  EXPECT_EQ(rating(rows, "cpu"), "");
  EXPECT_THAT(performance_rating(rows, "cpu")->why, HasSubstr("not compared: one process each"));
  EXPECT_EQ(rating(std::span(rows).first(1), "cpu"), "") << "the only one";
  EXPECT_EQ(rating_words(*performance_rating(std::span(rows).first(1), "cpu")),
            "not rated: nothing to compare it with");
  rows[1].flags.add(Flag::kUnsteady);
  EXPECT_EQ(rating(rows, "cpu"), "") << "the other may be faster: it was measured, but is not ranked";
  std::vector<Record> later{row("a", "cpu", "onnxruntime", 5), row("a", "openvino", "openvino", 1),
                            row("a", "cuda", "onnxruntime", 1)};
  later[2].run_id = "another run";
  EXPECT_EQ(rating(later, "cpu"), "medium");
  EXPECT_THAT(performance_rating(later, "cpu")->why, HasSubstr("measured in different runs (cuda)"));
}

TEST(Rating, IsGivenOnlyIfADifferenceIsClaimed) {
  // 1.2 times slower: within the factor that three launches need.
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 1.2), row("a", "cuda", "onnxruntime", 1)};
  for (const char* target : {"cpu", "cuda"}) {
    const std::optional<Rating> found = performance_rating(rows, target);
    ASSERT_TRUE(found && found->interval) << "the interval is shown";
    EXPECT_EQ(found->rating, "");
    EXPECT_THAT(rating_words(*found), StartsWith("not rated: no difference shown (± 25 %)"));
  }
  // An interval that covers three ratings, and 1: it was rated as the worst of them.
  rows[0] = with_launches(row("a", "cpu", "onnxruntime", 2), "1:1 2:2 3:4");
  EXPECT_EQ(rating(rows, "cpu"), "");
  // Slower than one of two: rated, and the words say what is not known.
  rows = {row("a", "cpu", "onnxruntime", 2.1), row("a", "cuda", "onnxruntime", 1), row("a", "openvino", "openvino", 2)};
  EXPECT_EQ(rating(rows, "cpu"), "medium-high");
  EXPECT_THAT(rating_words(*performance_rating(rows, "cpu")),
              StartsWith("medium-high; no difference shown (± 25 %) (openvino)"));
  EXPECT_EQ(rating(rows, "cuda"), "high") << "faster than both";
}

TEST(Recommendations, ClaimADifferenceOnlyFromLaunches) {
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 1.000), row("a", "openvino", "openvino", 1.005)};
  EXPECT_THAT(recommendations(rows), Contains(HasSubstr("no difference shown (±")));
  rows[1] = row("a", "openvino", "openvino", 0.5);
  EXPECT_THAT(recommendations(rows),
              Contains(HasSubstr("use openvino for latency: 0.5 ms at batch 1, 2.00 times (95 %")));
  // Two intervals that are disjoint, of one process each: equal pairs of processes have that in two of three cases.
  const std::vector<Record> one_each{alone(rows[0]), alone(rows[1])};
  EXPECT_THAT(recommendations(one_each), ElementsAre(AllOf(HasSubstr("not compared: one process each"),
                                                           Not(HasSubstr("use ")), Not(HasSubstr("times")))));
  std::vector<Record> runs = rows;
  runs[1].run_id = "another";
  EXPECT_THAT(recommendations(runs), Contains(HasSubstr("not compared: measured in different runs")));

  rows.push_back(row("a", "openvino", "openvino", 2, 4));
  rows.back().status = CellStatus::kWrong;
  EXPECT_THAT(recommendations(rows), Not(Contains(HasSubstr("use openvino")))) << "wrong at another batch";
  rows[1].status = CellStatus::kWrong;
  EXPECT_THAT(recommendations(rows), Not(Contains(HasSubstr("use openvino"))));
  EXPECT_THAT(next_steps(rows), Contains(HasSubstr("computes wrong numbers")));
  rows[0].flags.add(Flag::kNoisy);
  EXPECT_THAT(next_steps(rows).front(), HasSubstr("computes wrong numbers")) << "what is wrong comes first";
}

TEST(Recommendations, WeighEveryCandidateAndSayHowManyThereWere) {
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 4), row("a", "openvino", "openvino", 1),
                           row("a", "cuda", "onnxruntime", 2)};
  EXPECT_THAT(recommendations(rows), Contains(AllOf(HasSubstr("use openvino"), HasSubstr("2.00 times"),
                                                    HasSubstr("as fast as cuda"), HasSubstr("the fastest of 3"))));
  // The third is slower by its median, but it varies so much that it may be the fastest.
  rows[0].launch_p50_ms = *parse_launch_medians("1:0.9 2:4 3:17.8");
  EXPECT_THAT(recommendations(rows),
              Contains(AllOf(Not(HasSubstr("use openvino")), HasSubstr("cpu (4 ms): no difference shown"),
                             HasSubstr("slower: cuda (2 ms)"))));
}

TEST(Recommendations, AreNotMadeFromDisturbedRows) {
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 4), row("a", "openvino", "openvino", 1)};
  rows[1].flags.add(Flag::kNoisy);
  EXPECT_THAT(recommendations(rows), Contains(HasSubstr("use openvino"))) << "an interval of 1 % bounds the noise";
  rows[1].latency_p50_high_ms = 1.3;
  EXPECT_THAT(recommendations(rows), Not(Contains(HasSubstr("use openvino"))));
  EXPECT_THAT(next_steps(rows),
              Contains(HasSubstr("1 of 2 measured cells were unsteady or noisy, 1 of them too much")));
}

TEST(Recommendations, OfThroughputSayOfHowManyCellsTheyAreTheBest) {
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 4), row("a", "cpu", "onnxruntime", 8, 4),
                           row("a", "cpu", "onnxruntime", 32, 8)};
  EXPECT_THAT(recommendations(rows),
              Contains(AllOf(HasSubstr("for throughput use cpu at batch 4: 500 items/s, the most of 3 cells"),
                             HasSubstr("2.00 times (95 %: 2.00 to 2.00) that of batch 1"))));
  rows[2] = row("a", "cpu", "onnxruntime", 16.1, 8);
  EXPECT_THAT(recommendations(rows),
              Contains(AllOf(Not(HasSubstr("use cpu")), HasSubstr("throughput of cpu at batch 4"),
                             HasSubstr("no difference shown with cpu at batch 8"))))
      << "the highest of several is not shown to be better than the next";
  rows[2] = row("a", "cpu", "onnxruntime", 5, 8);
  EXPECT_THAT(recommendations(rows), Contains(HasSubstr("batch 8 takes less time in all than batch 4")));
  rows[2] = row("a", "cpu", "onnxruntime", 16.1, 8);
  for (Record& each : rows) each = alone(each);
  EXPECT_THAT(recommendations(rows),
              Contains(AllOf(HasSubstr("throughput of cpu at batch 4"),
                             HasSubstr("not compared with 2 of them: one process each"), Not(HasSubstr("times")))));
}

TEST(Inconsistency, IsALargerBatchThatTakesLessTimeInAll) {
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 2, 1), row("a", "cpu", "onnxruntime", 25, 4),
                           row("a", "cpu", "onnxruntime", 10, 8), row("a", "openvino", "openvino", 1, 8)};
  const std::vector<Inconsistency> found = inconsistent_cells(rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].smaller, 1U);
  EXPECT_EQ(found[0].larger, 2U);
  EXPECT_THAT(inconsistent_rows(rows), ElementsAre(false, true, true, false));
  EXPECT_THAT(
      next_steps(rows),
      Contains(HasSubstr(
          "a on cpu: batch 4 takes 25 ms, batch 8 only 10 ms: inconsistent over 3 launches each, measure both again")));
  // Further rounds of an undecided pair, launches that were given up: what is said is what was measured.
  rows[1].planned_launches = rows[2].planned_launches = 3;
  rows[1].launches = rows[2].launches = 6;
  EXPECT_THAT(next_steps(rows), Contains(HasSubstr("inconsistent over 6 launches each, measure both again")));
  rows[2].launches = 2;
  EXPECT_THAT(next_steps(rows), Contains(HasSubstr("inconsistent over 6 and 2 launches, measure both again")));
  rows[1].launches = 1;
  EXPECT_THAT(next_steps(rows), Contains(HasSubstr("inconsistent, measure both again")));
  rows[1].latency_p50_ms = 10.05;
  rows[1].latency_p50_low_ms = 9.9;
  rows[1].latency_p50_high_ms = 10.2;
  EXPECT_THAT(inconsistent_cells(rows), IsEmpty()) << "not beyond the intervals";
  rows[1] = row("a", "cpu", "onnxruntime", 11, 4);
  EXPECT_THAT(inconsistent_cells(rows), SizeIs(1)) << "beyond the intervals, and by more than 5 %";
  rows[1] = row("a", "cpu", "onnxruntime", 10.3, 4);
  EXPECT_THAT(inconsistent_cells(rows), IsEmpty()) << "kernels may favour a batch a little";
  rows[1].latency_p50_ms = 25;
  rows[1].precision = "float16";
  EXPECT_THAT(inconsistent_cells(rows), IsEmpty()) << "cells that differ in more than the batch";
  rows = {row("a", "cpu", "null", 0.0004, 1), row("a", "cpu", "null", 0.0002, 4)};
  EXPECT_THAT(inconsistent_cells(rows), IsEmpty()) << "less than the clock and the loop may differ by";
}

TEST(HowSure, CountsWhatWasShownAndNamesWhatIsOpen) {
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 4), row("a", "openvino", "openvino", 1),
                           row("b", "cpu", "onnxruntime", 1), row("b", "openvino", "openvino", 1.02),
                           alone(row("c", "cpu", "onnxruntime", 3))};
  rows[3].launch_p50_ms = *parse_launch_medians("1:1.01 2:1.03 3:1.02");
  for (Record& each : rows) each.stop_reason = StopReasons{StopReason::kMaxTime};
  rows[0].stop_reason = StopReasons{StopReason::kPrecisionReached};
  const HowSure sure = how_sure(rows);
  EXPECT_EQ(sure.cells, 5U);
  EXPECT_EQ(sure.precise, 1U);
  EXPECT_EQ(sure.one_process, 1U);
  EXPECT_EQ(sure.pairs, 2U);
  EXPECT_EQ(sure.claimed, 1U);
  ASSERT_EQ(sure.open.size(), 1U);
  EXPECT_EQ(sure.open[0].model, "b");
  EXPECT_EQ(sure.open[0].runner_up, "openvino");
  ASSERT_TRUE(sure.open[0].comparison.rounds_to_settle);
  EXPECT_GT(*sure.open[0].comparison.rounds_to_settle, 3U);
  const std::vector<std::string> lines = how_sure_lines(rows, MachineScore{75, {}});
  EXPECT_THAT(lines, Contains(HasSubstr("machine: 75 of 100")));
  EXPECT_THAT(
      lines, Contains(HasSubstr("cells that reached their precision: 1 of 5; their intervals: ± 1 %, at worst ± 1 %")));
  EXPECT_THAT(lines, Contains(HasSubstr("one process: 1 of 5")));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("b batch_1: cpu and openvino"), HasSubstr("launches would settle"))));
  EXPECT_THAT(how_sure_lines({}, MachineScore{75, {}}), IsEmpty());
}

TEST(Representative, IsTheSmallestBatch) {
  const std::vector<Record> rows{row("a", "cpu", "onnxruntime", 9, 4), row("a", "cpu", "onnxruntime", 3, 1)};
  EXPECT_EQ(representative(rows, "a", "cpu"), &rows[1]);
  EXPECT_EQ(best_throughput(rows, "a", "cpu", rows[0]), &rows[0]);
}

TEST(Representatives, AreAllOfTheCellThatMostTargetsHave) {
  std::vector<Record> rows{row("m", "cpu", "onnxruntime", 9, 4), row("m", "openvino", "openvino", 1, 1),
                           row("m", "openvino", "openvino", 5, 4), row("m", "cuda", "onnxruntime", 2, 1)};
  rows[3].effective_precision = "float16";
  const auto stand = representatives(rows, "m");
  ASSERT_EQ(stand.size(), 2U);
  EXPECT_EQ(stand[0]->batch_size, 4);
  EXPECT_EQ(stand[1]->batch_size, 4);
  EXPECT_EQ(best_throughput(rows, "m", "cuda", rows[0]), nullptr);
  EXPECT_NE(best_throughput(rows, "m", "cuda", rows[3]), nullptr);
  rows[3].output_tokens = 64;
  EXPECT_EQ(best_throughput(rows, "m", "cuda", rows[0]), nullptr) << "another length is another work";
}

TEST(Representatives, AreNotOfATargetThatComputesWrongNumbersAtAnotherShape) {
  std::vector<Record> rows{row("m", "cpu", "onnxruntime", 9), row("m", "openvino", "openvino", 5),
                           row("m", "openvino", "openvino", 7, 4)};
  EXPECT_EQ(representatives(rows, "m").size(), 2U);
  rows[2].status = CellStatus::kWrong;
  const auto stand = representatives(rows, "m");
  ASSERT_EQ(stand.size(), 1U);
  EXPECT_EQ(stand[0], &rows[0]);
  EXPECT_EQ(best_throughput(rows, "m", "openvino", rows[0]), nullptr);
  EXPECT_EQ(speedups_against_cpu(rows).size(), 0U);
}

TEST(Comparable, OnlyRowsOfOneModelWhateverItsName) {
  Record a = row("m", "cpu", "onnxruntime", 1), b = row("m", "openvino", "openvino", 2);
  a.graph_hash = b.graph_hash = "g";
  a.weights_hash = b.weights_hash = "w";
  EXPECT_TRUE(comparable(a, b));
  b.weights_hash = "other";
  EXPECT_FALSE(comparable(a, b));
  EXPECT_THAT(speedups_against_cpu(std::vector{a, b}), IsEmpty());
  // A newer builder's graph of the same configuration is the same model.
  b = a;
  a.config_hash = b.config_hash = "c";
  b.graph_hash = "newer";
  EXPECT_TRUE(comparable(a, b));
}

TEST(Recommend, NumbersInSentencesHaveNoExponent) {
  EXPECT_EQ(in_words(0.012345), "0.0123");
  EXPECT_EQ(in_words(99.96), "100");
  EXPECT_EQ(in_words(231.4), "231");
  EXPECT_EQ(in_words(10415.4), "10415");
  EXPECT_EQ(in_words(1234.56, 4), "1235");
  EXPECT_EQ(in_words(12.345, 4), "12.35");
}

}  // namespace
}  // namespace assay
