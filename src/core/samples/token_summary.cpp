// SPDX-License-Identifier: Apache-2.0
#include "core/samples/token_summary.hpp"

#include <vector>

#include "core/stats/stats.hpp"

namespace assay {
namespace {

constexpr double kNsPerMillisecond = 1e6, kNsPerWholeSecond = 1e9;
constexpr double kProbabilities[] = {0.5, 0.9, 0.95, 0.99};

struct TokenFields {
  Number Record::*mean;
  Number Record::*quantiles[4];
  Number Record::*low;
  Number Record::*high;
  Count Record::*samples;
};
constexpr TokenFields kFirst{&Record::ttft_ms,
                             {&Record::ttft_p50_ms, &Record::ttft_p90_ms, &Record::ttft_p95_ms, &Record::ttft_p99_ms},
                             &Record::ttft_p50_low_ms,
                             &Record::ttft_p50_high_ms,
                             &Record::ttft_samples};
constexpr TokenFields kFurther{&Record::tpot_ms,
                               {&Record::tpot_p50_ms, &Record::tpot_p90_ms, &Record::tpot_p95_ms, &Record::tpot_p99_ms},
                               &Record::tpot_p50_low_ms,
                               &Record::tpot_p50_high_ms,
                               &Record::tpot_samples};

void set(const Samples& samples, std::size_t from, SampleKind kind, const TokenFields& fields, Record& record) {
  std::vector<double> series;
  for (std::size_t i = from; i < samples.size(); ++i)
    if (samples.kind[i] == static_cast<std::uint8_t>(kind))
      series.push_back(static_cast<double>(samples.duration_ns[i]));
  if (series.empty()) return;
  record.*fields.mean = stats::mean(series) / kNsPerMillisecond;
  record.*fields.samples = static_cast<std::int64_t>(series.size());
  const std::vector<stats::QuantileEstimate> estimates = stats::estimate_quantiles(series, kProbabilities);
  for (std::size_t i = 0; i < estimates.size(); ++i)
    record.*fields.quantiles[i] = estimates[i].value / kNsPerMillisecond;
  if (!estimates.front().interval) return;
  record.*fields.low = estimates.front().interval->low / kNsPerMillisecond;
  record.*fields.high = estimates.front().interval->high / kNsPerMillisecond;
}

}  // namespace

void summarise_tokens(const Samples& samples, std::size_t from, std::int64_t sequences, Record& record) {
  set(samples, from, SampleKind::kFirstToken, kFirst, record);
  set(samples, from, SampleKind::kToken, kFurther, record);
  if (record.tpot_ms.value_or(0) <= 0) return;
  record.tokens_per_second = kNsPerWholeSecond / (*record.tpot_ms * kNsPerMillisecond);
  record.total_tokens_per_second = *record.tokens_per_second * static_cast<double>(sequences);
}

}  // namespace assay
