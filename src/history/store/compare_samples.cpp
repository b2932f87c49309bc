// SPDX-License-Identifier: Apache-2.0
#include "history/store/compare_samples.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>

namespace assay::duckdb {
namespace {

using Value = std::optional<std::int64_t>;

struct SampleColumn {
  const char* name;
  Value (*expected)(const Samples& samples, std::size_t i);
};

// After `seq`, in the order of the query below.
constexpr std::array kSampleColumns{
    SampleColumn{"kind", [](const Samples& samples, std::size_t i) { return Value(samples.kind[i]); }},
    SampleColumn{"stream", [](const Samples& samples, std::size_t i) { return Value(samples.stream[i]); }},
    SampleColumn{"start_ns",
                 [](const Samples& samples, std::size_t i) {
                   return samples.start_ns[i] == kUnknownStart ? Value() : Value(samples.start_ns[i]);
                 }},
    SampleColumn{"duration_ns", [](const Samples& samples, std::size_t i) { return Value(samples.duration_ns[i]); }}};

constexpr const char* kSamplesOfLaunch =
    "SELECT seq::BIGINT, kind::BIGINT, stream::BIGINT, start_ns, duration_ns FROM main.samples WHERE launch_id = "
    "$1::INTEGER";

Value value_at(const Column& column, std::size_t row) {
  return column.is_null(row) ? Value() : Value(column.at<std::int64_t>(row));
}

std::string shown_number(const Value& value) { return value ? fmt::format("{}", *value) : "NULL"; }

std::string shown_sample(std::int64_t launch_id, const Value& seq) {
  return fmt::format("launch_id {}, seq {}", launch_id, shown_number(seq));
}

}  // namespace

Status SampleComparison::append(std::int64_t launch_id, const Samples& samples, std::size_t first) {
  std::vector<bool> seen(samples.size(), false);
  const auto compare = [&](std::span<const Column> columns, std::size_t row) {
    const Value seq = value_at(columns[0], row);
    const auto index = seq ? static_cast<std::uint64_t>(*seq) - first : samples.size();
    if (index >= samples.size() || seen[index]) return unknown_.add(shown_sample(launch_id, seq));
    seen[index] = true;
    for (std::size_t i = 0; i < kSampleColumns.size(); ++i) {
      const SampleColumn& column = kSampleColumns.at(i);
      const Value found = value_at(columns[i + 1], row), expected = column.expected(samples, index);
      if (found != expected)
        columns_[column.name].add(fmt::format("{} has {}, and its bundle {}", shown_sample(launch_id, seq),
                                              shown_number(found), shown_number(expected)));
    }
  };
  const Json id[] = {launch_id};
  ASSAY_CHECK_OK(stored_.visit(kSamplesOfLaunch, id, [&](std::span<const Column> columns, std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row) compare(columns, row);
  }));
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i]) missing_.add(shown_sample(launch_id, static_cast<std::int64_t>(first + i)));
  return {};
}

std::vector<Error> SampleComparison::findings() const {
  std::vector<Error> findings;
  for (const auto& [column, differences] : columns_)
    findings.push_back(table_finding(
        fmt::format("table samples, column {}: values differ from those of the bundles", column), differences));
  if (missing_.count > 0)
    findings.push_back(table_finding("table samples: rows that the bundles have are missing", missing_));
  if (unknown_.count > 0)
    findings.push_back(table_finding("table samples: there are rows that no bundle has", unknown_));
  return findings;
}

}  // namespace assay::duckdb
