// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/analysis.hpp"
#include "core/result/launch_medians.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "history/analyse/results_for_test.hpp"
#include "history/store/dataset.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using testing::dataset;
using testing::ended;
using testing::result;

TEST(ModelLines, SayWhatIsBestByHowMuchAndInWhichState) {
  const Dataset data =
      dataset({result("bert", "cpu", 8), result("bert", "openvino", 4), result("bert", "cpu", 12, 4),
               result("bert", "openvino", 10, 4),
               ended(result("bert", "cuda", 1), CellStatus::kUnavailable, Reason::kNoHardware, "no GPU")});
  const Analysis analysis = analyse(data);
  ASSERT_THAT(analysis.models, SizeIs(1));
  const ModelLine& line = analysis.models[0];
  EXPECT_EQ(line.machine, "");
  ASSERT_TRUE(line.latency);
  EXPECT_EQ(line.latency->row, &data.cells[1]) << "answers point to the rows of the dataset";
  EXPECT_EQ(line.latency->runner_up, &data.cells[0]);
  EXPECT_THAT(line.latency->words, HasSubstr("2.00× as fast as cpu (95 %: "));
  ASSERT_TRUE(line.throughput);
  EXPECT_EQ(line.throughput->row, &data.cells[3]);
  EXPECT_EQ(line.throughput->of, 4U);
  EXPECT_EQ(state_words(line.states), "4 verified, 1 unavailable");
}

TEST(ModelLines, ClaimNothingThatOneProcessOrAnotherRunShows) {
  Dataset data = dataset({result("bert", "cpu", 8), result("bert", "openvino", 4)});
  data.cells[0].run_id = "earlier";
  EXPECT_EQ(analyse(data).models[0].latency->words, "not compared with cpu: measured in different runs");
  data = dataset({result("bert", "cpu", 4.001), result("bert", "openvino", 4)});
  EXPECT_THAT(analyse(data).models[0].latency->words, HasSubstr("no difference shown with cpu (± "));
  data = dataset(
      {result("bert", "openvino", 4), ended(result("bert", "cpu", 1), CellStatus::kFailed, Reason::kTimeout, "x")});
  EXPECT_EQ(analyse(data).models[0].latency->words, "the only verified choice here");
}

TEST(ModelLines, DoNotSendAnybodyToATargetThatComputesWrongNumbers) {
  Dataset data = dataset({result("bert", "cpu", 8), result("bert", "openvino", 4), result("bert", "openvino", 9, 4)});
  data.cells[2].status = CellStatus::kWrong;
  const Analysis analysis = analyse(data);
  EXPECT_EQ(analysis.models[0].latency->row, &data.cells[0]);
  EXPECT_EQ(analysis.models[0].latency->words, "the only verified choice here; openvino computes wrong numbers");
  EXPECT_THAT(analysis.choices[0].left_out, ElementsAre("openvino: computes wrong numbers (batch 4)"));
}

TEST(ModelLines, ATargetIsBestOnlyIfEachOtherOneIsShownToBeSlower) {
  Dataset data = dataset({result("bert", "cpu", 8), result("bert", "openvino", 4), result("bert", "webgpu", 9)});
  EXPECT_EQ(analyse(data).models[0].latency->runner_up, &data.cells[0]) << "the second, where all are slower";
  data.cells[2].launch_p50_ms = *parse_launch_medians("1:3 2:9 3:27");
  const Analysis analysis = analyse(data);
  const Best& best = *analysis.models[0].latency;
  EXPECT_EQ(best.row, &data.cells[1]);
  EXPECT_EQ(best.runner_up, &data.cells[2]) << "it may be the faster one";
  EXPECT_FALSE(best.ahead.baseline_ahead());
  EXPECT_THAT(best.words, HasSubstr("no difference shown with webgpu"));
  EXPECT_FALSE(analysis.models[0].throughput->ahead.baseline_ahead());
  EXPECT_THAT(analysis.choices[0].words,
              AllOf(HasSubstr("openvino (4 ms) and webgpu"), HasSubstr("(9 ms): no difference shown")));
  EXPECT_EQ(analysis.categories[0].best, "");
  data.cells[2].launch_p50_ms = *parse_launch_medians("1:8.99 2:9 3:9.01");
  EXPECT_EQ(analyse(data).categories[0].best, "openvino");
}

