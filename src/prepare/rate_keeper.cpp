// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/files.hpp"
#include "base/log.hpp"
#include "measure/environment.hpp"
#include "prepare/rate.hpp"

namespace assay {
namespace {

constexpr const char* kRatesFile = "machine_rates.json";

}  // namespace

Json to_json(const MachineRate& rate) {
  return {{"flops_per_s", rate.flops_per_s}, {"bytes_per_s", rate.bytes_per_s}, {"engine", rate.engine}};
}

std::optional<MachineRate> rate_from_json(const Json& json) {
  const auto positive = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_number() && json[key].get<double>() > 0;
  };
  if (!positive("flops_per_s") || !positive("bytes_per_s")) return std::nullopt;
  return MachineRate{json["flops_per_s"], json["bytes_per_s"], json.value("engine", "")};
}

Result<MachineRate> RateKeeper::get() {
  if (known_) return *known_;
  const int threads = services_.threads > 0 ? services_.threads : usable_threads();
  const std::string key = fmt::format("{} threads={}", services_.machine, threads);
  const std::filesystem::path file = services_.cache / kRatesFile;
  Json all = Json::object();
  if (const Result<Json> kept = read_json(file); kept && kept->is_object()) all = *kept;
  if (const auto kept = all.find(key); kept != all.end()) known_ = rate_from_json(*kept);
  if (known_) return *known_;
  services_.measuring();
  ASSAY_TRY(const MachineRate rate, measure_rate(*services_.registry, threads, services_.cache, services_.cancelled));
  known_ = rate;
  all[key] = to_json(rate);
  // Without it the next run measures again.
  if (const Status written = write_file_atomically(file, json_text(all, 2) + "\n"); !written)
    log_debug("{}", written.error().message);
  return rate;
}

}  // namespace assay
