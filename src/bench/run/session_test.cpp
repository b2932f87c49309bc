// SPDX-License-Identifier: Apache-2.0
#include "bench/run/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "bench/measure/environment.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

/// Sessions of the null engine, which needs no model file.
class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("HF_HUB_OFFLINE", "1", 1);
    ::setenv("HF_HOME", (folder_.path() / "hf").c_str(), 1);
  }
  [[nodiscard]] SessionRequest request(const std::vector<std::string>& models) const {
    SessionRequest request;
    request.command = "assay bench";
    for (const std::string& name : models) {
      request.models.emplace_back();
      request.models.back().name = name;
      request.models.back().family = "other";
    }
    request.targets.engines = {"null"};
    request.settings.batch_sizes = {1, 2};
    request.settings.measure.iterations = 5;
    request.settings.measure.warmup_iterations = 1;
    request.database = folder_.path() / "history.duckdb";
    request.spool = default_spool(request.database);
    request.cache = folder_.path() / "cache";
    request.places.plugins = fs::path(ASSAY_BINARY_DIR) / "lib/assay/engines";
    request.places.worker = fs::path(ASSAY_BINARY_DIR) / "bin/assay-worker";
    return request;
  }
  /// "model batch status" of each row.
  static std::vector<std::string> outcomes(const SessionResult& session) {
    std::vector<std::string> lines;
    for (const Record& row : session.rows)
      lines.push_back(row.model + " " + std::to_string(row.batch_size.value_or(0)) + " " +
                      std::string(to_string(row.status)));
    return lines;
  }
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-session-test-").value();
};

TEST_F(SessionTest, AsManyCellsFinishAsWereAnnounced) {
  SessionRequest asked = request({});
  for (const char* name : {"prajjwal1/bert-tiny", "WinKawaks/vit-tiny-patch16-224"}) {  // the second has no sequence
    asked.models.emplace_back();
    asked.models.back().name = asked.models.back().reference = name;
  }
  asked.settings.sequence_lengths = {8, 16};
  asked.save = false;
  std::size_t announced = 0, finished = 0;
  std::vector<std::string> made;
  asked.expecting = [&](std::size_t cells) { announced = cells; };
  asked.finished = [&](const Record&, bool) { ++finished; };
  asked.making = [&](const std::string& what) { made.push_back(what); };
  const auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_EQ(announced, 2U * 2 + 2);
  EXPECT_EQ(finished, announced);
  EXPECT_THAT(session->rows, SizeIs(announced));
  EXPECT_THAT(made, ElementsAre("building prajjwal1/bert-tiny", "building WinKawaks/vit-tiny-patch16-224"));
}

TEST_F(SessionTest, NothingIsBuiltForHardwareThatIsNotHere) {
  SessionRequest asked = request({});
  for (const char* name : {"prajjwal1/bert-tiny", "meta-llama/Llama-2-7b-hf"}) {
    asked.models.emplace_back();
    asked.models.back().name = asked.models.back().reference = name;
  }
  asked.targets = {};
  asked.targets.hardware = {"tpu"};
  asked.save = false;
  std::size_t announced = 0;
  asked.expecting = [&](std::size_t cells) { announced = cells; };
  asked.making = [](const std::string& what) { ADD_FAILURE() << what; };
  const auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  ASSERT_THAT(session->rows, SizeIs(2));
  EXPECT_EQ(announced, 2U);
  for (const Record& row : session->rows) {
    EXPECT_NE(row.status, CellStatus::kCompleted);
    EXPECT_EQ(row.hardware, "tpu");
    EXPECT_FALSE(row.architecture.empty());
  }
  EXPECT_FALSE(fs::exists(asked.cache / "models"));
}

TEST_F(SessionTest, AnotherDeviceIsAnotherPlan) {
  SessionRequest asked = request({"m"});
  asked.output_dir = folder_.path() / "out";
  auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  ASSERT_THAT(save_session(asked, *session), IsEmpty());
  asked.resume = true;
  asked.settings.timeout = std::chrono::seconds(61);  // no model of a set: its size does not depend on it
  EXPECT_THAT(run_session(asked).value().notes, IsEmpty());
  asked.targets.device = "cpu";
  EXPECT_THAT(run_session(asked).value().notes, ElementsAre(HasSubstr("no earlier run of this plan")));
}

