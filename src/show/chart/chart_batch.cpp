// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/pairs.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

// A quantity against the batch, in one panel.
struct Quantity {
  const char *heading, *key, *unit;
  const char* direction;  ///< "lower is better"
  Better better;
  bool logarithmic;
  Number (*value)(const Record&);
  Number (*low)(const Record&);
  Number (*high)(const Record&);
};

Number median(const Record& row) { return row.latency_p50_ms; }
Number median_low(const Record& row) { return row.latency_p50_low_ms; }
Number median_high(const Record& row) { return row.latency_p50_high_ms; }
Number rate(const Record& row) { return row.throughput_ips; }
Number rate_low(const Record& row) { return rate_at(row, row.latency_p50_high_ms); }
Number rate_high(const Record& row) { return rate_at(row, row.latency_p50_low_ms); }
Number memory(const Record& row) { return row.memory_mb; }
Number nothing(const Record& /*row*/) { return {}; }
Number first_token(const Record& row) { return row.ttft_p50_ms ? row.ttft_p50_ms : row.ttft_ms; }
Number first_token_low(const Record& row) { return row.ttft_p50_low_ms; }
Number first_token_high(const Record& row) { return row.ttft_p50_high_ms; }
Number next_token(const Record& row) { return row.tpot_p50_ms ? row.tpot_p50_ms : row.tpot_ms; }
Number next_token_low(const Record& row) { return row.tpot_p50_low_ms; }
Number next_token_high(const Record& row) { return row.tpot_p50_high_ms; }

constexpr Quantity kLatency{"latency", "latency_p50_ms", "ms",       "lower is better", Better::kLower,
                            true,      median,           median_low, median_high};
constexpr Quantity kThroughput{"throughput", "throughput_ips", "items/s", "higher is better", Better::kHigher, true,
                               rate,         rate_low,         rate_high};
constexpr Quantity kMemory{"memory", "memory_mb", "MB",   "lower is better", Better::kLower, false,
                           memory,   nothing,     nothing};
constexpr Quantity kFirstToken{
    "time to the first token", "ttft_p50_ms",   "ms", "lower is better", Better::kLower, true, first_token,
    first_token_low,           first_token_high};
constexpr Quantity kNextToken{"time per further token", "tpot_p50_ms", "ms",       "lower is better",
                              Better::kLower,           true,          next_token, next_token_low,
                              next_token_high};

// The cells of a model whose batch varies: those that are comparable to its representative cell but
// for the batch, and those of the same request without a value.
std::vector<const Record*> cells_by_batch(const Cells& cells, const std::string& model,
                                          std::span<const Quantity> quantities) {
  const std::vector<const Record*> typical = cells.typical.at(model).time;
  const Record* like = typical.empty() ? nullptr : typical.front();
  const auto has_value = [&](const Record& row) {
    return std::ranges::any_of(quantities, [&](const Quantity& one) { return one.value(row).has_value(); });
  };
  for (const Record& row : cells.rows)
    if (like == nullptr && row.model == model && row.batch_size && has_value(row)) like = &row;
  std::vector<const Record*> found;
  if (like == nullptr) return found;
  bool any = false;
  const std::string key = cell_key_of_any_batch(*like);
  for (const Record& row : cells.rows) {
    if (row.model != model || !row.batch_size) continue;
    if (shows_values(row) ? cell_key_of_any_batch(row) != key : !is_asked_alike(*like, row)) continue;
    found.push_back(&row);
    any |= shows_values(row) && has_value(row);
  }
  if (!any) found.clear();
  std::ranges::stable_sort(found, {}, [](const Record* row) { return *row->batch_size; });
  return found;
}

Table table_of(std::span<const Record* const> rows, std::span<const Quantity> quantities) {
  Table table;
  table.columns = {{"model", "model", ""}, {"target", "target", ""}, {"batch_size", "batch", ""}};
  for (const Quantity& one : quantities) {
    table.columns.push_back({one.key, one.heading, one.unit, one.better});
    if (one.low != nothing) {
      table.columns.push_back(
          {std::string(one.key) + "_low",
           one.value == rate ? "from the median's interval" : std::string(one.heading) + ", 95 % from", one.unit});
      table.columns.push_back({std::string(one.key) + "_high", "to", one.unit});
    }
  }
  table.columns.push_back({"status", "status", ""});
  for (const Record* row : rows) {
    std::vector<TableValue> line{row->model, target_key(*row), value_of(row->batch_size)};
    const bool shown = shows_values(*row);
    for (const Quantity& one : quantities) {
      line.push_back(shown ? value_of(one.value(*row)) : TableValue());
      if (one.low == nothing) continue;
      line.push_back(shown ? value_of(one.low(*row)) : TableValue());
      line.push_back(shown ? value_of(one.high(*row)) : TableValue());
    }
    line.emplace_back(status_words(*row));
    table.rows.push_back(std::move(line));
  }
  return table;
}

