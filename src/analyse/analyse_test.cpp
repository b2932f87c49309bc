// SPDX-License-Identifier: Apache-2.0
#include "analyse/analyse.hpp"

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

Record row(const std::string& model, const std::string& hardware, const std::string& engine, double p50,
           std::int64_t batch = 1) {
  Record r;
  r.model = model;
  r.family = "embedding";
  r.hardware = hardware;
  r.engine = engine;
  r.precision = "float32";
  r.effective_precision = "float32";
  r.contract = "e2e_host";
  r.status = CellStatus::kCompleted;
  r.verification = Verification::kVerified;
  r.batch_size = batch;
  r.streams = 1;
  r.latency_p50_ms = p50;
  r.latency_p50_low_ms = p50 * 0.99;
  r.latency_p50_high_ms = p50 * 1.01;
  r.throughput_ips = 1000.0 * static_cast<double>(batch) / p50;
  r.iterations = 100;
  return r;
}

TEST(ShapeKey, NamesOnlyWhatIsNotTheDefault) {
  Record r = row("m", "cpu", "onnxruntime", 1);
  EXPECT_EQ(shape_key(r), "batch_1");
  r.sequence_length = 128;
  r.precision = "float16";
  r.streams = 2;
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2");
  r.contract = "device_resident";
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2_device_resident");
  r.kv_cache = "growing";
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2_device_resident") << "a growing cache is the default";
  r.kv_cache = "static";
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2_device_resident_kv_static");
  r.kv_cache = "runtime";
  r.engine_options = "graph=off";
  EXPECT_EQ(shape_key(r), "batch_1_seq_128_float16_streams_2_device_resident_kv_runtime_8b5b1395");
}

Record unreached(Record r) {
  r.status = CellStatus::kSkipped;
  r.reason_code = "cancelled";
  r.latency_p50_ms = std::nullopt;
  return r;
}

Record cut_short(Record r) {
  r.add_flag(flag::kPartial);
  r.stop_reason = "interrupted";
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
  EXPECT_EQ(performance_rating(rows, "openvino"), std::nullopt);
  EXPECT_EQ(performance_rating(rows, "cpu"), std::nullopt) << "the fastest of those that were not compared";
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
  EXPECT_DOUBLE_EQ(found[0].factor, 2.0);  // sqrt(4 * 1)
  EXPECT_EQ(found[0].pairs, 2U);
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
  rows[1].add_flag(flag::kSimulated);
  EXPECT_THAT(speedups_against_cpu(rows), IsEmpty());
}

TEST(Rating, IsRelativeToTheFastestOnTheSameCell) {
  const std::vector<Record> rows{row("a", "cpu", "onnxruntime", 5.4), row("a", "cuda", "onnxruntime", 1.0),
                                 row("a", "openvino", "openvino", 3.4), row("a", "qnn", "onnxruntime", 11)};
  EXPECT_EQ(performance_rating(rows, "cuda"), "high");
  EXPECT_EQ(performance_rating(rows, "openvino"), "medium-high");
  EXPECT_EQ(performance_rating(rows, "cpu"), "medium");
  EXPECT_EQ(performance_rating(rows, "qnn"), "low");
  EXPECT_EQ(performance_rating(rows, "mps"), std::nullopt);

  std::vector<Record> wrong = rows;
  wrong.push_back(row("a", "cuda", "onnxruntime", 1.0, 4));
  wrong.back().status = CellStatus::kWrong;
  EXPECT_EQ(performance_rating(wrong, "cuda"), std::nullopt) << "fast and wrong is not fast";
  EXPECT_EQ(performance_rating(wrong, "openvino"), "medium-high");
}

TEST(Recommendations, SayWhenThereIsNoSignificantDifference) {
  std::vector<Record> rows{row("a", "cpu", "onnxruntime", 1.000), row("a", "openvino", "openvino", 1.005)};
  EXPECT_THAT(recommendations(rows), Contains(HasSubstr("no significant difference")));
  rows[1] = row("a", "openvino", "openvino", 0.5);
  EXPECT_THAT(recommendations(rows), Contains(HasSubstr("use openvino for latency")));
  rows.push_back(row("a", "openvino", "openvino", 2, 4));
  rows.back().status = CellStatus::kWrong;
  EXPECT_THAT(recommendations(rows), Not(Contains(HasSubstr("use openvino")))) << "wrong at another batch";
  rows[1].status = CellStatus::kWrong;
  EXPECT_THAT(recommendations(rows), Not(Contains(HasSubstr("use openvino"))));
  EXPECT_THAT(next_steps(rows), Contains(HasSubstr("computes wrong numbers")));
  rows[0].add_flag(flag::kNoisy);
  EXPECT_THAT(next_steps(rows).front(), HasSubstr("computes wrong numbers")) << "what is wrong comes first";
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