TEST(ModelLines, WhatIsFasterInPairedRoundsIsNotBeaten) {
  // A tail: more items in a second by its mean, but the other one has the lower median in each round.
  Dataset data = dataset({result("bert", "cpu", 8), result("bert", "openvino", 4)});
  data.cells[0].throughput_ips = 1000;
  const Best best = *analyse(data).models[0].throughput;
  EXPECT_EQ(best.row, &data.cells[0]);
  EXPECT_FALSE(best.ahead.baseline_ahead());
  EXPECT_THAT(best.words, HasSubstr("openvino at batch 1 is faster in paired rounds"));
  EXPECT_THAT(analyse(data, Goal::kThroughput).choices[0].words, Not(HasSubstr("use cpu")));
}

TEST(ModelLines, CompareMemoryOfOneKindOnly) {
  Dataset data = dataset({result("bert", "cpu", 8), result("bert", "openvino", 4), result("bert", "cuda", 2)});
  data.cells[0].memory_mb = 900;
  data.cells[1].memory_mb = 300;
  data.cells[2].memory_mb = 20;
  data.cells[2].memory_source = MemorySource::kDevice;
  const Analysis analysis = analyse(data, Goal::kMemory);
  EXPECT_EQ(analysis.models[0].least_memory, &data.cells[1]);
  EXPECT_EQ(analysis.choices[0].best, "openvino");
  for (const Opportunity& each : analysis.opportunities)
    if (each.kind == Opportunity::Kind::kMemory) {
      EXPECT_EQ(each.better, &data.cells[1]);
    }
}

TEST(ModelLines, SayWhyAModelHasNoBest) {
  Dataset data = dataset({ended(result("bert", "cpu", 1), CellStatus::kSkipped, Reason::kNotBuilt, "planned"),
                          ended(result("bert", "openvino", 1), CellStatus::kSkipped, Reason::kNotBuilt, "planned")});
  EXPECT_EQ(analyse(data).models[0].why_none, "skipped (not_built)");
  data = dataset({result("bert", "cpu", 8)});
  data.cells[0].flags.add(Flag::kUnsteady);
  EXPECT_EQ(analyse(data).models[0].why_none, "too disturbed or too uncertain to be ranked");
}

// Two results of one machine, and a result of another one with the same name.
Dataset of_two_machines() {
  Dataset data = dataset({result("bert", "cpu", 8), result("bert", "openvino", 4), result("bert", "cpu", 2)});
  data.cells[2].hardware_id = "another-id";
  return data;
}

TEST(ModelLines, AreOfEachMachine) {
  Dataset data = of_two_machines();
  data.cells[2].host = "workshop";
  const Analysis analysis = analyse(data);
  ASSERT_THAT(analysis.models, SizeIs(2));
  EXPECT_EQ(analysis.models[0].machine, "laboratory");
  EXPECT_EQ(analysis.models[0].latency->row, &data.cells[1]);
  EXPECT_EQ(analysis.models[1].machine, "workshop");
  EXPECT_EQ(analysis.models[1].latency->runner_up, nullptr) << "another machine's time is not comparable";
}

TEST(ModelLines, OfTwoMachinesOfOneHostHaveTwoNames) {
  Dataset data = of_two_machines();
  data.cells[2].model_id = "someone/bert";
  const Analysis analysis = analyse(data);
  ASSERT_THAT(analysis.models, SizeIs(2));
  EXPECT_EQ(analysis.models[0].machine, "laboratory machin");
  EXPECT_EQ(analysis.models[1].machine, "laboratory anothe");
  EXPECT_EQ(analysis.models[1].hardware_id, "another-id");
  EXPECT_EQ(analysis.models[1].model, "bert (someone/bert)") << "a name stands for one model on all machines";
  EXPECT_EQ(analysis.categories.at(1).hardware_id, "another-id");
  EXPECT_EQ(analysis.choices.at(1).hardware_id, "another-id");
}

