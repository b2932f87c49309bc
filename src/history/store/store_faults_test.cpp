// SPDX-License-Identifier: Apache-2.0
// File operations that fail, and processes that are killed, at each call of an operation of the store.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>

#include "core/base/files.hpp"
#include "history/store/child_for_test.hpp"
#include "history/store/fault_injection.h"
#include "history/store/replace.hpp"
#include "history/store/store_for_test.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

// Exit statuses of a child. An exception of DuckDB that ends the program is a failure, too: status 1, with a message.
constexpr int kOk = 0, kEnded = 1, kRefused = 10;
constexpr std::size_t kResults = 3, kSamplesEach = 3000;

/// What a child reports, in memory that it shares.
struct Shared {
  unsigned long calls = 0;
  std::uint64_t results = 0;
  char error[1000] = {};
};

class StoreFaults : public StoreTest {
 protected:
  StoreFaults()
      : shared_(new(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Shared) {
    for (std::size_t i = 0; i < kResults; ++i) add(fmt::format("m{}", i), kSamplesEach, 7);
  }
  ~StoreFaults() override { ::munmap(shared_, sizeof(Shared)); }

  using Action = std::function<Status()>;

  /// The exit status of a child that does `action`; -1: a signal ended it.
  int child(const Action& action) const {
    const int status = testing::in_child([&] {
      const Status done = action();
      shared_->calls = assay_counted_calls();
      if (!done) std::strncpy(shared_->error, to_string(done.error()).c_str(), sizeof shared_->error - 1);
      ::_exit(done ? kOk : kRefused);
    });
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static constexpr unsigned kAllCalls = ASSAY_CALL_CREATE | ASSAY_CALL_WRITE | ASSAY_CALL_TRUNCATE | ASSAY_CALL_SYNC |
                                        ASSAY_CALL_RENAME | ASSAY_CALL_REMOVE;

  /// `action` in one child for each of its calls, which fails there, then `check` in another one. `part`: of the paths
  /// that fail. `calls`: an or of the kinds that fail.
  /// Only each `step`th call is tried.
  void at_each_call(assay_fault_kind kind, unsigned long step, const std::string& part, const Action& action,
                    const std::function<Status(bool done)>& check, unsigned calls = kAllCalls) const {
    for (unsigned long at = 1;; at += step) {
      *shared_ = Shared{};
      const int ended = child([&] {
        assay_plan_fault(kind, calls, part.c_str(), at, kind == ASSAY_FAULT_ALWAYS ? ENOSPC : EIO);
        return action();
      });
      const std::string where = fmt::format("failing at call {} of {}: {}", at, shared_->calls, shared_->error);
      ASSERT_TRUE(ended == kOk || ended == kEnded || ended == kRefused)
          << where << ": a signal or exit status " << ended;
      const bool reached = ended == kEnded || shared_->calls >= at;
      EXPECT_TRUE(reached || ended == kOk) << where;
      const int checked = child([&] { return check(ended == kOk); });
      ASSERT_EQ(checked, kOk) << where << (ended == kOk ? "; it claimed to be done" : "; it failed")
                              << ", and then: " << shared_->error;
      if (!reached) return;
    }
  }

  [[nodiscard]] Status ingest() const {
    ASSAY_TRY(Store store, Store::open(path_, Store::Mode::kWrite));
    return store.ingest(spool_).map([](const IngestReport&) {});
  }

  /// Counts the rows in the database itself, not its snapshot.
  [[nodiscard]] Status has_everything() const {
    ASSAY_TRY(auto database, duckdb::open_database(path_, duckdb::Access::kReadOnly));
    ASSAY_TRY(const duckdb::Rows rows,
              database.query("SELECT (SELECT count(*) FROM launches), (SELECT count(*) FROM bundles), (SELECT count(*) "
                             "FROM benchmark_results), (SELECT count(*) FROM samples)"));
    if (rows.rows.at(0) == std::vector<Json>{kResults, kResults, kResults, kResults * (kSamplesEach - 7)}) return {};
    return fail(ErrorCode::kMismatch, "rows are there: " + Json(rows.rows.at(0)).dump());
  }
  [[nodiscard]] Status agrees() const {
    ASSAY_TRY(Store store, Store::open(path_, Store::Mode::kWrite));
    ASSAY_TRY(const auto findings, store.verify(spool_));
    return findings.empty() ? Status() : tl::unexpected<Error>(findings.front());
  }
  void expect_agreement() const {
    EXPECT_EQ(child([&] { return agrees(); }), kOk) << shared_->error;
  }

  Shared* const shared_;
};

struct Tried {
  assay_fault_kind kind;
  unsigned long step;
};
std::ostream& operator<<(std::ostream& out, const Tried& tried) {
  return out << (tried.kind == ASSAY_FAULT_ONCE ? "once" : "for_ever") << (tried.step == 1 ? "_at_every_call" : "");
}

class StoreFaultKinds : public StoreFaults, public ::testing::WithParamInterface<Tried> {
 protected:
  void at_calls(const std::string& part, const Action& action, const std::function<Status(bool done)>& check) const {
    at_each_call(GetParam().kind, GetParam().step, part, action, check);
  }
};

TEST_P(StoreFaultKinds, ARebuildLosesNothing) {
  ASSERT_EQ(child([&] { return ingest(); }), kOk) << shared_->error;
  at_calls(
      "history", [&] { return Store::rebuild(path_, spool_).map([](const auto&) {}); },
      [&](bool) { return has_everything(); });
  expect_agreement();
}

// The table of the user makes the rebuild keep the old database under another name.
TEST_F(StoreFaults, ARebuildThatFailsLeavesTheDatabaseOrNamesItsBackup) {
  const auto change = [&](const std::string& sql) -> Status {
    ASSAY_TRY(auto database, duckdb::open_database(path_, duckdb::Access::kReadWrite));
    return database.execute(sql);
  };
  const std::string table = "CREATE TABLE IF NOT EXISTS my_notes AS SELECT 1 AS a";
  ASSERT_EQ(child([&]() -> Status {
              ASSAY_CHECK_OK(ingest());
              return change(table);
            }),
            kOk)
      << shared_->error;
  const auto rebuild = [&] { return Store::rebuild(path_, spool_).map([](const auto&) {}); };
  const auto check = [&](bool done) -> Status {
    bool replaced = false;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const fs::path& backup = entry.path();
      if (backup.string().find("history.duckdb.bak-") == std::string::npos) continue;
      if (fs::exists(path_)) {
        fs::remove(backup);
        replaced = true;
        continue;
      }
      if (std::string(shared_->error).find(backup.string()) == std::string::npos)
        return fail(ErrorCode::kMismatch, fmt::format("the error does not name {}", backup.string()));
      fs::rename(backup, path_);
    }
    ASSAY_CHECK_OK(has_everything());
    if (!done && !replaced) ASSAY_CHECK_OK(change("SELECT a FROM my_notes"));
    return change(table);
  };
  for (const assay_fault_kind kind : {ASSAY_FAULT_ONCE, ASSAY_FAULT_ALWAYS})
    at_each_call(kind, 1, "history", rebuild, check, ASSAY_CALL_RENAME);
  expect_agreement();
}

TEST_P(StoreFaultKinds, AnIngestClaimsOnlyWhatIsThere) {
  at_calls(
      "history.duckdb", [&] { return ingest(); },
      [&](bool done) -> Status {
        if (done) ASSAY_CHECK_OK(has_everything());
        // Whatever is left, the next one mends it.
        ASSAY_CHECK_OK(ingest());
        ASSAY_CHECK_OK(has_everything());
        duckdb::remove_database(path_);
        return {};
      });
}

TEST_P(StoreFaultKinds, CompactingLosesNothing) {
  ASSERT_EQ(child([&] { return ingest(); }), kOk) << shared_->error;
  at_calls(
      "history", [&] { return Store::compact(path_).map([](const auto&) {}); }, [&](bool) { return has_everything(); });
  expect_agreement();
}

TEST_P(StoreFaultKinds, ASnapshotThatIsPublishedIsWhole) {
  ASSERT_EQ(child([&] { return ingest(); }), kOk) << shared_->error;
  const fs::path snapshot = folder_.path() / "history.snapshot.duckdb";
  const auto publish = [&]() -> Status {
    ASSAY_TRY(Store store, Store::open(path_, Store::Mode::kWrite));
    return store.publish_snapshot().map([](const fs::path&) {});
  };
  at_calls("history", publish, [&](bool done) -> Status {
    if (done || fs::exists(snapshot)) {
      ASSAY_TRY(Store store, Store::open_snapshot(path_));
      ASSAY_TRY(const auto launches, store.launches());
      if (launches.size() != kResults) return fail(ErrorCode::kMismatch, "launches are missing");
    }
    fs::remove(snapshot);
    return has_everything();
  });
}

TEST_P(StoreFaultKinds, AMigrationLosesNothing) {
  const auto steps = with_next_migration("ALTER TABLE launches ADD COLUMN next_field VARCHAR;");
  const fs::path made = folder_.path() / "made.duckdb";
  fs::remove_all(spool_);
  fs::copy(StoredHistoryTest::kStored / "spool", spool_, fs::copy_options::recursive);
  ASSERT_EQ(child([&] { return StoredHistoryTest::make_database(made); }), kOk) << shared_->error;
  const auto restore = [&] {
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.is_regular_file() && entry.path() != made) fs::remove(entry.path());
    fs::copy_file(made, path_);
  };
  restore();
  const auto migrate = [&] { return duckdb::open_database(path_, duckdb::Access::kReadWrite, steps); };
  at_calls(
      "history", [&] { return migrate().map([](const duckdb::Database&) {}); },
      [&](bool) -> Status {
        {
          ASSAY_TRY(auto database, migrate());
          ASSAY_CHECK_OK(database.execute("SELECT next_field FROM launches"));
          // So that this assay, without the next migration, compares it with the bundles.
          ASSAY_CHECK_OK(database.execute(
              fmt::format("DELETE FROM schema_version WHERE version = {}", duckdb::kFirstSchema + steps.size() - 1)));
        }
        ASSAY_CHECK_OK(agrees());
        restore();
        return {};
      });
}

