// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "analyse/analyse.hpp"
#include "base/text.hpp"

namespace assay {
namespace {

std::string shape_words(const Record& row) {
  std::string words = fmt::format("batch {}", row.batch_size.value_or(1));
  if (row.sequence_length) words += fmt::format(", {} tokens", *row.sequence_length);
  if (row.output_tokens) words += fmt::format(", {} output tokens", *row.output_tokens);
  return words;
}

// Nobody should be sent to what computes wrong numbers for this model, at whatever shape.
bool computes_wrong(std::span<const Record> rows, const std::string& model, const std::string& target) {
  return std::any_of(rows.begin(), rows.end(), [&](const Record& row) {
    return row.model == model && row.status == CellStatus::kWrong && target_key(row) == target;
  });
}

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

std::string latency_advice(std::span<const Record> rows, const std::string& model,
                           const std::vector<const Record*>& order) {
  const Record& first = *order[0];
  if (order.size() == 1) {
    const std::vector<std::string> unknown = unknown_targets(rows, model, target_key(first));
    const std::string result = fmt::format("{} ms at {}", in_words(*first.latency_p50_ms), shape_words(first));
    const bool others = std::any_of(rows.begin(), rows.end(), [&](const Record& row) {
      return row.model == model && target_key(row) != target_key(first);
    });
    if (others && unknown.empty())
      return fmt::format("{}: {} is the only verified choice here: {}", model, target_key(first), result);
    return fmt::format("{}: {} on {}; nothing to compare it with: {}", model, result, target_key(first),
                       others ? "there is no such result from " + join(unknown, ", ") : "no other target was tried");
  }
  const Record& second = *order[1];
  if (!differ(first, second))
    return fmt::format(
        "{}: no significant difference in latency between {} and {} ({} and {} ms at {}): choose by memory or measure "
        "longer",
        model, target_key(first), target_key(second), in_words(*first.latency_p50_ms), in_words(*second.latency_p50_ms),
        shape_words(first));
  const double low = *second.latency_p50_low_ms / *first.latency_p50_high_ms;
  const double high = *second.latency_p50_high_ms / *first.latency_p50_low_ms;
  return fmt::format(
      "{}: use {} for latency: {} ms at {}, {:.2f} times as fast as {} (from the medians' 95 % intervals: "
      "{:.2f} to {:.2f})",
      model, target_key(first), in_words(*first.latency_p50_ms), shape_words(first),
      *second.latency_p50_ms / *first.latency_p50_ms, target_key(second), low, high);
}

}  // namespace

std::string in_words(double value, int digits) {
  const bool large = std::abs(value) >= std::pow(10.0, digits - 1);
  return large ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, digits);
}

std::vector<std::string> recommendations(std::span<const Record> all) {
  std::vector<Record> rows;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
               [&](const Record& row) { return !computes_wrong(all, row.model, target_key(row)); });
  std::vector<std::string> lines;
  for (const std::string& model : models_of(rows)) {
    const std::vector<const Record*> order = by_latency(rows, model);
    if (order.empty()) continue;
    lines.push_back(latency_advice(all, model, order));

    const Record* best = nullptr;
    for (const std::string& target : targets_of(rows))
      if (const Record* row = best_throughput(rows, model, target, *order.front());
          row != nullptr && (best == nullptr || *row->throughput_ips > *best->throughput_ips))
        best = row;
    if (best != nullptr && (best->batch_size.value_or(1) > 1 || best->streams.value_or(1) > 1)) {
      const Record* single = representative(rows, model, target_key(*best));
      std::string line =
          fmt::format("{}: for throughput use {} at {}{}: {} items/s", model, target_key(*best), shape_words(*best),
                      best->streams.value_or(1) > 1 ? fmt::format(" and {} streams", *best->streams) : "",
                      in_words(*best->throughput_ips, 4));
      if (single != nullptr && single != best && single->effective_precision == best->effective_precision &&
          single->throughput_ips && *single->throughput_ips > 0)
        line += fmt::format(", {:.2f} times that of {}", *best->throughput_ips / *single->throughput_ips,
                            shape_words(*single));
      lines.push_back(line);
    }
    if (order.size() > 1) {
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
  }
  return lines;
}

std::vector<std::string> next_steps(std::span<const Record> rows, const ReportedFiles& files) {
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
  for (const Record& row : rows) {
    if (unfinished(row)) continue;
    const std::string where = fmt::format("{} on {}", row.model, target_key(row));
    switch (row.status) {
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
        if (row.reason_code == reason::kNoTime)
          once(kMissing, "no_time" + where,
               fmt::format("{}: larger batches were skipped for time; --batch-sizes measures them", where));
        break;
      default:
        break;
    }
    if (row.status == CellStatus::kCompleted && row.verification == Verification::kDegenerate)
      once(kUnproven, "degenerate" + row.model,
           fmt::format(
               "{}: its output does not depend on its input, so it cannot be verified; use real weights or --data",
               row.model));
    if (row.has_flag(flag::kUnsteady) || row.has_flag(flag::kNoisy))
      once(kWeak, "noise", "some cells were unsteady or noisy: `assay doctor` says what to change on this machine");
    if (row.has_flag(flag::kFewSamples) && row.iterations)
      once(kWeak, "few", "some cells have too few samples for their percentiles: raise --iterations or --timeout");
  }
  if (std::any_of(rows.begin(), rows.end(), [](const Record& row) { return row.ranked(); })) {
    if (!files.matrix.empty())
      once(kGeneral, "matrix",
           fmt::format("open {} to see what is known about each family on each hardware", files.matrix.string()));
    if (std::any_of(rows.begin(), rows.end(), [](const Record& row) { return row.has_flag(flag::kSeeded); }))
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
