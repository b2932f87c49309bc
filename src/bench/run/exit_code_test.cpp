// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/run/session.hpp"

namespace assay {
namespace {

Record row(CellStatus status, Word<Reason> reason_code = {}, Verification verification = Verification::kUnverified) {
  Record row;
  row.model = "m";
  row.status = status;
  row.reason_code = reason_code;
  row.verification = verification;
  return row;
}

const Record kVerified = row(CellStatus::kCompleted, {}, Verification::kVerified);
const Record kDegenerate = row(CellStatus::kCompleted, {}, Verification::kDegenerate);

ExitCode code(std::vector<Record> rows, bool from_set, bool verify_command = false) {
  SessionResult session;
  session.rows = std::move(rows);
  ModelChoice model;
  model.name = "m";
  model.from_set = from_set;
  return exit_code_of(session, {model}, verify_command);
}
ExitCode named(std::vector<Record> rows, bool verify_command = false) {
  return code(std::move(rows), false, verify_command);
}
ExitCode in_set(std::vector<Record> rows) { return code(std::move(rows), true); }

TEST(ExitCode, ARefusalFailsAModelThatWasNamedAndNotOneOfASet) {
  const Record refused = row(CellStatus::kUnsupported, Reason::kUnsupported);
  EXPECT_EQ(named({kVerified, refused}), ExitCode::kFailure);
  EXPECT_EQ(in_set({kVerified, refused}), ExitCode::kSuccess);
  EXPECT_EQ(in_set({refused}), ExitCode::kCannotTell);
}

TEST(ExitCode, ABatchThatTheFileDoesNotHaveIsARefusal) {
  const Record fixed = row(CellStatus::kUnsupported, Reason::kFixedShape);
  EXPECT_EQ(named({kVerified, fixed}), ExitCode::kFailure);
  EXPECT_EQ(named({fixed}), ExitCode::kFailure);
  EXPECT_EQ(in_set({kVerified, fixed}), ExitCode::kSuccess);
}

TEST(ExitCode, WhatDoesNotFitFailsWhatIsSlowByDefaultDoesNot) {
  EXPECT_EQ(named({kVerified, row(CellStatus::kSkipped, Reason::kTooLarge)}), ExitCode::kFailure);
  EXPECT_EQ(named({kVerified, row(CellStatus::kSkipped, Reason::kNoTime)}), ExitCode::kSuccess);
}

TEST(ExitCode, AResultThatCouldNotBeSavedIsAFailure) {
  SessionResult session;
  session.rows = {kVerified};
  session.unsaved = {{"m on cpu@null batch_1", "cannot write 'x': No space left on device"}};
  EXPECT_EQ(exit_code_of(session, {}, false), ExitCode::kFailure);
}

TEST(ExitCode, FailuresAndFindingsCountInSetsToo) {
  EXPECT_EQ(in_set({kVerified, row(CellStatus::kFailed, Reason::kTimeout)}), ExitCode::kFailure);
  EXPECT_EQ(in_set({kVerified, row(CellStatus::kWrong, Reason::kMismatch)}), ExitCode::kFinding);
  EXPECT_EQ(in_set({row(CellStatus::kFailed, Reason::kTimeout), row(CellStatus::kWrong, Reason::kMismatch)}),
            ExitCode::kFailure)
      << "something failed comes before a finding";
}

TEST(ExitCode, HardwareThatIsNotHereIsARowAsLongAsSomethingRan) {
  const Record absent = row(CellStatus::kUnavailable, Reason::kNoHardware);
  EXPECT_EQ(named({kVerified, absent}), ExitCode::kSuccess);
  EXPECT_EQ(named({absent}), ExitCode::kCannotTell);
}

TEST(ExitCode, NothingThatWasAskedForIsBuilt) {
  const Record planned = row(CellStatus::kSkipped, Reason::kNotBuilt);
  EXPECT_EQ(named({planned}), ExitCode::kUsage);
  EXPECT_EQ(in_set({planned, planned}), ExitCode::kUsage);
  EXPECT_EQ(in_set({kVerified, planned}), ExitCode::kSuccess);
}

TEST(ExitCode, VerifyOfWhatProvesNothingIsCannotTell) {
  EXPECT_EQ(named({kDegenerate}, true), ExitCode::kCannotTell);
  EXPECT_EQ(named({kDegenerate}), ExitCode::kSuccess);
  EXPECT_EQ(named({kDegenerate, kVerified}, true), ExitCode::kSuccess);
}

}  // namespace
}  // namespace assay