TEST_F(SessionTest, AnotherSizeOfAModelOfASetIsAnotherRun) {
  SessionRequest asked = request({"bert"});
  asked.models[0].reference = "prajjwal1/bert-tiny";
  asked.models[0].any_size = true;
  asked.output_dir = folder_.path() / "out";
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  ASSERT_THAT(save_session(asked, *first), IsEmpty());
  asked.resume = true;
  const auto same = run_session(asked);
  ASSERT_TRUE(same) << to_string(same.error());
  EXPECT_EQ(same->run.run_id, first->run.run_id);
  EXPECT_THAT(same->kept, SizeIs(2));

  // As if a longer --timeout had chosen a larger model then.
  const fs::path mark = asked.output_dir / ".assay_run.json";
  Json before = read_json(mark).value();
  ASSERT_EQ(before.at("sizes").at(0).at("model_id"), "prajjwal1/bert-tiny");
  before["sizes"][0]["model_id"] = "google-bert/bert-base-uncased";
  ASSERT_TRUE(write_file_atomically(mark, before.dump()));
  const auto other = run_session(asked);
  ASSERT_TRUE(other) << to_string(other.error());
  EXPECT_NE(other->run.run_id, first->run.run_id);
  EXPECT_THAT(other->kept, IsEmpty());
  EXPECT_THAT(other->notes, Contains(AllOf(HasSubstr("--resume: bert was google-bert/bert-base-uncased"),
                                           HasSubstr("is now prajjwal1/bert-tiny"), HasSubstr("a new run"))));
  EXPECT_EQ(read_json(mark)->at("run_id"), other->run.run_id);
}

TEST_F(SessionTest, AnInterruptionDuringPreparationIsAnError) {
  SessionRequest asked = request({"m"});
  asked.cancelled = [] { return true; };
  const auto session = run_session(asked);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kCancelled);
}

TEST_F(SessionTest, AnInterruptionLeavesARowForEachCellAndResumingKeepsThoseBefore) {
  SessionRequest asked = request({"a"});
  asked.settings.batch_sizes = {1, 2, 4};
  asked.output_dir = folder_.path() / "out";
  std::size_t announced = 0, finished = 0;
  asked.expecting = [&](std::size_t cells) { announced = cells; };
  asked.finished = [&](const Record&, bool) { ++finished; };
  asked.cancelled = [&] { return finished > 0; };
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  EXPECT_TRUE(first->interrupted);
  EXPECT_EQ(announced, 3U);
  EXPECT_THAT(outcomes(*first), ElementsAre("a 1 completed", "a 2 skipped", "a 4 skipped"));
  EXPECT_EQ(first->rows[1].reason_code, Reason::kCancelled);
  EXPECT_EQ(first->resume_command, "assay bench --resume");
  EXPECT_THAT(first->kept, IsEmpty());
  EXPECT_THAT(first->logs, SizeIs(1)) << "of the one that ran";
  EXPECT_TRUE(fs::exists(first->logs.begin()->second));
  EXPECT_THAT(*list_bundles(asked.spool), SizeIs(1)) << "what never ran has no result";
  ASSERT_THAT(save_session(asked, *first), IsEmpty());

  asked.resume = true;
  finished = 0;
  asked.cancelled = [] { return false; };
  const auto second = run_session(asked);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_THAT(outcomes(*second), ElementsAre("a 1 completed", "a 2 completed", "a 4 completed"));
  EXPECT_EQ(finished, 3U) << "each cell counts once";
  EXPECT_THAT(second->kept, ElementsAre(first->rows[0].attempt_id));
  EXPECT_EQ(second->rows[0].attempt_id, first->rows[0].attempt_id);
  EXPECT_EQ(second->resume_command, "");
}