TEST(HowSureOfADataset, TheScoreIsOfTheRunOfTheNewestCell) {
  Dataset data = dataset({result("bert", "cpu", 8)});
  RunFacts run;
  run.run_id = "later";
  run.environment = {{"doctor", {{"score", 10}}}};
  data.runs.push_back(run);
  run.run_id = "run";
  run.environment["doctor"] = {{"score", 90},
                               {"findings",
                                {{{"item", "turbo"}, {"verdict", "warn"}},
                                 {{"item", "smt"}, {"verdict", "ok"}},
                                 {{"item", "load"}, {"verdict", "bad"}}}}};
  data.runs.push_back(run);
  ASSERT_TRUE(machine_score(data));
  EXPECT_EQ(score_text(*machine_score(data)), "90 of 100 (load, turbo)");
  EXPECT_FALSE(machine_score(Dataset()));
}

TEST(Failures, HaveEachCauseOnce) {
  const Dataset data = dataset(
      {ended(result("bert", "openvino", 1), CellStatus::kUnavailable, Reason::kNoHardware, "no driver in /dev/x"),
       ended(result("vit", "openvino", 1), CellStatus::kUnavailable, Reason::kNoHardware, "no driver in /dev/x"),
       ended(result("bert", "cpu", 1, 4), CellStatus::kWrong, Reason::kMismatch, "error 0.5 is over its limit 1e-05"),
       ended(result("bert", "cpu", 1, 8), CellStatus::kWrong, Reason::kMismatch, "error 0.25 is over its limit 1e-05"),
       result("vit", "cpu", 1)});
  const std::vector<Failure> failures = analyse(data).failures;
  ASSERT_THAT(failures, SizeIs(2));
  EXPECT_EQ(failures[0].status, CellStatus::kWrong) << "the most urgent first";
  EXPECT_THAT(failures[0].where, ElementsAre("bert on cpu: batch_4, batch_8"));
  EXPECT_THAT(failures[0].hint, HasSubstr("`assay verify bert --engines onnxruntime --debug`"));
  EXPECT_THAT(failures[1].where, ElementsAre("bert, vit on openvino"));
  EXPECT_THAT(failures[1].cells, ElementsAre(&data.cells[0], &data.cells[1]));
}

TEST(Failures, OfSeveralMachinesNameTheMachine) {
  Dataset data = dataset({ended(result("bert", "cpu", 1), CellStatus::kFailed, Reason::kTimeout, "too slow"),
                          ended(result("bert", "cpu", 1), CellStatus::kFailed, Reason::kTimeout, "too slow")});
  data.cells[1].hardware_id = "machine-2";
  data.cells[1].host = "workshop";
  const std::vector<Failure> failures = analyse(data).failures;
  ASSERT_THAT(failures, SizeIs(1));
  EXPECT_THAT(failures[0].where, ElementsAre("bert on cpu of laboratory: batch_1", "bert on cpu of workshop: batch_1"));
}

TEST(Failures, OfTwoOperatorsOrTypesAreTwo) {
  std::vector<Record> rows;
  for (const char* message :
       {"operator Conv2d is not supported", "operator LayerNorm2d is not supported", "float16 is not available",
        "int8 is not available", "node_12 has 8 inputs (at 12ms)", "node_7 has 9 inputs (at 130ms)"})
    rows.push_back(ended(result("bert", "cpu", 1, static_cast<std::int64_t>(rows.size())), CellStatus::kFailed,
                         Reason::kInternal, message));
  const Dataset data = dataset(rows);
  const std::vector<Failure> failures = analyse(data).failures;
  ASSERT_THAT(failures, SizeIs(5));
  EXPECT_THAT(failures.back().cells, SizeIs(2));
}