INSTANTIATE_TEST_SUITE_P(Faults, StoreFaultKinds,
                         ::testing::Values(Tried{ASSAY_FAULT_ONCE, 7}, Tried{ASSAY_FAULT_ALWAYS, 9},
                                           Tried{ASSAY_FAULT_ONCE, 1}, Tried{ASSAY_FAULT_ALWAYS, 1}),
                         ::testing::PrintToStringParamName());

// Killed before each call that touches the spool: whatever is left, no later ingest fails, and it says once what it
// moved away.
TEST_F(StoreFaults, AttemptsThatAreKilledAtAnyCallHinderNothing) {
  std::uint64_t results = kResults;
  for (unsigned long at = 1;; ++at) {
    const std::string model = fmt::format("killed{}", at);
    *shared_ = Shared{};
    const int ended = child([&]() -> Status {
      assay_plan_fault(ASSAY_FAULT_KILL, ASSAY_CALL_ANY, ".spool", at, 0);
      add(model, 200);
      return {};
    });
    for (int again = 0; again < 2; ++again) {
      const int checked = child([&]() -> Status {
        ASSAY_TRY(Store store, Store::open(path_, Store::Mode::kWrite));
        ASSAY_TRY(const IngestReport report, store.ingest(spool_));
        if (!report.refused.empty()) return tl::unexpected<Error>(report.refused.front());
        ASSAY_TRY(const StoreSummary summary, store.summary());
        if (summary.results < results) return fail(ErrorCode::kMismatch, "a result was lost");
        shared_->results = summary.results;
        return {};
      });
      ASSERT_EQ(checked, kOk) << "killed before call " << at << ": " << shared_->error;
    }
    results = shared_->results;
    if (ended == kOk) {
      EXPECT_GT(at, 20U) << "every call was tried";
      return expect_agreement();
    }
  }
}

}  // namespace
}  // namespace assay