TEST_F(SessionTest, ReportAndDatabaseShowTheSameRowIfSamplesCannotBeRead) {
  SessionRequest asked = request({"a"});
  asked.settings.launches = 3;
  asked.output_dir = folder_.path() / "out";
  std::size_t launched = 0;
  asked.launched = [&](const Record&, bool kept) { launched += kept ? 0 : 1; };
  asked.cancelled = [&] { return launched >= 3; };
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  ASSERT_THAT(save_session(asked, *first), IsEmpty());
  const fs::path damaged = list_bundles(asked.spool).value().at(0) / bundle_file::kSamples;
  ASSERT_TRUE(fs::exists(damaged));
  ASSERT_TRUE(write_file_atomically(damaged, "these are no samples"));

  asked.resume = true;
  asked.cancelled = [] { return false; };
  auto second = run_session(asked);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_THAT(second->notes, Contains(AllOf(HasSubstr(damaged.filename().string()),
                                            HasSubstr("the times of this launch are those in the database"))));
  std::ignore = save_session(asked, *second);
  auto store = Store::open(asked.database, Store::Mode::kRead);
  ASSERT_TRUE(store) << to_string(store.error());
  const std::vector<Record> stored = store->results({.run_id = second->run.run_id}).value();
  ASSERT_THAT(stored, SizeIs(2));
  for (const Record& row : stored) {
    EXPECT_EQ(row.launches, 3);
    EXPECT_EQ(to_json(row), to_json(second->rows.at(row.batch_size == 1 ? 0 : 1)));
  }
}

TEST_F(SessionTest, ResumingAddsTheLaunchesThatAreMissing) {
  SessionRequest asked = request({"a"});
  asked.settings.launches = 3;
  asked.output_dir = folder_.path() / "out";
  std::size_t launched = 0, expected = 0;
  asked.launched = [&](const Record&, bool kept) { launched += kept ? 0 : 1; };
  asked.time_left = [&](const TimeLeft& left) { expected = left.launches; };
  asked.cancelled = [&] { return launched >= 3; };
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  EXPECT_TRUE(first->interrupted);
  EXPECT_EQ(expected, 6U);
  EXPECT_THAT(outcomes(*first), ElementsAre("a 1 completed", "a 2 completed"));
  EXPECT_EQ(first->rows[0].launches, 1);
  EXPECT_EQ(first->rows[1].launches, 2);
  EXPECT_THAT(first->partly, UnorderedElementsAre(first->rows[0].attempt_id, first->rows[1].attempt_id));
  EXPECT_EQ(first->resume_command, "assay bench --resume");
  ASSERT_THAT(save_session(asked, *first), IsEmpty());

  asked.resume = true;
  launched = 0;
  asked.cancelled = [] { return false; };
  auto second = run_session(asked);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_EQ(launched, 3U);
  ASSERT_THAT(second->rows, SizeIs(2));
  EXPECT_THAT(second->kept, IsEmpty()) << "both cells have new launches";
  EXPECT_THAT(second->partly, IsEmpty());
  for (const Record& row : second->rows) EXPECT_EQ(row.launches, 3);
  ASSERT_THAT(save_session(asked, *second), IsEmpty());

  auto store = Store::open(asked.database, Store::Mode::kRead);
  ASSERT_TRUE(store) << to_string(store.error());
  const std::vector<Record> stored = store->results({.run_id = second->run.run_id}).value();
  ASSERT_THAT(stored, SizeIs(2));
  for (const Record& row : stored) {
    const Record& shown = second->rows.at(row.batch_size == 1 ? 0 : 1);
    EXPECT_EQ(row.latency_p50_ms, shown.latency_p50_ms) << "the database derives the same row";
    EXPECT_EQ(row.launch_p50_ms, shown.launch_p50_ms);
    EXPECT_EQ(row.launches, 3);
  }
}

TEST_F(SessionTest, ABudgetThatIsTooSmallSaysWhatItGivesUp) {
  SessionRequest asked = request({"a"});
  asked.settings.launches = 3;
  asked.settings.budget = std::chrono::nanoseconds(1);
  asked.save = false;
  asked.launched = [](const Record&, bool) { log_warning("a 1 launched"); };
  ::testing::internal::CaptureStderr();
  const auto session = run_session(asked);
  const std::string warnings = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_THAT(session->notes, Contains(HasSubstr("the cell has fewer than 3 launches")));
  EXPECT_EQ(std::ranges::count_if(session->notes,
                                  [](const std::string& note) { return note.find("expected time") != note.npos; }),
            1);
  EXPECT_LT(warnings.find("the plan was reduced as far as possible and takes about"), warnings.find("a 1 launched"))
      << warnings;
  EXPECT_THAT(session->notes, Contains(HasSubstr("batch 2 is not measured")));
  EXPECT_THAT(outcomes(*session), ElementsAre("a 1 completed", "a 2 skipped"));
  EXPECT_EQ(session->rows[0].launches, 1);
  EXPECT_EQ(session->rows[1].reason_code, Reason::kNoTime);
}

