// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <assay/result.hpp>

#include "core/samples/measurement.hpp"
#include "history/store/duckdb.hpp"

namespace assay::duckdb {

/// Where the steady samples of launches go.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  /// `samples` are the steady ones; the first of them has the number `first` in the samples' file.
  [[nodiscard]] virtual Status append(std::int64_t launch_id, const Samples& samples, std::size_t first) = 0;
  [[nodiscard]] virtual Status close() = 0;

 protected:
  SampleSink() = default;
  SampleSink(const SampleSink&) = default;
  SampleSink& operator=(const SampleSink&) = default;
};

/// Fills the table `samples`, data chunk by data chunk, column by column.
class SampleAppender : public SampleSink {
 public:
  [[nodiscard]] static Result<SampleAppender> create(Database& database);
  SampleAppender(SampleAppender&& other) noexcept;
  SampleAppender& operator=(SampleAppender&&) = delete;
  ~SampleAppender() override;

  [[nodiscard]] Status append(std::int64_t launch_id, const Samples& samples, std::size_t first) override;
  [[nodiscard]] Status close() override { return appender_.close(); }

 private:
  SampleAppender(const Api& api, Appender appender);
  template <class T>
  T* column(idx_t index) {
    return static_cast<T*>(api_.vector_get_data(api_.data_chunk_get_vector(chunk_, index)));
  }
  void set_null(idx_t index, std::size_t row);

  const Api& api_;
  Appender appender_;
  duckdb_data_chunk chunk_ = nullptr;
};

}  // namespace assay::duckdb
