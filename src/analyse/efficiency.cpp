// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyse/answers.hpp"
#include "analyse/pairs.hpp"
#include "store/dataset.hpp"

namespace assay {
namespace {

// The best of all runtimes: what the hardware can do.
const MachinePeak* peak_of(const Record& row, const Dataset& data) {
  const MachinePeak* best = nullptr;
  for (const MachinePeak& peak : data.peaks)
    if (peak.hardware_id == row.hardware_id && peak.hardware == row.hardware &&
        peak.precision == row.effective_precision && peak.flops_per_s > 0 &&
        (best == nullptr || peak.flops_per_s > best->flops_per_s))
      best = &peak;
  return best;
}

std::string peak_words(const MachinePeak& peak) {
  constexpr double kGiga = 1e9;
  constexpr std::size_t kDate = 10;
  return fmt::format("{} GFLOP/s of {} {}, {} {}, measured {}", in_words(peak.flops_per_s / kGiga), peak.engine,
                     peak.engine_version, peak.threads, peak.threads == 1 ? "thread" : "threads",
                     peak.measured_at.substr(0, kDate));
}

bool has_work(const Record& row) { return timed(row) && row.flops.value_or(0) > 0 && row.throughput_ips; }

}  // namespace

std::optional<double> efficiency_of(const Record& row, const Dataset& data) {
  if (!has_work(row)) return std::nullopt;
  const MachinePeak* peak = peak_of(row, data);
  if (peak == nullptr) return std::nullopt;
  // `flops` is of one inference of the whole batch.
  return *row.flops * *row.throughput_ips / static_cast<double>(row.batch_size.value_or(1)) / peak->flops_per_s;
}

std::vector<Efficiency> efficiencies_of(const std::vector<RowGroup>& machines, const Dataset& data,
                                        std::vector<std::string>& missing) {
  constexpr double kWhole = 0.95;
  std::vector<Efficiency> found;
  std::set<std::string> named;
  for (const RowGroup& machine : machines) {
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<const Record*>> groups;
    for (const Record& row : machine.rows) {
      if (!has_work(row)) continue;
      if (peak_of(row, data) != nullptr) {
        groups[{row.category, target_key(row), row.effective_precision}].push_back(&row);
        continue;
      }
      std::string line = fmt::format("no peak of {} in {} was measured{}", row.hardware, row.effective_precision,
                                     machine.machine.empty() ? "" : " on " + machine.machine);
      if (named.insert(line).second) missing.push_back(std::move(line));
    }
    for (const auto& [key, rows] : groups) {
      const auto& [category, target, precision] = key;
      Efficiency each{machine.machine,
                      target,
                      category,
                      precision,
                      0,
                      rows.size(),
                      true,
                      peak_words(*peak_of(*rows.front(), data))};
      std::vector<double> shares;
      for (const Record* row : rows) {
        shares.push_back(*efficiency_of(*row, data));
        each.counted_whole = each.counted_whole && row->flops_counted.value_or(0) >= kWhole;
      }
      each.share = geometric_mean(shares);
      found.push_back(std::move(each));
    }
  }
  return found;
}

}  // namespace assay