TEST_F(SessionTest, ResumingWithABudgetPlansOnlyTheLaunchesThatAreMissing) {
  SessionRequest asked = request({"a"});
  asked.settings.launches = 3;
  asked.settings.batch_sizes = {1};
  asked.settings.budget = std::chrono::nanoseconds(1);
  asked.output_dir = folder_.path() / "out";
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  EXPECT_EQ(first->rows.at(0).launches, 1);
  ASSERT_THAT(save_session(asked, *first), IsEmpty());

  asked.resume = true;
  std::size_t launched = 0;
  std::vector<std::size_t> expected;
  asked.launched = [&](const Record&, bool kept) { launched += kept ? 0 : 1; };
  asked.time_left = [&](const TimeLeft& left) { expected.push_back(left.launches); };
  for (const std::int64_t launches : {2, 3}) {
    auto again = run_session(asked);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(again->rows.at(0).launches, launches) << "one more, whatever the budget";
    EXPECT_EQ(again->rows.at(0).planned_launches, 3);
    EXPECT_EQ(expected.back(), static_cast<std::size_t>(launches));
    ASSERT_THAT(save_session(asked, *again), IsEmpty());
  }
  EXPECT_EQ(launched, 2U);
  const auto last = run_session(asked);
  ASSERT_TRUE(last) << to_string(last.error());
  EXPECT_EQ(launched, 2U) << "it is complete";
  EXPECT_THAT(last->kept, SizeIs(1));
  EXPECT_THAT(last->notes, ::testing::Not(Contains(HasSubstr("what was left"))));
}

TEST_F(SessionTest, ResumedRowsOfTwoNamesOfOneModelKeepTheirNames) {
  SessionRequest asked = request({"a", "b"});
  asked.models[0].reference = asked.models[1].reference = "prajjwal1/bert-tiny";
  asked.models[0].family = "embedding";
  asked.models[1].family = "vision";
  asked.output_dir = folder_.path() / "out";
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  EXPECT_EQ(first->rows.at(0).task_key, first->rows.at(2).task_key);
  ASSERT_THAT(save_session(asked, *first), IsEmpty());
  asked.resume = true;
  const auto second = run_session(asked);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_THAT(outcomes(*second), ElementsAre("a 1 completed", "a 2 completed", "b 1 completed", "b 2 completed"));
  ASSERT_EQ(second->rows.size(), first->rows.size());
  for (std::size_t i = 0; i < first->rows.size(); ++i) {
    EXPECT_EQ(second->rows[i].attempt_id, first->rows[i].attempt_id) << "row " << i;
    EXPECT_EQ(second->rows[i].family, first->rows[i].family) << "row " << i;
    EXPECT_EQ(second->rows[i].model_id, first->rows[i].model_id) << "row " << i;
    EXPECT_EQ(second->rows[i].attempt_number, 1) << "row " << i;
  }
}

TEST_F(SessionTest, ResumingRunsTheNameThatFailedAndKeepsTheOtherNameOfTheModel) {
  SessionRequest asked = request({"a", "b"});
  asked.models[0].reference = asked.models[1].reference = "prajjwal1/bert-tiny";
  asked.settings.batch_sizes = {1};
  asked.output_dir = folder_.path() / "out";
  asked.doing = [](const std::string& what) {
    if (what.starts_with("b on") && what.ends_with("measuring")) throw std::runtime_error("broken");
  };
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  ASSERT_THAT(outcomes(*first), ElementsAre("a 1 completed", "b 1 failed"));
  ASSERT_THAT(save_session(asked, *first), IsEmpty());
  asked.resume = true;
  asked.doing = {};
  const auto second = run_session(asked);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_THAT(outcomes(*second), ElementsAre("a 1 completed", "b 1 completed"));
  EXPECT_EQ(second->rows.at(0).attempt_id, first->rows.at(0).attempt_id);
  EXPECT_EQ(second->rows.at(0).attempt_number, 1);
}

TEST_F(SessionTest, ASlowPython3DelaysNoError) {
  struct Path {
    std::string before = std::getenv("PATH");
    ~Path() { ::setenv("PATH", before.c_str(), 1); }
  } const path;
  std::ofstream(folder_.path() / "python3") << "#!/bin/sh\nsleep 1200\n";
  fs::permissions(folder_.path() / "python3", fs::perms::owner_all);
  ::setenv("PATH", (folder_.path().string() + ":" + path.before).c_str(), 1);
  const auto began = std::chrono::steady_clock::now();
  SessionRequest asked = request({"a"});
  asked.targets.engines = {"nonsense"};
  EXPECT_FALSE(run_session(asked));
  asked = request({"a"});
  asked.cancelled = [] { return true; };
  const auto session = run_session(asked);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::minutes(10)) << "it waits for python3";
}

