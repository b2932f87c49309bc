// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>

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

}  // namespace assay
