// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/base/significant.hpp"
#include "core/base/text.hpp"
#include "core/result/launch_medians.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/inconsistency.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

std::vector<const Record*> by_latency(std::span<const Record> rows, const std::string& model) {
  std::vector<const Record*> found = representatives(rows, model);
  std::sort(found.begin(), found.end(),
            [](const Record* a, const Record* b) { return *a->latency_p50_ms < *b->latency_p50_ms; });
  return found;
}

// Other targets that may be a choice for the model, but have no time at the same shape: they were not tried, or only at
// other shapes.
std::vector<std::string> unknown_targets(std::span<const Record> rows, const std::string& model,
                                         const std::string& known) {
  std::vector<Record> open;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(open), [&](const Record& row) {
    return row.model == model && target_key(row) != known && !computes_wrong(rows, model, target_key(row)) &&
           (row.status == CellStatus::kSkipped || unfinished(row) || (row.ranked() && row.latency_p50_ms));
  });
  return targets_of(open);
}

constexpr const char* kOnlyChoice = "the only verified choice here";

std::string latency_advice(std::span<const Record> rows, const std::string& model,
                           const std::vector<const Record*>& order) {
  const Record& first = *order[0];
  if (order.size() == 1) {
    const std::string result = fmt::format("{} ms at {}", in_words(*first.latency_p50_ms), shape_words(first));
    const std::string why = why_alone(rows, first);
    return why == kOnlyChoice ? fmt::format("{}: {} is {}: {}", model, target_key(first), why, result)
                              : fmt::format("{}: {} on {}; {}", model, result, target_key(first), why);
  }
  // The others by what is known of them: slower, no difference shown, not compared.
  std::vector<std::string> slower, alike, open;
  std::string why_open;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Record& other = *order[i];
    const CellComparison comparison = compare_cells(first, other, order.size());
    const std::string time = fmt::format("{} ({} ms)", target_key(other), in_words(*other.latency_p50_ms));
    if (comparison.difference == stats::Difference::kSlower) {
      slower.push_back(time);
    } else if (comparison.evidence == Evidence::kRounds) {
      alike.push_back(fmt::format("{}: {}", time, no_claim_words(comparison)));
    } else {
      open.push_back(time);
      why_open = no_claim_words(comparison);
    }
  }
  if (slower.size() + 1 == order.size())
    return fmt::format("{}: use {} for latency: {} ms at {}, {} as fast as {}{}", model, target_key(first),
                       in_words(*first.latency_p50_ms), shape_words(first),
                       times_words(compare_cells(first, *order[1], order.size())), target_key(*order[1]),
                       order.size() > 2 ? fmt::format("; the fastest of {}", order.size()) : "");
  std::string line = fmt::format("{}: latency at {}: {} ({} ms)", model, shape_words(first), target_key(first),
                                 in_words(*first.latency_p50_ms));
  if (!alike.empty()) line += " and " + join(alike, ", ");
  if (!open.empty()) line += fmt::format("{} {}: {}", alike.empty() ? " and" : "; also", join(open, ", "), why_open);
  if (!slower.empty()) line += "; slower: " + join(slower, ", ");
  return line + (alike.empty() ? "" : "; choose by memory or by more --launches");
}

// " over 4 launches each": how often it was seen, if each cell had several processes.
std::string over_launches(const Record& one, const Record& other) {
  const std::int64_t first = one.launches.value_or(1), second = other.launches.value_or(1);
  if (first < 2 || second < 2) return "";
  return first == second ? fmt::format(" over {} launches each", first)
                         : fmt::format(" over {} and {} launches", first, second);
}

std::string place_words(const Record& row) { return fmt::format("{} at {}", target_key(row), shape_words(row)); }