TEST_F(SessionTest, ResumingWithoutTheHistoryIsAnErrorBeforeAnythingIsMeasured) {
  SessionRequest asked = request({"a"});
  asked.output_dir = folder_.path() / "out";
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  ASSERT_THAT(save_session(asked, *first), IsEmpty());

  const auto other = Store::open(asked.database, Store::Mode::kWrite);
  ASSERT_TRUE(other) << to_string(other.error());
  asked.resume = true;
  std::size_t finished = 0;
  asked.finished = [&](const Record&, bool) { ++finished; };
  const auto resumed = run_session(asked);
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().code, ErrorCode::kStoreBusy);
  EXPECT_THAT(resumed.error().context, ElementsAre(HasSubstr("--resume")));
  EXPECT_EQ(finished, 0U);

  asked.resume = false;
  asked.settings.verify = false;
  const auto unverified = run_session(asked);
  ASSERT_TRUE(unverified) << to_string(unverified.error());
  EXPECT_THAT(unverified->notes, ElementsAre(HasSubstr("no earlier verification is used")));
}

TEST_F(SessionTest, TheLogOfAKeptRowIsFoundUnderItsFormerTaskKey) {
  SessionRequest asked = request({"a"});
  asked.settings.batch_sizes = {1};
  asked.output_dir = folder_.path() / "out";
  auto first = run_session(asked);
  ASSERT_TRUE(first) << to_string(first.error());
  const std::string attempt = first->rows.at(0).attempt_id;
  // As after an upgrade that computes other keys.
  const fs::path former = asked.spool / std::string(64, '0');
  fs::rename(asked.spool / first->rows[0].task_key, former);
  ASSERT_THAT(save_session(asked, *first), IsEmpty());
  asked.resume = true;
  const auto second = run_session(asked);
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_THAT(second->kept, ElementsAre(attempt));
  ASSERT_TRUE(second->logs.contains(attempt));
  EXPECT_EQ(second->logs.at(attempt), former / attempt / "worker.log");
}

TEST_F(SessionTest, ARunThatIsNotSavedCannotBeResumed) {
  SessionRequest asked = request({"a"});
  asked.save = false;
  std::size_t finished = 0;
  asked.finished = [&](const Record&, bool) { ++finished; };
  asked.cancelled = [&] { return finished > 0; };
  const auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_THAT(session->rows, SizeIs(2));
  EXPECT_EQ(session->resume_command, "");
}

TEST_F(SessionTest, SavingIsAStepOfItsOwnAfterTheReports) {
  const SessionRequest asked = request({"m"});
  auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_THAT(outcomes(*session), ElementsAre("m 1 completed", "m 2 completed"));
  EXPECT_FALSE(fs::exists(asked.database)) << "the database is touched after the reports are written";
  EXPECT_THAT(*list_bundles(asked.spool), SizeIs(2));
  EXPECT_THAT(save_session(asked, *session), IsEmpty());
  EXPECT_FALSE(session->store_failed);
  EXPECT_THAT(*Store::open(asked.database, Store::Mode::kRead)->results(), SizeIs(2));
}

TEST_F(SessionTest, ADatabaseThatCannotBeUsedIsANoteAndLosesNothing) {
  const SessionRequest asked = request({"m"});
  auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  {
    const auto reader = Store::open(asked.database, Store::Mode::kWrite);
    ASSERT_TRUE(reader);
    EXPECT_THAT(save_session(asked, *session),
                ElementsAre(AllOf(HasSubstr("history.duckdb.spool"), HasSubstr("history.snapshot.duckdb"))));
    EXPECT_TRUE(session->store_failed);
  }
  EXPECT_THAT(save_session(asked, *session), IsEmpty());
  EXPECT_THAT(*Store::open(asked.database, Store::Mode::kRead)->results(), SizeIs(2));
}