TEST(Choices, AreGeometricMeansOverCommonCellsWithTheRunnerUp) {
  Dataset data = dataset({result("a", "cpu", 8), result("a", "openvino", 2), result("b", "cpu", 2),
                          result("b", "openvino", 2), result("b", "cpu", 100, 8)});
  const Analysis latency = analyse(data, Goal::kLatency);
  ASSERT_THAT(latency.choices, SizeIs(1));
  const Choice& choice = latency.choices[0];
  EXPECT_EQ(choice.best, "openvino");
  EXPECT_EQ(choice.runner_up, "cpu");
  EXPECT_EQ(choice.cells, 2U) << "the cell that only one of them has is left out";
  EXPECT_NEAR(*choice.value, 2, 1e-9);
  EXPECT_NEAR(*choice.runner_up_value, 4, 1e-9);
  EXPECT_THAT(choice.words, HasSubstr("text: use openvino: 2 ms, 2.00× as fast as cpu"));
  data.cells[3].memory_mb = 25;
  const Analysis memory = analyse(data, Goal::kMemory);
  EXPECT_THAT(memory.choices[0].words, HasSubstr("openvino: 50 MB against 100 MB of cpu; without an interval"));
  EXPECT_THAT(analyse(data, Goal::kEfficiency).choices[0].words,
              AllOf(HasSubstr("no peak was measured"), Not(HasSubstr("no target has"))));
}

TEST(Choices, ForThroughputMayUseAnotherBatchOnEachTarget) {
  Dataset data = dataset(
      {result("a", "cpu", 8), result("a", "openvino", 8), result("a", "cpu", 64, 4), result("a", "openvino", 8.5, 4)});
  const Choice choice = analyse(data, Goal::kThroughput).choices[0];
  EXPECT_EQ(choice.best, "openvino");
  EXPECT_NEAR(*choice.value, 4000 / 8.5, 1e-6);
  EXPECT_NEAR(*choice.runner_up_value, 125, 1e-6);
  EXPECT_NEAR(choice.ahead.ratio, 8 / (8.5 / 4), 1e-3);
}

TEST(Categories, AreComparedOverTheCellsThatAllTargetsHave) {
  const Dataset data = dataset({result("a", "cpu", 8), result("a", "openvino", 2), result("b", "cpu", 3),
                                result("b", "openvino", 3), result("b", "openvino", 50, 4), result("vit", "cpu", 5)});
  const std::vector<CategoryLine> lines = analyse(data).categories;
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].category, "text");
  EXPECT_EQ(lines[0].cells, 2U);
  EXPECT_EQ(lines[0].models, 2U);
  EXPECT_EQ(lines[0].baseline, "cpu");
  ASSERT_THAT(lines[0].targets, SizeIs(2));
  const CategoryLine::Target& openvino =
      lines[0].targets[0].target == "openvino" ? lines[0].targets[0] : lines[0].targets[1];
  EXPECT_NEAR(openvino.against.ratio, 2, 1e-6) << "twice as fast as the CPU";
  EXPECT_EQ(lines[1].baseline, "") << "one target alone is compared with nothing";
  EXPECT_NEAR(lines[1].targets.at(0).latency_ms.value_or(0), 5, 1e-9);
  const std::vector<CategoryLine> architectures = analyse(data).architectures;
  ASSERT_THAT(architectures, SizeIs(2));
  EXPECT_EQ(architectures[0].architecture, "text");
}

TEST(Opportunities, HaveAFactorAndACell) {
  Dataset data = dataset({result("a", "cpu", 8), result("a", "openvino", 2), result("a", "openvino", 4, 8)});
  data.cells[0].memory_mb = 300;
  data.machines.push_back({"machine-1", "laboratory", "", Json{{"cpu_cores", 8}}, "", ""});
  data.cells[1].effective_threads = 2;
  const std::vector<Opportunity> found = analyse(data).opportunities;
  ASSERT_THAT(found, SizeIs(4));
  EXPECT_EQ(found[0].kind, Opportunity::Kind::kRuntime);
  EXPECT_EQ(found[0].cell, &data.cells[0]);
  EXPECT_EQ(found[0].better, &data.cells[1]);
  EXPECT_NEAR(found[0].factor, 4, 1e-9);
  EXPECT_THAT(found[0].words, HasSubstr("a on cpu, batch 1: openvino is 4.00×"));
  EXPECT_EQ(found[1].kind, Opportunity::Kind::kBatch);
  EXPECT_NEAR(found[1].factor, 4, 1e-9);
  EXPECT_FALSE(found[2].claimed);
  EXPECT_EQ(found[2].kind, Opportunity::Kind::kThreads);
  EXPECT_THAT(found[2].words, HasSubstr("openvino uses 2 of 8 cores"));
  EXPECT_EQ(found[3].kind, Opportunity::Kind::kMemory);
  EXPECT_THAT(found[3].words, HasSubstr("300 MB, openvino needs 100"));
}

