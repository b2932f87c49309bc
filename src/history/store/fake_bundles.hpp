// SPDX-License-Identifier: Apache-2.0
#pragma once

/// For tests: bundles of made-up results.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/hash.hpp"
#include "core/result/keys.hpp"
#include "core/samples/samples_file.hpp"
#include "history/store/bundle.hpp"

namespace assay::testing {

inline Samples fake_samples(std::size_t count, std::uint64_t seed = 1) {
  Samples samples;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto duration = static_cast<std::int64_t>(1'000'000 + (seed >> 44));
    samples.kind.push_back(static_cast<std::uint8_t>(SampleKind::kRun));
    samples.stream.push_back(static_cast<std::uint32_t>(i % 2));
    samples.start_ns.push_back(i % 7 == 3 ? std::numeric_limits<std::int64_t>::min() : start);
    samples.duration_ns.push_back(duration);
    start += duration;
  }
  return samples;
}

/// A completed, verified result whose mean and quantiles are those of `samples` from `steady_from` on.
inline Record fake_record(std::string model, const Samples& samples, std::size_t steady_from = 0) {
  Record record;
  record.run_id = "run-1";
  record.attempt_id = make_uuid();
  record.model = std::move(model);
  record.architecture = "bert";
  record.hardware = "cpu";
  record.hardware_id = "machine-1";
  record.engine = "null";
  record.host = "host-1";
  record.tool_version = "0.1.0";
  record.batch_size = 4;
  record.model_class = record.model;  // so that models differ in their keys
  record.task_key = task_key(record);
  record.series_key = series_key(record);
  record.timestamp = "2026-03-02T12:34:56.789012Z";
  record.status = CellStatus::kCompleted;
  record.verification = Verification::kVerified;
  record.steady_from = static_cast<std::int64_t>(steady_from);
  std::vector<std::int64_t> sorted(samples.duration_ns.begin() + static_cast<std::ptrdiff_t>(steady_from),
                                   samples.duration_ns.end());
  std::sort(sorted.begin(), sorted.end());
  record.iterations = static_cast<std::int64_t>(sorted.size());
  if (sorted.empty()) return record;
  const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  record.latency_mean_ms = total / static_cast<double>(sorted.size()) / 1e6;
  record.latency_p50_ns = sorted[(sorted.size() - 1) / 2];
  record.latency_p50_ms = static_cast<double>(*record.latency_p50_ns) / 1e6;
  return record;
}

inline RunContext fake_context() {
  return {"2026-03-02T12:30:00.000000Z", "assay run --models-set small", Json{{"governor", "performance"}},
          Json{{"platform", "Linux"},
               {"processor", "A CPU"},
               {"cpu_threads", 2},
               {"memory_gb", 25.5},
               {"gpus", Json::array()}}};
}

/// The bundle's folder.
inline std::filesystem::path write_fake_bundle(const std::filesystem::path& spool, const Record& record,
                                               const Samples& samples) {
  auto writer = BundleWriter::begin(spool, record, fake_context());
  EXPECT_TRUE(writer) << to_string(writer.error());
  auto file = SamplesWriter::create(writer->samples_path());
  EXPECT_TRUE(file);
  EXPECT_TRUE(file->append(samples));
  EXPECT_TRUE(file->close());
  const auto folder = writer->finish(record, Json{{"steal", 0}}, Json{{"logits", "abc"}});
  EXPECT_TRUE(folder) << to_string(folder.error());
  return folder.value_or("");
}

}  // namespace assay::testing