TEST_F(SessionTest, ARunThatIsNotSavedReadsVerdictsButChangesNoDatabase) {
  SessionRequest asked = request({"m"});
  asked.settings.batch_sizes = {1};
  asked.settings.verify = false;
  asked.save = false;
  auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_THAT(session->notes, IsEmpty());
  EXPECT_FALSE(fs::exists(asked.database));

  SessionRequest verified = request({"m"});
  verified.settings.batch_sizes = {1};
  auto first = run_session(verified);
  ASSERT_TRUE(first) << to_string(first.error());
  ASSERT_THAT(save_session(verified, *first), IsEmpty());
  const std::string before = sha256_file(asked.database).value();
  session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_EQ(session->rows.at(0).verification, Verification::kVerified);
  EXPECT_THAT(session->rows.at(0).message, HasSubstr("verdict of"));
  EXPECT_EQ(sha256_file(asked.database).value(), before);
}

TEST_F(SessionTest, AVerdictIsThatOfTheRowThatWasVerifiedHoweverOftenItIsUsed) {
  SessionRequest asked = request({"m"});
  asked.settings.batch_sizes = {1};
  auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  ASSERT_THAT(save_session(asked, *session), IsEmpty());
  const std::string verified = session->rows.at(0).timestamp, attempt = session->rows.at(0).attempt_id;
  asked.settings.verify = false;
  for (int i = 0; i < 2; ++i) {
    session = run_session(asked);
    ASSERT_TRUE(session) << to_string(session.error());
    EXPECT_EQ(session->rows.at(0).message, "verdict of " + verified);
    EXPECT_EQ(session->rows.at(0).verdict_source, attempt) << "not that of a row that has another's verdict";
    ASSERT_THAT(save_session(asked, *session), IsEmpty());
  }
}

TEST_F(SessionTest, RowsSayHowManyThreadsTheRuntimeUsesWhetherAskedForOrNot) {
  SessionRequest asked = request({"m"});
  asked.settings.batch_sizes = {1};
  asked.settings.threads = {0, 1};  // 0: nobody asked
  const auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  ASSERT_THAT(session->rows, SizeIs(2));
  EXPECT_FALSE(session->rows[0].threads);
  EXPECT_EQ(session->rows[0].effective_threads, static_cast<std::int64_t>(usable_threads()));
  EXPECT_EQ(session->rows[1].effective_threads, 1);
}

TEST_F(SessionTest, AnExceptionInTheMiddleOfACellCostsThatCellAlone) {
  SessionRequest asked = request({"a", "b"});
  asked.doing = [](const std::string& what) {
    if (what.starts_with("a on") && what.find("batch_1") != std::string::npos && what.ends_with("measuring"))
      throw std::runtime_error("broken");
  };
  const auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_THAT(outcomes(*session), ElementsAre("a 1 failed", "a 2 completed", "b 1 completed", "b 2 completed"));
  EXPECT_THAT(session->rows[0].message, HasSubstr("broken"));
  EXPECT_EQ(session->rows[0].reason_code, Reason::kInternal);
}

TEST_F(SessionTest, AnExceptionBesideTheCellsCostsThatModelAloneAndEachOfItsCellsHasARow) {
  SessionRequest asked = request({"a", "b"});
  std::size_t announced = 0, finished = 0;
  asked.expecting = [&](std::size_t cells) { announced = cells; };
  asked.finished = [&](const Record&, bool) { ++finished; };
  asked.doing = [](const std::string& what) {
    if (what.starts_with("a, ") && what.ends_with("reference")) throw std::runtime_error("broken");
  };
  const auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_THAT(outcomes(*session), ElementsAre("a 1 failed", "a 2 failed", "b 1 completed", "b 2 completed"));
  EXPECT_THAT(session->rows[0].message, AllOf(HasSubstr("broken"), HasSubstr("while making the reference")));
  EXPECT_EQ(finished, announced);
  EXPECT_THAT(*list_bundles(asked.spool), SizeIs(4));
}

TEST_F(SessionTest, AnExceptionWhileAModelIsPreparedCostsThatModelAlone) {
  SessionRequest asked = request({"a", "b"});
  asked.doing = [](const std::string& what) {
    if (what == "preparing a") throw std::runtime_error("broken");
  };
  const auto session = run_session(asked);
  ASSERT_TRUE(session) << to_string(session.error());
  EXPECT_THAT(outcomes(*session), ElementsAre("a 0 failed", "b 1 completed", "b 2 completed"));
}

}  // namespace
}  // namespace assay
