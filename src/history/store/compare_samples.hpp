// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "history/store/compare_tables.hpp"
#include "history/store/duckdb.hpp"
#include "history/store/sample_appender.hpp"

namespace assay::duckdb {

/// Compares the steady samples of bundles with the rows of the table `samples`, every column, one launch at a time:
/// memory for the launch with the most.
class SampleComparison : public SampleSink {
 public:
  /// `stored` must outlive it, and have the columns of the table.
  explicit SampleComparison(Database& stored) : stored_(stored) {}

  [[nodiscard]] Status append(std::int64_t launch_id, const Samples& samples, std::size_t first) override;
  [[nodiscard]] Status close() override { return {}; }

  /// What was found until now: for each column, and for rows that are missing or that no bundle has.
  [[nodiscard]] std::vector<Error> findings() const;

 private:
  Database& stored_;
  std::map<std::string, Differences> columns_;
  Differences missing_, unknown_;
};

}  // namespace assay::duckdb
