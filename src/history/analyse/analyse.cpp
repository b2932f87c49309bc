// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/analyse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/engine_entry.hpp"
#include "history/analyse/groups.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

template <class Get>
std::vector<std::string> distinct(std::span<const Record> rows, Get get) {
  std::vector<std::string> values;
  for (const Record& row : rows) {
    std::string value = get(row);
    if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(std::move(value));
  }
  return values;
}

// The smallest batch first, then the shortest sequence.
auto size_of(const Record& row) {
  return std::tuple(row.batch_size.value_or(0), row.sequence_length.value_or(0), row.output_tokens.value_or(0),
                    row.streams.value_or(1));
}

}  // namespace

bool timed(const Record& row) { return row.ranked() && row.latency_p50_ms.value_or(0) > 0; }

bool too_unsure_to_rank(const Record& row) {
  const bool another_reason =
      row.flags.has(Flag::kSimulated) || row.flags.has(Flag::kSoftware) || row.flags.has(Flag::kPartial);
  return row.status == CellStatus::kCompleted && row.verification == Verification::kVerified && row.latency_p50_ms &&
         !row.ranked() && !another_reason;
}

namespace {

// What a name stands for in some rows.
struct Meanings {
  std::set<std::string> ids;
  std::set<std::pair<std::string, std::string>> models;  // id, size

  void add(const Record& row) {
    ids.insert(row.model_id);
    models.emplace(row.model_id, row.size);
  }
  [[nodiscard]] bool has_sizes() const { return models.size() > ids.size(); }
};

void add_words(Record& row, bool id, bool size) {
  std::vector<std::string> words;
  if (id && !row.model_id.empty()) words.push_back(row.model_id);
  if (size && !row.size.empty()) words.push_back("size " + row.size);
  if (!words.empty()) row.model += " (" + join(words, ", ") + ")";
}

}  // namespace

std::vector<Record> with_distinct_names(std::vector<Record> rows) {
  std::map<std::string, Meanings> names;
  for (const Record& row : rows) names[row.model].add(row);
  for (Record& row : rows) {
    const Meanings& name = names[row.model];
    add_words(row, name.ids.size() > 1, name.has_sizes());
  }
  return rows;
}

std::vector<Record> with_names_of_models(std::vector<Record> rows) {
  std::map<std::string, std::set<std::string>> names_of;  // by id
  std::map<std::string, Meanings> by_id;
  for (const Record& row : rows) {
    names_of[row.model_id].insert(row.model);
    by_id[row.model_id].add(row);
  }
  std::vector<Record> named = with_distinct_names(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string& id = rows[i].model_id;
    if (id.empty() || names_of[id].size() == 1) continue;
    named[i].model = id;
    add_words(named[i], false, by_id[id].has_sizes());
  }
  return named;
}

std::vector<std::string> models_of(std::span<const Record> rows) {
  return distinct(rows, [](const Record& row) { return row.model; });
}
std::vector<std::string> families_of(std::span<const Record> rows) {
  return distinct(rows, [](const Record& row) { return row.family; });
}
std::vector<std::string> targets_of(std::span<const Record> rows) {
  return distinct(rows, [](const Record& row) { return target_key(row); });
}

const Record* representative(std::span<const Record> rows, const std::string& model, const std::string& target) {
  const Record* best = nullptr;
  for (const Record& row : rows)
    if (row.model == model && target_key(row) == target && timed(row) &&
        (best == nullptr || size_of(row) < size_of(*best)))
      best = &row;
  return best;
}

std::vector<const Record*> representatives(std::span<const Record> rows, const std::string& model) {
  const std::vector<bool> usable = usable_rows(rows);
  std::vector<const Record*> best;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Record& first = rows[i];
    if (first.model != model || !usable[i]) continue;
    std::vector<const Record*> alike;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const Record& row = rows[j];
      const auto same_target = [&](const Record* other) { return target_key(*other) == target_key(row); };
      if (usable[j] && comparable(first, row) && std::none_of(alike.begin(), alike.end(), same_target))
        alike.push_back(&row);
    }
    if (alike.size() > best.size() || (alike.size() == best.size() && size_of(first) < size_of(*best.front())))
      best = std::move(alike);
  }
  return best;
}

std::vector<const Record*> throughput_cells(std::span<const Record> rows, const std::string& model,
                                            const std::string& target, const Record& like) {
  const auto kind = [](const Record& row) {
    return std::tuple(row.effective_precision, row.sequence_length, row.output_tokens, row.given_shapes);
  };
  const WrongTargets wrong(rows);
  std::vector<const Record*> cells;
  for (const Record& row : rows)
    if (row.model == model && (target.empty() || target_key(row) == target) && kind(row) == kind(like) &&
        row.ranked() && row.throughput_ips && !wrong.has_target_of(row))
      cells.push_back(&row);
  return cells;
}

const Record* best_throughput(std::span<const Record> rows, const std::string& model, const std::string& target,
                              const Record& like) {
  const std::vector<const Record*> cells = throughput_cells(rows, model, target, like);
  const auto best = std::ranges::max_element(cells, {}, [](const Record* row) { return *row->throughput_ips; });
  return best == cells.end() ? nullptr : *best;
}

std::vector<CellPair> pairs_of(std::span<const Record> rows, const std::string& baseline,
                               const std::string& candidate) {
  const std::vector<bool> usable = usable_rows(rows);
  std::map<std::string, const Record*> others;  // the first of each cell
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (usable[i] && target_key(rows[i]) == candidate) others.emplace(cell_key(rows[i]), &rows[i]);
  std::vector<CellPair> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!usable[i] || target_key(rows[i]) != baseline) continue;
    if (const auto other = others.find(cell_key(rows[i])); other != others.end())
      pairs.push_back({&rows[i], other->second});
  }
  return pairs;
}

std::vector<CellPair> with_rounds(std::vector<CellPair> pairs) {
  std::erase_if(pairs, [](const CellPair& pair) {
    return compare_cells(*pair.baseline, *pair.candidate).evidence != Evidence::kRounds;
  });
  return pairs;
}

std::vector<Speedup> speedups_against_cpu(std::span<const Record> rows) {
  std::vector<Speedup> speedups;
  for (const std::string& target : targets_of(rows)) {
    if (target == "cpu") continue;
    const std::vector<CellPair> all = pairs_of(rows, target, "cpu");
    if (all.empty()) continue;
    const std::vector<CellPair> sure = with_rounds(all);
    const std::vector<CellPair>& pairs = sure.empty() ? all : sure;
    speedups.push_back({target, compare_together(pairs), pairs.size(), all.size() - sure.size()});
  }
  return speedups;
}

}  // namespace assay
