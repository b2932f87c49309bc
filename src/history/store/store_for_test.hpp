// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/samples/launches.hpp"
#include "history/store/fake_bundles.hpp"
#include "history/store/schema.hpp"
#include "history/store/store.hpp"

namespace assay {

/// A database and its spool in a folder of their own, for tests.
class StoreTest : public ::testing::Test {
 protected:
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const std::filesystem::path path_ = folder_.path() / "history.duckdb";
  const std::filesystem::path spool_ = default_spool(path_);

  [[nodiscard]] Store open(Store::Mode mode = Store::Mode::kWrite) const {
    auto store = Store::open(path_, mode);
    EXPECT_TRUE(store) << to_string(store.error());
    return std::move(*store);
  }
  Record add(const std::string& model, std::size_t samples = 50, std::size_t steady_from = 0) const {
    const Samples made = testing::fake_samples(samples, std::hash<std::string>()(model));
    Record record = testing::fake_record(model, made, steady_from);
    testing::write_fake_bundle(spool_, record, made);
    return record;
  }
  [[nodiscard]] duckdb::Rows query(const std::string& sql) const {
    auto database = duckdb::open_database(path_, duckdb::Access::kReadOnly);
    EXPECT_TRUE(database) << to_string(database.error());
    auto rows = database->query(sql);
    EXPECT_TRUE(rows) << to_string(rows.error());
    return std::move(*rows);
  }
  /// The row of a cell with one launch.
  static Record cell_of(const Record& launch) {
    const LaunchSamples only[] = {{&launch, nullptr}};
    return combine_launches(only);
  }
  /// Everything that a reader can see, but for the time of ingesting.
  [[nodiscard]] std::string dump() const {
    std::string text;
    for (const char* sql :
         {"SELECT sha256, path, attempt_id, result_id, samples, launch_id FROM bundles ORDER BY ALL",
          "SELECT * FROM launches ORDER BY launch_id",
          ("SELECT run_id, started_at::VARCHAR, command, host, hardware_id, environment FROM benchmark_runs "
           "ORDER BY ALL"),
          "SELECT * FROM hardware_info ORDER BY ALL", "SELECT * FROM benchmark_results ORDER BY result_id",
          "SELECT * REPLACE (kind::VARCHAR AS kind) FROM raw_benchmark_data ORDER BY ALL"})
      for (const auto& row : query(sql).rows) text += Json(row).dump() + "\n";
    return text;
  }
};

/// A history as an assay with the first schema left it on the disk: testdata/fixture has its bundles, and the database
/// that was made of them.
class StoredHistoryTest : public StoreTest {
 public:
  /// What the database has.
  static constexpr std::size_t kLaunches = 5, kCells = 3, kSamples = 36;
  static inline const std::filesystem::path kStored =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "src/history/store/testdata/fixture";

  static Status make_database(const std::filesystem::path& path) {
    ASSAY_TRY(auto database, duckdb::Database::open(path, duckdb::Access::kReadWrite));
    ASSAY_TRY(const std::string sql, read_file(kStored / "database.sql"));
    ASSAY_CHECK_OK(database.execute(sql));
    return database.execute("CHECKPOINT");
  }

 protected:
  StoredHistoryTest() { std::filesystem::copy(kStored / "spool", spool_, std::filesystem::copy_options::recursive); }
  void SetUp() override {
    const Status made = make_database(path_);
    ASSERT_TRUE(made) << to_string(made.error());
  }
};

/// The migrations of this assay, and one that comes after them.
inline std::vector<duckdb::Migration> with_next_migration(std::string_view sql) {
  std::vector<duckdb::Migration> steps(duckdb::migrations().begin(), duckdb::migrations().end());
  steps.push_back({"9999_next", sql});
  return steps;
}

}  // namespace assay
