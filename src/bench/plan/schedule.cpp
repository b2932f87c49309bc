// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/tensor/random.hpp"

namespace assay {
namespace {

// Fisher-Yates.
void shuffle(std::vector<std::string>& groups, std::uint64_t seed, std::int64_t round) {
  const CounterRandom random(seed, fmt::format("order of round {}", round));
  for (std::size_t i = groups.size(); i > 1; --i) {
    const auto last = static_cast<std::int64_t>(i) - 1;
    std::swap(groups[i - 1], groups[static_cast<std::size_t>(random.integer(i, 0, last))]);
  }
}

}  // namespace

std::string worker_group(const Task& task) {
  const Record& row = task.row;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", row.model, row.config_hash, row.weights_hash, task.engine,
                     task.load.device_id, row.hardware, task.shape.streams, task.shape.threads);
}

std::vector<ScheduledLaunch> schedule_round(const std::vector<std::string>& groups, const std::vector<bool>& launched,
                                            std::int64_t round, std::uint64_t seed) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::size_t>> tasks;
  for (std::size_t task = 0; task < groups.size(); ++task) {
    if (!tasks.contains(groups[task])) order.push_back(groups[task]);
    tasks[groups[task]].push_back(task);
  }
  const bool even = round % 2 == 0;
  shuffle(order, seed, even ? round - 1 : round);
  if (even) std::ranges::reverse(order);
  std::vector<ScheduledLaunch> launches;
  for (const std::string& group : order) {
    std::vector<std::size_t>& members = tasks[group];
    const auto first = static_cast<std::size_t>(round - 1) % members.size();
    std::ranges::rotate(members, members.begin() + static_cast<std::ptrdiff_t>(first));
    for (const std::size_t task : members)
      if (launched[task]) launches.push_back({round, task});
  }
  return launches;
}

}  // namespace assay