struct Facet {
  std::string model;
  std::vector<const Record*> cells;
};

// "bert: how do latency and throughput grow with the batch?"
std::string model_question(const std::string& model, std::string question) {
  if (!question.empty())
    question.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(question.front())));
  return model + ": " + question;
}

// The finding of one model: its largest claimed gain in items/s from a smaller batch, else the question.
std::string title_of(std::span<const Facet> facets, std::string question) {
  if (facets.size() != 1) return question;
  std::vector<std::pair<const Record*, const Record*>> pairs;
  for (const Record* small : facets.front().cells)
    for (const Record* large : facets.front().cells)
      if (target_key(*small) == target_key(*large) && *small->batch_size < *large->batch_size && timed(*small) &&
          timed(*large))
        pairs.emplace_back(small, large);
  // One of all pairs is chosen because it is the largest.
  std::size_t among = 2;
  while (stats::pairs_among(among) < pairs.size()) ++among;
  const Record* from = nullptr;
  const Record* to = nullptr;
  CellComparison gain;
  for (const auto& [small, large] : pairs)
    if (const CellComparison found = compare_per_item(*large, *small, among);
        found.baseline_ahead() && (from == nullptr || found.ratio > gain.ratio)) {
      from = small;
      to = large;
      gain = found;
    }
  if (from == nullptr) return model_question(facets.front().model, question);
  return fmt::format("{}: on {}, batch {} computes {} times as many items a second as batch {}", facets.front().model,
                     target_key(*from), *to->batch_size, in_words(gain.ratio), *from->batch_size);
}

struct Plan {
  const char *name, *question;
  std::vector<Quantity> quantities;
  std::size_t columns;  ///< panels side by side
  std::size_t models_a_page;
  bool proportional;  ///< draw a line of time in proportion to the batch
};

// Where time is proportional to the batch, from the fastest cell of the smallest batch.
void add_proportional(Picture& picture, int panel, const Quantity& quantity, std::span<const Record* const> cells) {
  const Record* best = nullptr;
  std::int64_t largest = 0;
  for (const Record* row : cells) {
    if (!shows_values(*row) || !row->latency_p50_ms || !row->throughput_ips) continue;
    largest = std::max(largest, *row->batch_size);
    if (best == nullptr || *row->batch_size < *best->batch_size ||
        (*row->batch_size == *best->batch_size && *row->latency_p50_ms < *best->latency_p50_ms))
      best = row;
  }
  if (best == nullptr || largest <= *best->batch_size) return;
  const double first = *quantity.value(*best),
               growth = static_cast<double>(largest) / static_cast<double>(*best->batch_size);
  for (const auto& [batch, value] : {std::pair(*best->batch_size, first),
                                     std::pair(largest, quantity.better == Better::kLower ? first * growth : first)}) {
    Row row;
    row.panel = panel;
    row.series = "proportional";
    row.x = static_cast<double>(batch);
    row.value = value;
    picture.add(row);
  }
  picture.plain_line(panel, "proportional", "ink-3", Json::array({2, 4}), nullptr, 1);
}

// Names stand at the ends of at most six lines; those of targets that have none, below them.
bool has_room_for_names(const Facet& facet) {
  constexpr std::size_t kMostLines = 6, kMostNames = 13;
  std::set<std::string> lines, names;
  for (const Record* cell : facet.cells) {
    names.insert(target_key(*cell));
    if (shows_values(*cell)) lines.insert(target_key(*cell));
  }
  return lines.size() <= kMostLines && names.size() <= kMostNames;
}

// The room right of a panel for the names at the ends of its lines; 0 if they are in a legend.
double names_width(const Frame& frame) {
  constexpr double kWidest = 150, kSize = 11;
  double widest = 0;
  for (const Look& look : frame.legend) widest = std::max(widest, text_width("✕ " + look.name, kSize));
  return frame.named ? std::min(widest, kWidest) : 0;
}

