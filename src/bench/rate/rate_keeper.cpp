// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/rate/rate.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"

namespace assay {
namespace {

constexpr const char* kRatesFile = "machine_rates.json";
constexpr const char* kMeasured = "measured_unix_s";
// Drivers, firmware and the other users of a machine change.
constexpr std::chrono::seconds kMostAge = std::chrono::days(30);
constexpr std::chrono::seconds kMostAgeOfDisturbed = std::chrono::hours(1);
/// Convolutions can be computed with fewer operations than are counted, and runtimes differ.
constexpr double kMuchFaster = 2;
/// Rows contradict the rate: the next run measures again.
constexpr const char* kContradicted = "contradicted";
/// A second, calm measurement agreed with one that rows contradict: more operations are counted than are computed.
constexpr const char* kConfirmed = "confirmed";
/// Two measurements within this factor agree.
constexpr double kAgrees = 1.5;

std::int64_t unix_seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// nullopt: too old, from the future, or without a time.
std::optional<MachineRate> fresh_rate(const Json& kept, WallTime now) {
  if (!kept.is_object() || !kept.contains(kMeasured) || !kept[kMeasured].is_number_integer()) return std::nullopt;
  const std::optional<MachineRate> rate = rate_from_json(kept);
  if (!rate) return std::nullopt;
  const std::int64_t measured = kept[kMeasured].get<std::int64_t>(), today = unix_seconds(now);
  const std::chrono::seconds most = rate->disturbed ? kMostAgeOfDisturbed : kMostAge;
  return measured > today || measured < today - most.count() ? std::nullopt : rate;
}

bool is_marked(const Json& kept, const char* mark) {
  return kept.is_object() && kept.contains(mark) && kept[mark] == true;
}

bool agree(const MachineRate& a, const MachineRate& b) {
  return std::max(a.flops_per_s, b.flops_per_s) < kAgrees * std::min(a.flops_per_s, b.flops_per_s);
}

// Whether the row shows how fast the processor is in the arithmetic that the rate is of.
bool shows_speed(const Record& row, int threads) {
  const auto used = row.effective_threads.value_or(row.threads.value_or(0));
  return row.status == CellStatus::kCompleted && row.hardware == "cpu" && row.effective_precision == "float32" &&
         used == threads && row.streams.value_or(1) == 1 && !row.flags.has(Flag::kSimulated) &&
         row.latency_p50_ms.value_or(0) > 0;
}

}  // namespace

Json to_json(const MachineRate& rate) {
  return {{"flops_per_s", rate.flops_per_s},
          {"bytes_per_s", rate.bytes_per_s},
          {"engine", rate.engine},
          {"engine_version", rate.engine_version},
          {"disturbed", rate.disturbed}};
}

std::optional<MachineRate> rate_from_json(const Json& json) {
  const auto positive = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_number() && json[key].get<double>() > 0;
  };
  if (!positive("flops_per_s") || !positive("bytes_per_s")) return std::nullopt;
  const auto text = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
  };
  const bool disturbed = json.contains("disturbed") && json["disturbed"] == true;
  return MachineRate{json["flops_per_s"], json["bytes_per_s"], text("engine"), text("engine_version"), disturbed};
}

int RateKeeper::threads() const { return services_.threads > 0 ? services_.threads : usable_threads(); }

std::string RateKeeper::key() const { return fmt::format("{} threads={}", services_.machine, threads()); }

std::filesystem::path RateKeeper::file() const { return services_.cache / kRatesFile; }

Json RateKeeper::kept_rates() const {
  const Result<Json> kept = read_json(file());
  return kept && kept->is_object() ? *kept : Json::object();
}

// Without it the next run measures again.
void RateKeeper::keep(const Json& rates) const {
  if (const Status written = write_file_atomically(file(), json_text(rates, 2) + "\n"); !written)
    log_debug("{}", written.error().message);
}

Result<MachineRate> RateKeeper::get() {
  if (known_) return *known_;
  Json all = kept_rates();
  std::optional<MachineRate> contradicted;
  if (const auto kept = all.find(key()); kept != all.end()) {
    std::optional<MachineRate> rate = fresh_rate(*kept, services_.now());
    if (is_marked(*kept, kContradicted)) contradicted = std::exchange(rate, {});
    const bool installed = rate && std::ranges::any_of(rate_runtimes(*services_.registry), [&](const auto& runtime) {
                             return runtime.engine == rate->engine && runtime.version == rate->engine_version;
                           });
    if (installed) {
      known_ = std::move(rate);
      measured_ = WallTime(std::chrono::seconds((*kept)[kMeasured].get<std::int64_t>()));
    }
  }
  if (known_) return *known_;
  services_.measuring();
  ASSAY_TRY(MachineRate rate, services_.measure(services_, threads()));
  known_ = rate;
  measured_ = services_.now();
  Json& kept = all[key()];
  kept = to_json(rate);
  kept[kMeasured] = unix_seconds(*measured_);
  if (contradicted && !rate.disturbed && agree(*contradicted, rate)) kept[kConfirmed] = true;
  keep(all);
  return rate;
}

std::optional<MeasuredPeak> RateKeeper::peak() const {
  if (!known_ || !measured_ || known_->disturbed || threads() < usable_threads()) return std::nullopt;
  const EngineEntry* engine = services_.registry->entry(known_->engine);
  MeasuredPeak peak;
  peak.hardware = "cpu";
  peak.device = engine == nullptr ? "" : engine->cpu_device;
  peak.precision = "float32";
  peak.engine = known_->engine;
  peak.engine_version = known_->engine_version;
  peak.flops_per_s = known_->flops_per_s;
  peak.bytes_per_s = known_->bytes_per_s;
  peak.threads = threads();
  peak.measured_at = iso8601(*measured_);
  return peak;
}

void RateKeeper::compare_with(std::span<const Record> rows) {
  Json all = kept_rates();
  const auto kept = all.find(key());
  const std::optional<MachineRate> rate = kept == all.end() ? std::nullopt : rate_from_json(*kept);
  if (!rate || is_marked(*kept, kContradicted) || is_marked(*kept, kConfirmed)) return;
  const std::vector<EngineLocation> runtimes = rate_runtimes(*services_.registry);
  for (const Record& row : rows) {
    if (!shows_speed(row, threads()) ||
        std::ranges::find(runtimes, row.engine, &EngineLocation::engine) == runtimes.end())
      continue;
    const double flops_per_s = row.flops.value_or(0) / *row.latency_p50_ms * 1e3;
    if (flops_per_s <= kMuchFaster * rate->flops_per_s) continue;
    log_info(
        "{} on {} computed {:.3g} GFLOP/s, and the rate of this machine was measured as {:.3g}: the next run measures "
        "it again",
        row.model, row.engine, flops_per_s / 1e9, rate->flops_per_s / 1e9);
    (*kept)[kContradicted] = true;
    keep(all);
    return;
  }
}

}  // namespace assay
