// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/files.hpp"
#include "base/log.hpp"
#include "measure/environment.hpp"
#include "prepare/rate.hpp"

namespace assay {
namespace {

constexpr const char* kRatesFile = "machine_rates.json";
constexpr const char* kMeasured = "measured_unix_s";
// Drivers, firmware and the other users of a machine change.
constexpr std::chrono::seconds kMostAge = std::chrono::days(30);

std::int64_t unix_seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// nullopt: too old, from the future, or without a time.
std::optional<MachineRate> fresh_rate(const Json& kept, WallTime now) {
  if (!kept.is_object() || !kept.contains(kMeasured) || !kept[kMeasured].is_number_integer()) return std::nullopt;
  const std::int64_t measured = kept[kMeasured].get<std::int64_t>(), today = unix_seconds(now);
  if (measured > today || measured < today - kMostAge.count()) return std::nullopt;
  return rate_from_json(kept);
}

}  // namespace

Json to_json(const MachineRate& rate) {
  return {{"flops_per_s", rate.flops_per_s},
          {"bytes_per_s", rate.bytes_per_s},
          {"engine", rate.engine},
          {"engine_version", rate.engine_version}};
}

std::optional<MachineRate> rate_from_json(const Json& json) {
  const auto positive = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_number() && json[key].get<double>() > 0;
  };
  if (!positive("flops_per_s") || !positive("bytes_per_s")) return std::nullopt;
  const auto text = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
  };
  return MachineRate{json["flops_per_s"], json["bytes_per_s"], text("engine"), text("engine_version")};
}

Result<MachineRate> RateKeeper::get() {
  if (known_) return *known_;
  const int threads = services_.threads > 0 ? services_.threads : usable_threads();
  const std::string key = fmt::format("{} threads={}", services_.machine, threads);
  const std::filesystem::path file = services_.cache / kRatesFile;
  Json all = Json::object();
  if (const Result<Json> kept = read_json(file); kept && kept->is_object()) all = *kept;
  if (const auto kept = all.find(key); kept != all.end()) {
    const std::optional<MachineRate> rate = fresh_rate(*kept, services_.now());
    const bool installed = rate && std::ranges::any_of(rate_runtimes(*services_.registry), [&](const auto& runtime) {
                             return runtime.engine == rate->engine && runtime.version == rate->engine_version;
                           });
    if (installed) known_ = rate;
  }
  if (known_) return *known_;
  services_.measuring();
  ASSAY_TRY(const MachineRate rate, measure_rate(*services_.registry, threads, services_.cache, services_.cancelled));
  known_ = rate;
  all[key] = to_json(rate);
  all[key][kMeasured] = unix_seconds(services_.now());
  // Without it the next run measures again.
  if (const Status written = write_file_atomically(file, json_text(all, 2) + "\n"); !written)
    log_debug("{}", written.error().message);
  return rate;
}

}  // namespace assay
