// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/hardware/host.hpp"
#include "bench/measure/environment.hpp"
#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/result/run_info.hpp"

namespace assay {

enum class Health { kOk, kWarn, kBad };
[[nodiscard]] std::string_view to_string(Health health);  ///< ok, warn, bad

struct HealthFinding {
  std::string item;   ///< "governor"
  std::string value;  ///< the current value; "unknown" if the machine does not report it
  Health verdict = Health::kOk;
  std::string remedy;  ///< advice to improve the value; "" if the verdict is ok
};

/// How steadily fixed work runs on this machine.
struct SpinTest {
  int chunks = 0;
  double median_ns = 0;
  double spread = 0;  ///< (p90 - p10) / median of the chunks' durations
  double worst = 0;   ///< slowest / median - 1
};
/// Repeats fixed integer work of about 100 µs for `duration_ns`, at least 20 and at most 100,000 times.
[[nodiscard]] SpinTest spin_test(const Clock& clock, std::int64_t duration_ns = 200'000'000);

/// The free space on the disk of the bundles.
struct SpoolDisk {
  std::filesystem::path folder;             ///< the spool, or its nearest existing parent
  std::optional<std::uint64_t> free_bytes;  ///< space that this user can use; absent: unknown
  std::string why_unknown;
};
[[nodiscard]] SpoolDisk find_spool_disk(const std::filesystem::path& spool);

/// "timings on this machine are not reliable now", …
[[nodiscard]] std::string_view score_words(int score);

struct Diagnosis {
  /// 100 minus the cost of each finding, at least 0: 0 for ok, its weight for bad, a third of it for warn; at most
  /// kUnreliableScore if something disturbs every timing.
  int score = 100;
  std::vector<HealthFinding> findings;
};

/// Rates the machine for measurements. Items: governor, turbo, smt, cpu_quota, affinity, load, steal,
/// huge_pages, swap, clock_source, clock_resolution, memory_free, spool_disk, virtualised, spin_test.
/// `before` and `after` are environment records around the spin test, so that steal and load are current.
[[nodiscard]] Diagnosis diagnose(const Host& host, const Json& before, const Json& after, const ClockQuality& clock,
                                 const SpinTest& spin, const SpoolDisk& disk);
/// The same with all inputs measured, in about 0.3 s.
[[nodiscard]] Diagnosis examine_machine(const std::filesystem::path& spool);

/// {"schema_version", "score", "findings": [{"item", "value", "verdict", "remedy"}]}
[[nodiscard]] Json to_json(const Diagnosis& diagnosis);

}  // namespace assay
