// SPDX-License-Identifier: Apache-2.0
#include "core/samples/token_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

void add(Samples& samples, SampleKind kind, std::int64_t duration_ns) {
  samples.kind.push_back(static_cast<std::uint8_t>(kind));
  samples.stream.push_back(0);
  samples.start_ns.push_back(kUnknownStart);
  samples.duration_ns.push_back(duration_ns);
}

TEST(TokenSummary, BothTimesHaveQuantilesAnIntervalAndACount) {
  Samples samples;
  for (std::int64_t generation = 0; generation < 40; ++generation) {
    add(samples, SampleKind::kRun, 100'000'000);
    add(samples, SampleKind::kFirstToken, 10'000'000 + generation % 7 * 100'000);
    for (std::int64_t token = 0; token < 3; ++token)
      add(samples, SampleKind::kToken, 2'000'000 + (generation + token) % 5 * 10'000);
  }
  Record record;
  summarise_tokens(samples, 0, 8, record);
  EXPECT_EQ(record.ttft_samples, 40);
  EXPECT_EQ(record.tpot_samples, 120);
  EXPECT_NEAR(*record.ttft_p50_ms, 10.3, 0.11);
  EXPECT_NEAR(*record.ttft_p99_ms, 10.6, 1e-9);
  EXPECT_LT(*record.ttft_p50_low_ms, *record.ttft_p50_ms);
  EXPECT_GT(*record.ttft_p50_high_ms, *record.ttft_p50_ms);
  EXPECT_LE(*record.tpot_p50_low_ms, *record.tpot_p50_ms);
  EXPECT_GE(*record.tpot_p50_high_ms, *record.tpot_p50_ms);
  EXPECT_NEAR(*record.tpot_p90_ms, 2.04, 1e-9);
  EXPECT_NEAR(*record.tokens_per_second, 1000 / *record.tpot_ms, 1e-9) << "of one sequence";
  EXPECT_NEAR(*record.total_tokens_per_second, 8 * *record.tokens_per_second, 1e-6) << "of the batch";
}

TEST(TokenSummary, TooFewPromptsHaveNoInterval) {
  Samples samples;
  for (int generation = 0; generation < 3; ++generation) add(samples, SampleKind::kFirstToken, 10'000'000);
  Record record;
  summarise_tokens(samples, 0, 1, record);
  EXPECT_EQ(record.ttft_samples, 3);
  EXPECT_EQ(record.ttft_p50_ms, 10.0);
  EXPECT_FALSE(record.ttft_p50_low_ms || record.ttft_p50_high_ms);
  EXPECT_FALSE(record.tpot_ms || record.tokens_per_second || record.total_tokens_per_second);
}

}  // namespace
}  // namespace assay