// The cell with the most items per second of all that were measured, if that is not just one item at a time.
std::optional<std::string> throughput_advice(std::span<const Record> rows, const std::string& model,
                                             const Record& like) {
  const std::vector<const Record*> cells = throughput_cells(rows, model, {}, like);
  const Record* best = nullptr;
  for (const Record* row : cells)
    if (best == nullptr || *row->throughput_ips > *best->throughput_ips) best = row;
  if (best == nullptr || (best->batch_size.value_or(1) <= 1 && best->streams.value_or(1) <= 1)) return std::nullopt;

  constexpr std::size_t kNamed = 2;
  const std::vector<Inconsistency> neighbours = inconsistent_cells(rows);
  std::vector<std::string> alike;
  std::string why_open;
  std::size_t not_shown = 0, not_compared = 0;
  for (const Record* row : cells) {
    if (row == best) continue;
    const CellComparison comparison = compare_per_item(*best, *row, cells.size());
    if (comparison.difference == stats::Difference::kSlower) continue;
    if (comparison.evidence != Evidence::kRounds) {
      ++not_compared;
      why_open = comparison.evidence == Evidence::kOneProcess       ? "one process each"
                 : comparison.evidence == Evidence::kNoCommonRounds ? "no common rounds"
                                                                    : "measured in different runs";
    } else if (++not_shown <= kNamed) {
      alike.push_back(ahead_words(comparison, place_words(*row)));
    }
  }
  const std::string items =
      fmt::format("{} items/s, {}", in_words(*best->throughput_ips, 4),
                  cells.size() == 1 ? std::string("the only cell") : fmt::format("the most of {} cells", cells.size()));
  const auto inconsistent =
      std::ranges::find_if(neighbours, [&](const Inconsistency& pair) { return &rows[pair.larger] == best; });
  const bool shown = not_shown + not_compared == 0 && inconsistent == neighbours.end();
  std::string line =
      fmt::format("{}: {} {}: {}", model, shown && cells.size() > 1 ? "for throughput use" : "throughput of",
                  place_words(*best), items);
  if (!alike.empty()) line += "; " + join(alike, ", ");
  if (not_shown > kNamed)
    line += fmt::format(", nor with {} more {}", not_shown - kNamed, not_shown - kNamed == 1 ? "cell" : "cells");
  if (not_compared > 0) line += fmt::format("; not compared with {} of them: {}", not_compared, why_open);
  if (inconsistent != neighbours.end())
    line += fmt::format("; batch {} takes less time in all than batch {}, so measure again",
                        *rows[inconsistent->larger].batch_size, *rows[inconsistent->smaller].batch_size);
  const Record* single = representative(rows, model, target_key(*best));
  if (single == nullptr || single == best || single->effective_precision != best->effective_precision) return line;
  const CellComparison gain = compare_per_item(*best, *single, cells.size());
  if (gain.difference == stats::Difference::kSlower)
    line += fmt::format("; {} that of {}, by the median time of an item", times_words(gain), shape_words(*single));
  return line;
}

}  // namespace

bool computes_wrong(std::span<const Record> rows, const std::string& model, const std::string& target) {
  return std::any_of(rows.begin(), rows.end(), [&](const Record& row) {
    return row.model == model && row.status == CellStatus::kWrong && target_key(row) == target;
  });
}

std::string why_alone(std::span<const Record> rows, const Record& first) {
  const auto another = [&](const Record& row) {
    return row.model == first.model && target_key(row) != target_key(first);
  };
  std::vector<Record> unsure;
  std::ranges::copy_if(rows, std::back_inserter(unsure), [&](const Record& row) {
    return another(row) && comparable(row, first) && too_unsure_to_rank(row);
  });
  if (!unsure.empty())
    return "nothing to compare it with: too disturbed or too uncertain on " + join(targets_of(unsure), ", ");
  if (std::ranges::none_of(rows, another)) return "nothing to compare it with: no other target was tried";
  const std::vector<std::string> unknown = unknown_targets(rows, first.model, target_key(first));
  return unknown.empty() ? kOnlyChoice
                         : "nothing to compare it with: there is no such result from " + join(unknown, ", ");
}

std::string in_words(double value, int digits) { return significant(value, digits); }

namespace {

// Rows of targets that may be recommended, and for each model those that stand for it, the fastest first.
template <class Each>
void for_each_model(std::span<const Record> all, Each each) {
  std::vector<Record> rows;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
               [&](const Record& row) { return !computes_wrong(all, row.model, target_key(row)); });
  for (const std::string& model : models_of(rows)) {
    const std::vector<const Record*> order = by_latency(rows, model);
    if (!order.empty()) each(rows, model, order);
  }
}

void add_further(std::vector<std::string>& lines, std::span<const Record> rows, const std::string& model,
                 const std::vector<const Record*>& order) {
  if (std::optional<std::string> line = throughput_advice(rows, model, *order.front())) lines.push_back(*line);
  if (order.size() < 2) return;
  const auto smaller = [](const Record* a, const Record* b) {
    return a->memory_mb.value_or(1e30) < b->memory_mb.value_or(1e30);
  };
  const Record* least = *std::min_element(order.begin(), order.end(), smaller);
  const Record* most = *std::max_element(order.begin(), order.end(), smaller);
  if (least->memory_mb && most->memory_mb && *least->memory_mb * 1.2 < *most->memory_mb)
    lines.push_back(fmt::format("{}: {} needs the least memory at {}: {:.0f} MB against {:.0f} MB on {}", model,
                                target_key(*least), shape_words(*least), *least->memory_mb, *most->memory_mb,
                                target_key(*most)));
}

}  // namespace

std::vector<std::string> recommendations(std::span<const Record> all) {
  std::vector<std::string> lines;
  for_each_model(all, [&](std::span<const Record> rows, const std::string& model, const auto& order) {
    lines.push_back(latency_advice(all, model, order));
    add_further(lines, rows, model, order);
  });
  return lines;
}

std::vector<std::string> further_recommendations(std::span<const Record> all) {
  std::vector<std::string> lines;
  for_each_model(all, [&](std::span<const Record> rows, const std::string& model, const auto& order) {
    add_further(lines, rows, model, order);
  });
  return lines;
}

