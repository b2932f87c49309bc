// SPDX-License-Identifier: Apache-2.0
#include "history/store/export.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.hpp"
#include "history/store/duckdb.hpp"
#include "history/store/fake_bundles.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

// They are not sorted: that would take more memory than all of them.
TEST(ExportTest, SamplesAreLaunchByLaunchInTheOrderInWhichTheyWereMeasured) {
  const TemporaryDirectory folder = *TemporaryDirectory::create();
  const fs::path path = folder.path() / "history.duckdb", spool = default_spool(path);
  constexpr int kLaunches = 9;
  constexpr std::size_t kSamples = 60'000;  // a row group is 122,880
  for (int i = 0; i < kLaunches; ++i) {
    const Samples samples = testing::fake_samples(kSamples);
    testing::write_fake_bundle(spool, testing::fake_record(fmt::format("m{}", i), samples), samples);
  }
  auto store = Store::open(path, Store::Mode::kWrite);
  ASSERT_TRUE(store->ingest(spool));
  const auto tables = store->export_tables(folder.path() / "out", ExportFormat::kParquet, true);
  ASSERT_TRUE(tables) << to_string(tables.error());
  EXPECT_EQ(tables->back().rows, kLaunches * kSamples);
  auto database = duckdb::Database::open(folder.path() / "reader.duckdb", duckdb::Access::kReadWrite);
  const auto rows = database->query(fmt::format(
      "SELECT count(*), count(*) FILTER (launch_id IS DISTINCT FROM before), "
      "count(*) FILTER (launch_id = before AND seq <> seq_before + 1) FROM (SELECT launch_id, seq, lag(launch_id) OVER "
      "w AS before, lag(seq) OVER w AS seq_before FROM read_parquet({}, file_row_number = true) WINDOW w AS (ORDER BY "
      "file_row_number))",
      duckdb::quoted(tables->back().file->string())));
  ASSERT_TRUE(rows) << to_string(rows.error());
  EXPECT_EQ(rows->rows.at(0).at(0), kLaunches * kSamples);
  EXPECT_EQ(rows->rows.at(0).at(1), kLaunches) << "parts of a launch";
  EXPECT_EQ(rows->rows.at(0).at(2), 0) << "samples out of order";
}

}  // namespace
}  // namespace assay
