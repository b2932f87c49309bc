// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analysis.hpp"
#include "history/analyse/groups.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

std::optional<Best> best_latency(const RowGroup& usable, const RowGroup& all, std::vector<const Record*>& order) {
  order = representatives(usable.rows, usable.name);
  std::ranges::sort(order, {}, [](const Record* row) { return *row->latency_p50_ms; });
  if (order.empty()) return std::nullopt;
  Best best{usable.original(order[0]), nullptr, {}, {}, order.size()};
  if (order.size() == 1) {
    best.words = why_alone(all.rows, *order[0]);
    std::vector<Record> wrong;
    std::ranges::copy_if(all.rows, std::back_inserter(wrong),
                         [](const Record& row) { return row.status == CellStatus::kWrong; });
    if (!wrong.empty())
      best.words += fmt::format("; {} {} wrong numbers", join(targets_of(wrong), ", "),
                                targets_of(wrong).size() == 1 ? "computes" : "compute");
    return best;
  }
  std::vector<CellComparison> with;
  with.reserve(order.size());
  for (std::size_t i = 1; i < order.size(); ++i) with.push_back(compare_cells(*order[0], *order[i], order.size()));
  const std::size_t other = deciding(with);
  best.runner_up = usable.original(order[other + 1]);
  best.ahead = with[other];
  best.words = ahead_words(best.ahead, target_key(*order[other + 1]));
  return best;
}

std::optional<Best> most_items(const RowGroup& usable, const Record& like) {
  std::vector<const Record*> cells = throughput_cells(usable.rows, usable.name, {}, like);
  if (cells.empty()) return std::nullopt;
  std::ranges::stable_sort(cells, std::greater<>(), [](const Record* row) { return *row->throughput_ips; });
  const Record* first = cells[0];
  Best best{usable.original(first), nullptr, {}, {}, cells.size()};
  std::vector<const Record*> others;
  std::vector<CellComparison> with;
  for (const Record* row : cells)
    if (target_key(*row) != target_key(*first) && timed(*row) && timed(*first)) {
      others.push_back(row);
      with.push_back(compare_per_item(*first, *row, cells.size()));
    }
  if (others.empty()) {
    best.words = "the most of " + counted(cells.size(), "cell");
    return best;
  }
  const std::size_t decides = deciding(with);
  const Record& other = *others[decides];
  best.runner_up = usable.original(&other);
  best.ahead = with[decides];
  best.words = ahead_words(best.ahead, fmt::format("{} at batch {}", target_key(other), other.batch_size.value_or(1)));
  return best;
}

const Record* least_memory_of(const std::vector<const Record*>& rows) {
  const std::string kind = most_common_memory_kind(std::span<const Record* const>(rows));
  const Record* least = nullptr;
  for (const Record* row : rows)
    if (!kind.empty() && memory_kind(*row) == kind && (least == nullptr || *row->memory_mb < *least->memory_mb))
      least = row;
  return least;
}

std::string why_no_latency(const std::vector<Record>& rows) {
  if (std::ranges::any_of(rows, too_unsure_to_rank)) return "too disturbed or too uncertain to be ranked";
  const Record& first = rows.front();
  const bool one_reason = std::ranges::all_of(rows, [&](const Record& row) {
    return row.status == first.status && row.reason_code == first.reason_code && row.verification == first.verification;
  });
  if (!one_reason || first.status == CellStatus::kCompleted) return "no verified, ranked time";
  return fmt::format("{}{}", to_string(first.status),
                     first.reason_code ? fmt::format(" ({})", to_string(first.reason_code)) : "");
}

ModelLine line_of(const RowGroup& group) {
  const Record& any = group.rows.front();
  ModelLine line;
  line.model = group.name;
  line.machine = group.machine;
  line.hardware_id = group.hardware_id;
  line.model_id = any.model_id;
  line.size = any.size;
  line.family = any.family;
  line.category = any.category;
  line.architecture = any.architecture;
  for (const Record& row : group.rows) count_state(line.states, row);
  const RowGroup usable = without_wrong_targets(group);
  std::vector<const Record*> alike;
  line.latency = best_latency(usable, group, alike);
  if (!line.latency) {
    line.why_none = why_no_latency(group.rows);
    return line;
  }
  line.throughput = most_items(usable, *alike.front());
  line.least_memory = usable.original(least_memory_of(alike));
  return line;
}

}  // namespace

std::size_t StateCounts::total() const {
  return verified + unverified + wrong + failed + unsupported + unavailable + skipped;
}

void count_state(StateCounts& counts, const Record& row) {
  switch (row.status) {
    case CellStatus::kCompleted:
      ++(row.verification == Verification::kVerified ? counts.verified : counts.unverified);
      break;
    case CellStatus::kWrong:
      ++counts.wrong;
      break;
    case CellStatus::kFailed:
      ++counts.failed;
      break;
    case CellStatus::kUnsupported:
      ++counts.unsupported;
      break;
    case CellStatus::kUnavailable:
      ++counts.unavailable;
      break;
    case CellStatus::kSkipped:
      ++counts.skipped;
      break;
  }
}

std::string state_words(const StateCounts& counts) {
  std::vector<std::string> words;
  for (const auto& [count, word] : {std::pair(counts.verified, "verified"), std::pair(counts.unverified, "unverified"),
                                    std::pair(counts.wrong, "wrong"), std::pair(counts.failed, "failed"),
                                    std::pair(counts.unsupported, "unsupported"),
                                    std::pair(counts.unavailable, "unavailable"), std::pair(counts.skipped, "skipped")})
    if (count > 0) words.push_back(fmt::format("{} {}", count, word));
  return join(words, ", ");
}

std::string memory_kind(const Record& row) {
  if (!row.memory_mb || row.memory_source == MemorySource::kWarmProcess) return {};
  return std::string(to_string(row.memory_source.value_or(MemorySource::kProcess)));
}

std::string most_common_memory_kind(std::span<const Record> rows) {
  std::vector<const Record*> each;
  each.reserve(rows.size());
  for (const Record& row : rows) each.push_back(&row);
  return most_common_memory_kind(std::span<const Record* const>(each));
}

std::string most_common_memory_kind(std::span<const Record* const> rows) {
  std::map<std::string, std::size_t> count;
  for (const Record* row : rows)
    if (std::string kind = memory_kind(*row); !kind.empty()) ++count[std::move(kind)];
  const auto most = std::ranges::max_element(count, {}, [](const auto& each) { return each.second; });
  return most == count.end() ? std::string() : most->first;
}

std::vector<ModelLine> model_lines(std::span<const Record> rows) {
  std::vector<ModelLine> lines;
  for (const RowGroup& machine : groups_by_machine(rows))
    for (const RowGroup& model : parts_of(machine, [](const Record& row) { return row.model; }))
      lines.push_back(line_of(model));
  return lines;
}

}  // namespace assay