void draw_panel(Picture& picture, const Panel& panel, const Quantity& quantity, const Facet& facet, bool proportional) {
  const std::vector<Look>& looks = picture.frame().legend;
  const int number = picture.add(panel);
  for (const Record* cell : facet.cells) {
    if (std::ranges::find(looks, target_key(*cell), &Look::name) == looks.end()) continue;
    Row row;
    row.panel = number;
    row.group = facet.model;
    row.series = target_key(*cell);
    row.x = static_cast<double>(*cell->batch_size);
    if (shows_values(*cell)) {
      row.value = quantity.value(*cell);
      row.low = quantity.low(*cell);
      row.high = quantity.high(*cell);
      row.style = quantity.low == nothing ? style_of(*cell) & kHatched : style_of(*cell);
      if (!row.value) continue;
      if (mark_of(*cell) == Mark::kUnverified) row.text = kUnverifiedText;
    } else {
      row.mark = mark_of(*cell);
    }
    picture.add(row);
  }
  if (proportional && quantity.logarithmic) add_proportional(picture, number, quantity, facet.cells);
  for (const Look& look : looks) {
    if (std::ranges::none_of(facet.cells, [&](const Record* cell) { return target_key(*cell) == look.name; })) continue;
    Json arguments = arguments_of(look);
    picture.line(number, look);
    picture.draw(number, look.name, "point", "point", arguments);
    if (!picture.frame().named) continue;
    arguments["width"] = names_width(picture.frame());
    picture.draw(number, look.name, "line_end", "point", std::move(arguments));
  }
  picture.draw(number, "", "absent", "point", {{"ink2", {{"$colour", "ink-2"}}}});
}

Json batch_axis(int panel, bool named) {
  Json axis = number_axis(named ? "batch size" : "", {"x"}, {panel}, "log");
  axis["$range"]["each"] = true;
  return axis;
}

// "bert: latency (ms)"; without a model "latency (ms, lower is better)".
std::string panel_title(const Plan& plan, const std::string& model, const Quantity& quantity, double width) {
  constexpr double kSize = 12.8;  // of bold text, as if it were not bold
  if (model.empty()) return fmt::format("{} ({}, {})", quantity.heading, quantity.unit, quantity.direction);
  if (plan.quantities.size() == 1) return cut_to(model, width, kSize);
  const std::string rest = fmt::format(": {} ({})", quantity.heading, quantity.unit);
  return cut_to(model, width - text_width(rest, kSize), kSize) + rest;
}

