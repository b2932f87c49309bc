// SPDX-License-Identifier: Apache-2.0
#include "history/store/sample_appender.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace assay::duckdb {
namespace {

constexpr std::size_t kColumns = 6;
constexpr idx_t kStart = 4, kDuration = 5;

}  // namespace

Result<SampleAppender> SampleAppender::create(Database& database) {
  const std::array<std::string, kColumns> columns{"launch_id", "seq", "kind", "stream", "start_ns", "duration_ns"};
  ASSAY_TRY(Appender appender, Appender::create(database, "samples", columns));
  return SampleAppender(database.functions(), std::move(appender));
}

SampleAppender::SampleAppender(const Api& api, Appender appender) : api_(api), appender_(std::move(appender)) {
  std::array<duckdb_logical_type, kColumns> types{};
  std::size_t place = 0;
  for (const duckdb_type type : {DUCKDB_TYPE_INTEGER, DUCKDB_TYPE_INTEGER, DUCKDB_TYPE_UTINYINT, DUCKDB_TYPE_UINTEGER,
                                 DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_BIGINT})
    types.at(place++) = api_.create_logical_type(type);
  chunk_ = api_.create_data_chunk(types.data(), types.size());
  for (duckdb_logical_type& type : types) api_.destroy_logical_type(&type);
}

SampleAppender::SampleAppender(SampleAppender&& other) noexcept
    : api_(other.api_), appender_(std::move(other.appender_)), chunk_(std::exchange(other.chunk_, nullptr)) {}
SampleAppender::~SampleAppender() {
  if (chunk_ != nullptr) api_.destroy_data_chunk(&chunk_);
}

Status SampleAppender::append(std::int64_t launch_id, const Samples& samples, std::size_t first) {
  const std::size_t capacity = api_.vector_size();
  for (std::size_t from = 0; from < samples.size(); from += capacity) {
    const std::size_t rows = std::min(capacity, samples.size() - from);
    api_.data_chunk_reset(chunk_);
    std::fill_n(column<std::int32_t>(0), rows, static_cast<std::int32_t>(launch_id));
    std::iota(column<std::int32_t>(1), column<std::int32_t>(1) + rows, static_cast<std::int32_t>(first + from));
    std::copy_n(samples.kind.data() + from, rows, column<std::uint8_t>(2));
    std::copy_n(samples.stream.data() + from, rows, column<std::uint32_t>(3));
    std::copy_n(samples.start_ns.data() + from, rows, column<std::int64_t>(kStart));
    std::copy_n(samples.duration_ns.data() + from, rows, column<std::int64_t>(kDuration));
    for (std::size_t i = 0; i < rows; ++i)
      if (samples.start_ns[from + i] == kUnknownStart) set_null(kStart, i);
    api_.data_chunk_set_size(chunk_, rows);
    ASSAY_CHECK_OK(appender_.append(chunk_));
  }
  return {};
}

void SampleAppender::set_null(idx_t index, std::size_t row) {
  const duckdb_vector vector = api_.data_chunk_get_vector(chunk_, index);
  api_.vector_ensure_validity_writable(vector);
  api_.vector_get_validity(vector)[row / 64] &= ~(std::uint64_t{1} << (row % 64));
}

}  // namespace assay::duckdb
