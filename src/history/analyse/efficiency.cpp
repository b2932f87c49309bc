// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "core/base/text.hpp"
#include "history/analyse/answers.hpp"
#include "history/analyse/pairs.hpp"
#include "history/store/dataset.hpp"

namespace assay {
namespace {

// Whether a peak of the row's hardware is of the row's device. Engines name devices each in their own way: that of
// another engine counts if it knows one device only.
bool of_one_device(const MachinePeak& peak, const Record& row, const Dataset& data) {
  if (peak.engine == row.engine) return peak.device.empty() || row.device.empty() || peak.device == row.device;
  return std::ranges::none_of(data.peaks, [&](const MachinePeak& other) {
    return other.hardware_id == peak.hardware_id && other.hardware == peak.hardware && other.engine == peak.engine &&
           other.device != peak.device;
  });
}

// The best of all runtimes: what the hardware can do.
const MachinePeak* peak_of(const Record& row, const Dataset& data) {
  const MachinePeak* best = nullptr;
  for (const MachinePeak& peak : data.peaks)
    if (peak.hardware_id == row.hardware_id && peak.hardware == row.hardware &&
        peak.precision == row.effective_precision && peak.flops_per_s > 0 && of_one_device(peak, row, data) &&
        (best == nullptr || peak.flops_per_s > best->flops_per_s))
      best = &peak;
  return best;
}

std::string peak_words(const MachinePeak& peak) {
  constexpr double kGiga = 1e9;
  constexpr std::size_t kDate = 10;
  return fmt::format("{} GFLOP/s of {} {}, {}, measured {}", in_words(peak.flops_per_s / kGiga), peak.engine,
                     peak.engine_version, counted(peak.threads, "thread"), peak.measured_at.substr(0, kDate));
}

bool has_work(const Record& row) { return timed(row) && row.flops.value_or(0) > 0 && row.throughput_ips; }

// The share that a target reaches over cells that it has.
Efficiency efficiency_over(const CommonCells& common, std::size_t target, const Dataset& data) {
  constexpr double kWhole = 0.95;
  const Record& any = *common.cells.front()[target];
  Efficiency each;
  each.target = common.targets[target];
  each.category = any.category;
  each.precision = any.effective_precision;
  each.cells = common.cells.size();
  each.peak_of = peak_words(*peak_of(any, data));
  std::vector<double> shares;
  for (const auto& cell : common.cells) {
    shares.push_back(efficiency_of(*cell[target], data).value_or(0));
    each.counted_whole = each.counted_whole && cell[target]->flops_counted.value_or(0) >= kWhole;
  }
  each.share = geometric_mean(shares);
  return each;
}

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
  std::vector<Efficiency> found;
  std::set<std::string> named;
  const auto lacks = [&](const RowGroup& machine, const std::string& what, const char* hint) {
    std::string line = what + (machine.machine.empty() ? "" : " on " + machine.machine) + hint;
    if (named.insert(line).second) missing.push_back(std::move(line));
  };
  for (const RowGroup& machine : machines) {
    std::map<std::pair<std::string, std::string>, std::vector<Record>> groups;  // by category and precision
    const RowGroup usable = without_wrong_targets(machine);
    for (const Record& row : usable.rows) {
      if (!has_work(row)) continue;
      if (peak_of(row, data) != nullptr)
        groups[{row.category, row.effective_precision}].push_back(row);
      else
        lacks(machine, fmt::format("no peak of {} in {} was measured", row.hardware, row.effective_precision),
              ": `assay doctor --peak` measures it");
    }
    for (const auto& [key, rows] : groups) {
      const CommonCells common = common_cells(rows, has_work);
      const auto first = static_cast<std::ptrdiff_t>(found.size());
      for (std::size_t t = 0; t < common.targets.size(); ++t) {
        found.push_back(efficiency_over(common, t, data));
        found.back().machine = machine.machine;
        found.back().hardware_id = machine.hardware_id;
      }
      std::ranges::sort(found.begin() + first, found.end(), {}, &Efficiency::target);
      for (const Efficiency& each : std::span(found).subspan(static_cast<std::size_t>(first)))
        if (each.share > 1)
          lacks(machine,
                fmt::format("{} reaches more than the peak of {} that was measured, so that peak is too low", key.first,
                            each.target),
                ": `assay doctor --peak` measures it again, best while nothing else runs");
      for (const std::string& target : common.left_out)
        lacks(machine,
              fmt::format("no cell of {} in {}{} is one that the other targets have", target, key.second,
                          key.first.empty() ? "" : " (" + key.first + ")"),
              "");
    }
  }
  return found;
}

}  // namespace assay
