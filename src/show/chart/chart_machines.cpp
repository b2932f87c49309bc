// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>

#include "core/base/text.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

// Seconds since 1970 of "2026-03-02T12:34:56…".
std::optional<double> seconds_of(std::string_view time) {
  constexpr std::size_t kLength = 19;
  if (time.size() < kLength) return std::nullopt;
  bool whole = true;
  const auto number = [&](std::size_t at, std::size_t length) {
    int value = 0;
    const std::string_view part = time.substr(at, length);
    whole = whole && std::from_chars(part.data(), part.data() + part.size(), value).ec == std::errc();
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const std::chrono::seconds of_day =
      std::chrono::hours(number(11, 2)) + std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
  if (!whole || !date.ok()) return std::nullopt;
  return static_cast<double>((std::chrono::sys_days(date).time_since_epoch() + of_day).count());
}

struct Machine {
  std::string host;
  std::vector<std::pair<double, const RunFacts*>> runs;  // by time
};

// Those with scores, by the names of their hosts; `unknown`: runs without one.
std::vector<Machine> machines_of(const Dataset& data, std::size_t& unknown) {
  std::map<std::pair<std::string, std::string>, Machine> found;
  for (const RunFacts& run : data.runs) {
    const std::optional<double> time = seconds_of(run.started);
    if (!run.score || !time) {
      ++unknown;
      continue;
    }
    Machine& machine = found[{run.host, run.machine}];
    machine.host = run.host;
    machine.runs.emplace_back(*time, &run);
  }
  std::vector<Machine> machines;
  for (auto& [key, machine] : found) {
    std::ranges::stable_sort(machine.runs, {}, &std::pair<double, const RunFacts*>::first);
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace

std::vector<Chart> machine_noise(const Source& source) {
  constexpr std::size_t kMost = 12;
  std::size_t unknown = 0;
  std::vector<Machine> machines = machines_of(*source.input.data, unknown);
  if (machines.empty()) return {};
  const std::size_t all = machines.size();
  if (machines.size() > kMost) machines.resize(kMost);
  Frame frame;
  frame.name = "machine_noise";
  frame.title = machines.size() == 1 ? fmt::format("How quiet was {} before each run?", machines.front().host)
                                     : "How quiet were the machines before each run?";
  frame.subtitle = "score of the machine before the run, 0 to 100, higher is better";
  frame.notes = {"`assay doctor` names what lowers the score."};
  if (unknown > 0) frame.notes.push_back(counted(unknown, "run has", "runs have") + " no score.");
  if (all > machines.size()) frame.notes.push_back(fmt::format("{} of {} machines.", machines.size(), all));
  Table table{{{"machine", "machine", ""},
               {"started", "run", ""},
               {"score", "score", "", Better::kHigher},
               {"command", "command", ""}},
              {}};
  Picture picture(frame);
  const std::size_t columns = machines.size() == 1 ? 1 : 2;
  constexpr double kLeft = 60, kGap = 78;
  const double height = columns == 1 ? 200 : 130;
  const PanelGrid grid(columns, frame.width, height + kGap);
  std::size_t runs = 0;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const auto number = static_cast<int>(i);
    const Machine& machine = machines[i];
    Panel panel{grid.left(i) + kLeft,
                grid.top(i),
                grid.column() - kLeft - 36,
                height,
                columns == 1 ? "" : cut_to(machine.host, grid.column() - kLeft - 16, 11),
                number_axis("", {"x"}, {number}, "time"),
                number_axis("", {"value"}, {number}, "linear", true, {0, 100})};
    panel.x["splitLine"]["show"] = false;
    panel.y["$range"]["count"] = 4;
    picture.add(panel);
    for (const auto& [time, run] : machine.runs) {
      Row row;
      row.panel = number;
      row.group = machine.host;
      row.series = "runs";
      row.x = time;
      row.value = *run->score;
      row.text = run->command;
      picture.add(row);
      table.rows.push_back({machine.host, run->started, static_cast<double>(*run->score), run->command});
      ++runs;
    }
    picture.plain_line(number, "runs", "ink-2", "solid");
    picture.draw(number, "runs", "point", "point", arguments_of({"", "ink-2", "circle", "solid"}));
  }
  return {picture.finish(grid.height(machines.size()), std::move(table),
                         fmt::format("The scores of {} machines before {} runs.", machines.size(), runs))};
}

}  // namespace assay::chart