namespace {

// The options that ended the sampling of these cells.
std::vector<std::string> what_ended_sampling(const std::vector<const Record*>& rows) {
  const auto any = [&](const auto& condition) { return std::ranges::any_of(rows, condition); };
  std::vector<std::string> options;
  if (any([](const Record* row) { return row->stop_reason.has(StopReason::kIterations); }))
    options.emplace_back("--iterations");
  if (options.empty() || any([](const Record* row) { return row->stop_reason.has(StopReason::kMaxTime); }))
    options.emplace_back("--max-time");
  if (any([](const Record* row) { return row->flags.has(Flag::kLimitedByBudget); })) options.emplace_back("--budget");
  return options;
}

}  // namespace

std::vector<std::string> next_steps(std::span<const Record> rows, const ReportedFiles& files, Steps wanted) {
  // What is wrong first, what could be better last.
  enum Urgency { kWrong, kFailed, kUnproven, kMissing, kWeak, kGeneral };
  std::vector<std::pair<Urgency, std::string>> found;
  std::set<std::string> seen;
  const auto once = [&](Urgency urgency, const std::string& key, std::string line) {
    if (seen.insert(key).second) found.emplace_back(urgency, std::move(line));
  };
  const auto log_of = [&](const Record& row) {
    const auto log = files.logs.find(row.attempt_id);
    return log == files.logs.end() ? std::string() : fmt::format("see '{}', or ", log->second.string());
  };
  std::vector<const Record*> few;  // samples
  std::size_t measured = 0, disturbed = 0, unranked = 0;
  for (const Record& row : rows) {
    if (unfinished(row)) continue;
    measured += row.status == CellStatus::kCompleted && row.latency_p50_ms ? 1 : 0;
    const std::string where = fmt::format("{} on {}", row.model, target_key(row));
    switch (wanted == Steps::kAll ? row.status : CellStatus::kCompleted) {
      case CellStatus::kWrong:
        once(kWrong, "wrong" + where,
             fmt::format("{} computes wrong numbers ({}): do not use it; `assay verify {} --engines {} --debug` prints "
                         "the details",
                         where, row.message, row.model_id.empty() ? row.model : row.model_id, row.engine));
        break;
      case CellStatus::kFailed:
        once(kFailed, "failed" + where,
             fmt::format("{} failed ({}): {}run again with --debug", where, row.message, log_of(row)));
        break;
      case CellStatus::kUnavailable:
        once(kMissing, "unavailable" + row.hardware,
             fmt::format("{} is not available: {}{}", row.hardware, row.message,
                         row.hint.empty() ? "" : "; " + row.hint));
        break;
      case CellStatus::kSkipped:
        if (row.reason_code == Reason::kNoTime)
          once(kMissing, "no_time",
               "larger batches were skipped for time: a larger --budget, or --batch-sizes, measures them");
        break;
      default:
        break;
    }
    if (row.status == CellStatus::kCompleted && row.verification == Verification::kDegenerate)
      once(kUnproven, "degenerate" + row.model,
           fmt::format(
               "{}: its output does not depend on its input, so it cannot be verified; use real weights or --data",
               row.model));
    if (row.status == CellStatus::kCompleted && (row.flags.has(Flag::kUnsteady) || row.flags.has(Flag::kNoisy))) {
      ++disturbed;
      unranked += too_unsure_to_rank(row) ? 1 : 0;
    }
    if (row.flags.has(Flag::kFewSamples) && row.iterations) few.push_back(&row);
  }
  if (!few.empty())
    once(kWeak, "few",
         fmt::format("{} of {} measured cells {} too few samples for their percentiles: raise {}", few.size(), measured,
                     few.size() == 1 ? "has" : "have", join(what_ended_sampling(few), " and ")));
  if (disturbed > 0)
    once(kWeak, "noise",
         fmt::format("{} of {} measured cells were unsteady or noisy{}: `assay doctor` says what to change on this "
                     "machine",
                     disturbed, measured,
                     unranked == 0 ? "" : fmt::format(", {} of them too much to be ranked", unranked)));
  for (const Inconsistency& pair : inconsistent_cells(rows)) {
    const Record &smaller = rows[pair.smaller], &larger = rows[pair.larger];
    once(kWeak, fmt::format("inconsistent {}", pair.smaller),
         fmt::format("{} on {}: {} takes {} ms, {} only {} ms: inconsistent{}, measure both again", smaller.model,
                     target_key(smaller), shape_words(smaller), in_words(*smaller.latency_p50_ms), shape_words(larger),
                     in_words(*larger.latency_p50_ms), over_launches(smaller, larger)));
  }
  if (std::any_of(rows.begin(), rows.end(), [](const Record& row) { return row.ranked(); })) {
    if (!files.matrix.empty())
      once(kGeneral, "matrix",
           fmt::format("open {} to see what is known about each family on each hardware", files.matrix.string()));
    if (std::any_of(rows.begin(), rows.end(), [](const Record& row) { return row.flags.has(Flag::kSeeded); }))
      once(kGeneral, "seeded",
           "the weights are random: times are valid, accuracy is unknown; to use real weights, give a folder with "
           "model.safetensors");
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> steps;
  steps.reserve(found.size());
  for (auto& [urgency, line] : found) steps.push_back(std::move(line));
  return steps;
}

}  // namespace assay