TEST(Opportunities, AreNoneWhereNothingIsShown) {
  Dataset data = dataset({result("a", "cpu", 8), result("a", "openvino", 2)});
  data.cells[0].launch_p50_ms = data.cells[1].launch_p50_ms = *parse_launch_medians("");
  EXPECT_THAT(analyse(data).opportunities, IsEmpty());
}

TEST(Efficiency, IsTheShareOfTheMeasuredPeakOfTheSamePrecision) {
  Dataset data = dataset({result("a", "cpu", 8, 4), result("a", "openvino", 8)});
  data.cells[0].flops = 8e9;  // of the whole batch, in 8 ms: 10^12 in a second
  data.cells[0].flops_counted = 0.5;
  data.cells[1].flops = 1e9;
  data.peaks.push_back(
      {"machine-1", "cpu", "CPU", "float32", "onnxruntime", "1.30", 4e12, 0, 2, "2026-03-02T00:00:00Z"});
  data.peaks.push_back(
      {"machine-1", "cpu", "CPU", "bfloat16", "onnxruntime", "1.30", 9e12, 0, 2, "2026-03-02T00:00:00Z"});
  const Analysis analysis = analyse(data);
  ASSERT_THAT(analysis.efficiency, SizeIs(1));
  EXPECT_NEAR(analysis.efficiency[0].share, 0.25, 1e-9);
  EXPECT_FALSE(analysis.efficiency[0].counted_whole);
  EXPECT_THAT(analysis.efficiency_missing,
              ElementsAre("no peak of openvino in float32 was measured: `assay doctor --peak` measures it"));
}

TEST(Efficiency, IsOfTheCellsThatAllTargetsHave) {
  Dataset data =
      dataset({result("a", "cpu", 8), result("a", "openvino", 4), result("b", "cpu", 1, 8), result("c", "qnn", 1)});
  for (Record& row : data.cells) {
    row.flops = 1e9;
    row.flops_counted = 1;
  }
  for (const char* hardware : {"cpu", "openvino", "qnn"})
    data.peaks.push_back(
        {"machine-1", hardware, "", "float32", "onnxruntime", "1", 1e12, 0, 2, "2026-03-02T00:00:00Z"});
  const Analysis analysis = analyse(data);
  ASSERT_THAT(analysis.efficiency, SizeIs(2));
  EXPECT_EQ(analysis.efficiency[0].target, "cpu");
  EXPECT_EQ(analysis.efficiency[0].cells, 1U);
  EXPECT_NEAR(analysis.efficiency[0].share, 0.125, 1e-9);
  EXPECT_THAT(analysis.efficiency_missing,
              ElementsAre("no cell of qnn in float32 (text) is one that the other targets have"));
}

TEST(Efficiency, OfADeviceIsNotTheShareOfThePeakOfAnother) {
  Dataset data = dataset({result("a", "cuda", 8)});
  data.cells[0].flops = 1e9;
  data.cells[0].device = "cuda:1";
  data.peaks.push_back(
      {"machine-1", "cuda", "cuda:0", "float32", "onnxruntime", "1", 9e12, 0, 0, "2026-03-02T00:00:00Z"});
  data.peaks.push_back(
      {"machine-1", "cuda", "cuda:1", "float32", "onnxruntime", "1", 1e12, 0, 0, "2026-03-02T00:00:00Z"});
  ASSERT_THAT(analyse(data).efficiency, SizeIs(1));
  EXPECT_NEAR(analyse(data).efficiency[0].share, 0.125, 1e-9);
}

TEST(Goals, HaveWords) {
  EXPECT_EQ(goal_from("throughput"), Goal::kThroughput);
  EXPECT_EQ(to_string(Goal::kMemory), "memory");
  EXPECT_EQ(goal_from("speed"), std::nullopt);
}

}  // namespace
}  // namespace assay