std::vector<Chart> charts_by_batch(const Source& source, const Plan& plan) {
  const Cells& cells = source.cells;
  std::vector<Facet> facets;
  for (const std::string& model : cells.models)
    if (std::vector<const Record*> found = cells_by_batch(cells, model, plan.quantities); !found.empty())
      facets.push_back({model, std::move(found)});
  std::vector<Chart> charts;
  constexpr double kWidth = 1000, kLeft = 64, kRight = 18, kHeight = 190, kGap = 76;
  const PanelGrid grid(std::min(plan.columns, facets.size() * plan.quantities.size()), kWidth, kHeight + kGap);
  for (std::size_t from = 0; from < facets.size(); from += plan.models_a_page) {
    const std::span<const Facet> page(facets.data() + from, std::min(plan.models_a_page, facets.size() - from));
    std::vector<const Record*> shown;
    std::vector<Record> copies;
    for (const Facet& facet : page)
      for (const Record* row : facet.cells) {
        shown.push_back(row);
        copies.push_back(*row);
      }
    Frame frame;
    frame.name = plan.name;
    frame.title = plan.proportional    ? title_of(facets, plan.question)
                  : facets.size() == 1 ? model_question(facets.front().model, plan.question)
                                       : plan.question;
    std::vector<const Record*> measured;
    std::ranges::copy_if(shown, std::back_inserter(measured), [](const Record* row) { return shows_values(*row); });
    frame.subtitle = common_words(measured);
    const bool directions_differ = std::ranges::any_of(
        plan.quantities, [&](const Quantity& one) { return one.better != plan.quantities.front().better; });
    if (facets.size() > 1 && directions_differ)
      for (const Quantity& quantity : plan.quantities)
        frame.subtitle += fmt::format(" · {}: {}", quantity.heading, quantity.direction);
    if (facets.size() > page.size())
      frame.subtitle += fmt::format(" · models {} to {} of {}", from + 1, from + page.size(), facets.size());
    frame.legend = looks_of(copies);
    const bool of_memory = std::ranges::all_of(plan.quantities, [](const Quantity& one) { return one.low == nothing; });
    std::vector<Row> rows;  // only to know which notes are needed
    for (const Record* row : shown) {
      Row one;
      one.mark = shows_values(*row) ? Mark::kNone : mark_of(*row);
      one.style = style_of(*row) & (of_memory ? kHatched : ~0);
      if (mark_of(*row) == Mark::kUnverified) one.text = kUnverifiedText;
      if (shows_values(*row)) one.value = 1;
      rows.push_back(one);
    }
    std::vector<Row> unavailable;  // targets that have nothing but that
    for (std::size_t i = 0; i < shown.size(); ++i) {
      unavailable.push_back(rows[i]);
      unavailable.back().series = target_key(*shown[i]);
    }
    leave_out_absent(frame, unavailable);
    frame.named = std::ranges::all_of(page, has_room_for_names);
    std::vector<std::string> notes = legend_notes(unavailable);
    frame.notes.insert(frame.notes.begin(), notes.begin(), notes.end());
    const auto has_two_batches = [](const Facet& facet) {
      return *facet.cells.front()->batch_size != *facet.cells.back()->batch_size;
    };
    if (plan.proportional && std::ranges::any_of(page, has_two_batches))
      frame.notes.emplace_back("Dotted: time in proportion to the batch, from the fastest cell of the smallest batch.");
    const bool of_rates = std::ranges::any_of(plan.quantities, [](const Quantity& one) { return one.value == rate; });
    if (of_rates && std::ranges::any_of(shown, [](const Record* row) { return shows_values(*row) && rate_low(*row); }))
      frame.notes.emplace_back(kWhiskersOfRates);
    for (const std::string& note : cells.notes) frame.notes.push_back(note);
    Picture picture(frame);
    std::size_t place = 0;
    int number = 0;
    for (const Facet& facet : page)
      for (const Quantity& quantity : plan.quantities) {
        Panel panel;
        panel.left = grid.left(place) + kLeft;
        panel.top = grid.top(place);
        panel.width = grid.column() - kLeft - kRight - names_width(frame);
        panel.height = kHeight;
        panel.title = panel_title(plan, facets.size() > 1 ? facet.model : "", quantity, grid.column() - kLeft);
        panel.x = batch_axis(number, true);
        panel.y = number_axis("", {"value", "low", "high"}, {number}, quantity.logarithmic ? "log" : "linear", true);
        draw_panel(picture, panel, quantity, facet, plan.proportional);
        ++place;
        ++number;
      }
    std::string summary = fmt::format("{} of {} against the batch size, on {}.", plan.question,
                                      counted(page.size(), "model"), counted(frame.legend.size(), "target"));
    charts.push_back(picture.finish(grid.height(place), table_of(shown, plan.quantities), std::move(summary)));
  }
  return charts;
}

}  // namespace

std::vector<Chart> batch_size_scaling(const Source& source) {
  return charts_by_batch(source, {"batch_size_scaling",
                                  "How do latency, throughput and memory grow with the batch?",
                                  {kLatency, kThroughput, kMemory},
                                  3,
                                  4,
                                  true});
}

std::vector<Chart> latency_vs_batch_size(const Source& source) {
  return charts_by_batch(
      source,
      {"latency_vs_batch_size", "Latency against the batch size (ms, lower is better)", {kLatency}, 3, 12, true});
}

std::vector<Chart> throughput_vs_batch_size(const Source& source) {
  return charts_by_batch(source, {"throughput_vs_batch_size",
                                  "Throughput against the batch size (items/s, higher is better)",
                                  {kThroughput},
                                  3,
                                  12,
                                  true});
}

std::vector<Chart> memory_usage_vs_batch_size(const Source& source) {
  return charts_by_batch(
      source,
      {"memory_usage_vs_batch_size", "Memory against the batch size (MB, lower is better)", {kMemory}, 3, 12, false});
}

std::vector<Chart> generation(const Source& source) {
  return charts_by_batch(source, {"generation",
                                  "How long to the first token, and to each further one? (ms, lower is better)",
                                  {kFirstToken, kNextToken},
                                  2,
                                  4,
                                  false});
}

}  // namespace assay::chart
