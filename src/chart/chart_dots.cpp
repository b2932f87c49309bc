// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyse/analyse.hpp"
#include "chart/charts.hpp"
#include "chart/layout.hpp"
#include "chart/picture.hpp"
#include "store/dataset.hpp"

namespace assay::chart {
namespace {

// A row of a dot plot: a name, and a value of each target.
struct DotLine {
  std::string facet, name;
  std::vector<Row> dots;  ///< without panel and group
  double best = 0;        ///< the least value; lines are sorted by it
};

std::string facet_name(const std::string& name) { return name.empty() ? "other" : name; }

// The words for the targets of a line without a value, as the runtime's `absentees` writes them.
double absent_width(const DotLine& line) {
  constexpr double kSize = 11;
  std::string words;
  for (const Row& dot : line.dots)
    if (!dot.value && dot.mark != Mark::kNone) words += (words.empty() ? "≠\u2009" : "  ≠\u2009") + dot.series;
  return words.empty() ? 0 : text_width(words, kSize) + 12;
}

// Facets one below the other, each with its lines, in pages of at most `kMostLines`.
std::vector<Chart> dot_plots(Frame frame, std::vector<DotLine> lines, const Table& table) {
  constexpr double kLine = 24, kBetween = 34, kAxis = 52, kLabelSize = 12, kWidest = 320;
  constexpr std::size_t kMostLines = 40;
  std::vector<Row> all;
  for (const DotLine& line : lines) all.insert(all.end(), line.dots.begin(), line.dots.end());
  leave_out_absent(frame, all);
  double labels = 40, absent = 0;
  for (DotLine& line : lines) {
    std::erase_if(line.dots, [&](const Row& dot) {
      return std::ranges::find(frame.legend, dot.series, &Look::name) == frame.legend.end();
    });
    const auto with_value =
        static_cast<double>(std::ranges::count_if(line.dots, [](const Row& dot) { return dot.value.has_value(); }));
    double place = -(with_value - 1) / 2;
    for (Row& dot : line.dots)
      if (dot.value) dot.x = place++;
    labels = std::max(labels, text_width(line.name, kLabelSize));
    absent = std::max(absent, absent_width(line));
  }
  labels = std::min(labels, kWidest);
  std::map<std::string, double> first;  // a facet's place is that of its fastest line
  for (const DotLine& line : lines) {
    const auto [place, added] = first.try_emplace(line.facet, line.best);
    if (!added) place->second = std::min(place->second, line.best);
  }
  std::ranges::stable_sort(lines, [&](const DotLine& a, const DotLine& b) {
    return a.facet != b.facet ? std::pair(first.at(a.facet), a.facet) < std::pair(first.at(b.facet), b.facet)
                              : a.best < b.best;
  });
  std::vector<Chart> charts;
  const std::string subtitle = frame.subtitle;
  const std::vector<std::string> notes = frame.notes;
  for (std::size_t from = 0; from < lines.size(); from += kMostLines) {
    const std::size_t to = std::min(lines.size(), from + kMostLines);
    const std::span<const DotLine> page(lines.data() + from, to - from);
    frame.subtitle = subtitle;
    if (lines.size() > page.size()) frame.subtitle += fmt::format(" · rows {} to {} of {}", from + 1, to, lines.size());
    all.clear();
    for (const DotLine& line : page) all.insert(all.end(), line.dots.begin(), line.dots.end());
    frame.notes = legend_notes(all);
    frame.notes.insert(frame.notes.end(), notes.begin(), notes.end());
    std::vector<std::span<const DotLine>> facets;
    for (std::size_t at = 0; at < page.size();) {
      const std::size_t begin = at;
      while (at < page.size() && page[at].facet == page[begin].facet) ++at;
      facets.push_back(page.subspan(begin, at - begin));
    }
    std::vector<int> panels;
    for (std::size_t i = 0; i < facets.size(); ++i) panels.push_back(static_cast<int>(i));
    Picture picture(frame);
    double top = 30;
    for (const int number : panels) {
      const std::span<const DotLine> facet = facets[static_cast<std::size_t>(number)];
      const bool last = number == panels.back();
      Panel panel{16 + labels + 10,
                  top,
                  frame.width - 16 - labels - 10 - std::max(30.0, absent),
                  kLine * static_cast<double>(facet.size()),
                  facet.front().facet,
                  number_axis(last ? "ms, lower is better" : "", {"value", "low", "high"}, panels, "log"),
                  group_axis(number, labels)};
      panel.x["axisLabel"]["show"] = last;
      picture.add(panel);
      for (const DotLine& line : facet)
        for (Row dot : line.dots) {
          dot.panel = number;
          dot.group = line.name;
          picture.add(dot);
        }
      picture.draw(number, "", "span", "category", {{"colour", {{"$colour", "ink-3"}}}});
      for (const Look& look : frame.legend) {
        Json arguments = arguments_of(look);
        arguments["slots"] = frame.legend.size();
        picture.draw(number, look.name, "dot", "category", std::move(arguments));
      }
      picture.draw(number, "", "absentees", "category", {{"ink2", {{"$colour", "ink-2"}}}});
      top += panel.height + kBetween;
    }
    charts.push_back(
        picture.finish(top - kBetween + kAxis, table,
                       fmt::format("{} rows with a point for each of {} targets.", page.size(), frame.legend.size())));
  }
  return charts;
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

const std::vector<Column> kDotColumns{{"name", "name", ""},       {"group", "group", ""},
                                      {"target", "target", ""},   {"latency_ms", "latency", "ms", Better::kLower},
                                      {"low", "95 % from", "ms"}, {"high", "to", "ms"},
                                      {"models", "models", ""}};

// The least value of a line, for sorting; lines without one come last.
double least(const DotLine& line) {
  double best = 1e300;
  for (const Row& dot : line.dots)
    if (dot.value) best = std::min(best, *dot.value);
  return best;
}

void add_dots(Table& table, const DotLine& line, std::size_t models) {
  for (const Row& dot : line.dots)
    table.rows.push_back({line.name, line.facet, dot.series, value_of(dot.value), value_of(dot.low), value_of(dot.high),
                          static_cast<double>(models)});
}

// The targets of a model without a row in `found`, with the reason.
void add_marks(DotLine& line, const Cells& cells, const std::string& model) {
  for (const Record& row : cells.rows) {
    const std::string target = target_key(row);
    if (row.model != model || mark_of(row) == Mark::kNone ||
        std::ranges::find(line.dots, target, &Row::series) != line.dots.end())
      continue;
    Row dot;
    dot.series = target;
    dot.mark = mark_of(row);
    line.dots.push_back(dot);
  }
}

Frame frame_of(const Cells& cells, const char* name, const char* title) {
  Frame frame;
  frame.name = name;
  frame.title = title;
  std::vector<const Record*> shown;
  for (const std::string& model : cells.models)
    for (const Record* row : representatives(cells.rows, model)) shown.push_back(row);
  frame.subtitle = common_words(shown);
  frame.legend = looks_of(cells.rows);
  frame.notes = cells.notes;
  return frame;
}

// The geometric mean of an architecture's models on each target, over the models that all its targets have.
struct ArchitectureLine {
  std::string architecture, category;
  std::vector<std::string> models;
  std::map<std::string, std::vector<const Record*>> rows;  ///< by target, one for each model, in the same order
};

std::vector<ArchitectureLine> architectures_of(const Cells& cells) {
  std::vector<ArchitectureLine> lines;
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> models;
  std::map<std::string, std::string> categories;
  for (const Record& row : cells.rows) {
    const std::string name = row.architecture.empty() ? row.model : row.architecture;
    if (!models.contains(name)) order.push_back(name);
    std::vector<std::string>& own = models[name];
    if (std::ranges::find(own, row.model) == own.end()) own.push_back(row.model);
    if (!row.category.empty()) categories[name] = row.category;
  }
  for (const std::string& name : order) {
    ArchitectureLine line{name, facet_name(categories[name]), {}, {}};
    std::map<std::string, std::map<std::string, const Record*>> found;  // by target, model
    for (const std::string& model : models[name])
      for (const Record* row : representatives(cells.rows, model)) found[target_key(*row)][model] = row;
    for (const std::string& model : models[name])
      if (!found.empty() && std::ranges::all_of(found, [&](const auto& entry) { return entry.second.contains(model); }))
        line.models.push_back(model);
    for (const auto& [target, by_model] : found)
      for (const std::string& model : line.models) line.rows[target].push_back(by_model.at(model));
    lines.push_back(std::move(line));
  }
  return lines;
}

double mean_latency(std::span<const Record* const> rows) {
  std::vector<double> times;
  for (const Record* row : rows) times.push_back(*row->latency_p50_ms);
  return geometric_mean(times);
}

Mark mark_of_architecture(const Cells& cells, const ArchitectureLine& line, const std::string& target) {
  Mark mark = Mark::kNoValue;
  for (const Record& row : cells.rows)
    if ((row.architecture.empty() ? row.model : row.architecture) == line.architecture && target_key(row) == target &&
        mark_of(row) != Mark::kNone)
      return mark_of(row);
  return mark;
}

}  // namespace

std::vector<Chart> model_performance(const Input& input) {
  const Cells cells = cells_of(input);
  std::vector<DotLine> lines;
  Table table{kDotColumns, {}};
  for (const std::string& model : cells.models) {
    DotLine line;
    line.name = model;
    for (const Record* row : representatives(cells.rows, model)) {
      if (!row->latency_p50_ms) continue;
      line.facet = facet_name(row->family);
      Row dot;
      dot.series = target_key(*row);
      dot.value = row->latency_p50_ms;
      dot.low = row->latency_p50_low_ms;
      dot.high = row->latency_p50_high_ms;
      dot.style = style_of(*row);
      line.dots.push_back(dot);
    }
    if (line.dots.empty()) continue;
    add_marks(line, cells, model);
    line.best = least(line);
    add_dots(table, line, 1);
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  return dot_plots(frame_of(cells, "model_performance", "How do the models of a family compare?"), std::move(lines),
                   table);
}

std::vector<Chart> architecture_comparison(const Input& input) {
  const Cells cells = cells_of(input);
  std::vector<DotLine> lines;
  Table table{kDotColumns, {}};
  for (const ArchitectureLine& one : architectures_of(cells)) {
    if (one.models.empty()) continue;
    DotLine line;
    line.name = one.architecture;
    line.facet = one.category;
    for (const auto& [target, rows] : one.rows) {
      if (!std::ranges::all_of(rows, [](const Record* row) { return row->latency_p50_ms.has_value(); })) continue;
      Row dot;
      dot.series = target;
      dot.value = mean_latency(rows);
      if (rows.size() == 1) {
        dot.low = rows.front()->latency_p50_low_ms;
        dot.high = rows.front()->latency_p50_high_ms;
        dot.style = style_of(*rows.front());
      }
      line.dots.push_back(dot);
    }
    for (const std::string& model : one.models) add_marks(line, cells, model);
    line.best = least(line);
    add_dots(table, line, one.models.size());
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  Frame frame = frame_of(cells, "architecture_comparison", "How fast is each architecture?");
  frame.notes.emplace_back("Several models of an architecture: geometric mean over those that all its targets have.");
  return dot_plots(std::move(frame), std::move(lines), table);
}

std::vector<Chart> architecture_performance_matrix(const Input& input) {
  const Cells cells = cells_of(input);
  std::vector<ArchitectureLine> lines = architectures_of(cells);
  std::erase_if(lines, [](const ArchitectureLine& line) { return line.models.empty(); });
  if (lines.empty()) return {};
  std::ranges::stable_sort(lines, {},
                           [](const ArchitectureLine& line) { return std::pair(line.category, line.architecture); });
  const std::vector<Look> looks = looks_of(cells.rows);
  constexpr double kLine = 26, kColumn = 118, kLabelSize = 12, kWidest = 320, kBetween = 34;
  constexpr std::size_t kMostLines = 45;
  double labels = 60;
  for (const ArchitectureLine& line : lines) labels = std::max(labels, text_width(line.architecture, kLabelSize));
  labels = std::min(labels, kWidest);
  Table table{{{"architecture", "architecture", ""},
               {"category", "category", ""},
               {"target", "target", ""},
               {"ratio", "times the best time", "", Better::kLower},
               {"latency_ms", "latency", "ms", Better::kLower},
               {"claim", "what is shown", ""}},
              {}};
  std::vector<Chart> charts;
  for (std::size_t from = 0; from < lines.size(); from += kMostLines) {
    const std::span<const ArchitectureLine> page(lines.data() + from, std::min(kMostLines, lines.size() - from));
    Frame frame = frame_of(cells, "architecture_performance_matrix", "Which hardware for which architecture?");
    frame.legend.clear();
    frame.subtitle += " · times the time of the best target of the row, lower is better";
    if (lines.size() > page.size())
      frame.subtitle += fmt::format(" · rows {} to {} of {}", from + 1, from + page.size(), lines.size());
    frame.notes.insert(frame.notes.begin(),
                       "Bold: paired launches show that the target is slower than the best one. The darker, the "
                       "slower; ten times and more are equally dark.");
    frame.width = std::max(560, static_cast<int>(16 + labels + 10 + kColumn * static_cast<double>(looks.size()) + 24));
    std::vector<Row> rows;
    double top = 52;
    std::vector<std::pair<Panel, std::string>> panels;
    for (std::size_t at = 0; at < page.size();) {
      const std::size_t begin = at;
      const int number = static_cast<int>(panels.size());
      while (at < page.size() && page[at].category == page[begin].category) {
        const ArchitectureLine& line = page[at++];
        const Record* best = nullptr;
        std::string best_target;
        for (const auto& [target, own] : line.rows)
          if (best_target.empty() || mean_latency(own) < mean_latency(line.rows.at(best_target))) best_target = target;
        best = line.rows.at(best_target).front();
        for (const Look& look : looks) {
          Row row;
          row.panel = number;
          row.group = line.architecture;
          row.series = look.name;
          const auto own = line.rows.find(look.name);
          std::string claim;
          if (own == line.rows.end()) {
            row.mark = mark_of_architecture(cells, line, look.name);
            const auto simulated = std::ranges::find_if(cells.rows, [&](const Record& record) {
              return record.architecture == line.architecture && target_key(record) == look.name && look.hatched &&
                     record.latency_p50_ms && shows_values(record);
            });
            if (simulated != cells.rows.end() && best->batch_size == simulated->batch_size) {
              row.mark = Mark::kNone;
              row.style = kHatched;
              row.value = *simulated->latency_p50_ms / mean_latency(line.rows.at(best_target));
              claim = "simulated or software: not compared";
            }
          } else {
            row.value = mean_latency(own->second) / mean_latency(line.rows.at(best_target));
            if (look.name != best_target) {
              std::vector<CellPair> pairs;
              for (std::size_t i = 0; i < own->second.size(); ++i)
                pairs.push_back({line.rows.at(best_target)[i], own->second[i]});
              const CellComparison comparison = compare_together(pairs, line.rows.size());
              if (comparison.difference == stats::Difference::kSlower) row.style |= kBold;
              claim = comparison.claimed() ? std::string(to_string(comparison.difference)) : no_claim_words(comparison);
            } else {
              claim = "best";
            }
          }
          table.rows.push_back({line.architecture, line.category, look.name, value_of(row.value),
                                own == line.rows.end() ? TableValue() : TableValue(mean_latency(own->second)), claim});
          rows.push_back(std::move(row));
        }
      }
      Panel panel;
      panel.left = 16 + labels + 10;
      panel.top = top;
      panel.width = kColumn * static_cast<double>(looks.size());
      panel.height = kLine * static_cast<double>(at - begin);
      panel.x = {{"type", "category"},
                 {"$categories", {{"panel", number}, {"column", "series"}}},
                 {"position", "top"},
                 {"axisLine", {{"show", false}}},
                 {"axisTick", {{"show", false}}},
                 {"axisLabel",
                  {{"show", number == 0},
                   {"interval", 0},
                   {"color", {{"$colour", "ink"}}},
                   {"fontSize", 12},
                   {"margin", 26},
                   {"fontWeight", "bold"}}}};
      panel.y = group_axis(number, labels);
      panel.y["axisLine"]["show"] = false;
      top += panel.height + kBetween;
      panel.title = page[begin].category;
      panels.emplace_back(panel, page[begin].category);
    }
    for (std::string& note : legend_notes(rows)) frame.notes.push_back(std::move(note));
    Picture picture(frame);
    for (const auto& [panel, category] : panels) picture.add(panel);
    for (Row& row : rows) picture.add(std::move(row));
    Json scale = Json::array(), words = Json::array();
    for (int step = 0; step <= 6; ++step) {
      scale.push_back({{"$colour", fmt::format("heat-{}", step)}});
      words.push_back({{"$colour", fmt::format("heat-{}-ink", step)}});
    }
    for (std::size_t i = 0; i < panels.size(); ++i)
      picture.draw(static_cast<int>(i), "", "heat", "cell",
                   {{"scale", scale},
                    {"words", words},
                    {"grid", {{"$colour", "grid"}}},
                    {"paper", {{"$colour", "background"}}},
                    {"ink", {{"$colour", "ink"}}},
                    {"ink2", {{"$colour", "ink-2"}}}});
    charts.push_back(
        picture.finish(top - kBetween + 16, table,
                       fmt::format("A table of {} architectures and {} targets; 1.00 is the best of its row.",
                                   page.size(), looks.size())));
  }
  return charts;
}

std::vector<Chart> memory_scaling(const Input& input) {
  const Cells cells = cells_of(input);
  Frame frame;
  frame.name = "memory_scaling";
  frame.title = "How does memory grow with the size of the model and the batch?";
  std::vector<const Record*> shown;
  std::vector<Row> rows;
  std::map<std::string, Row> names;  // by model: the point with the most memory
  Table table{{{"model", "model", ""},
               {"target", "target", ""},
               {"batch_size", "batch", ""},
               {"parameter_count", "parameters", ""},
               {"memory_mb", "peak memory", "MB", Better::kLower},
               {"status", "status", ""}},
              {}};
  for (const Record& record : cells.rows) {
    if (!record.parameter_count || *record.parameter_count <= 0) continue;
    Row row;
    row.group = record.model;
    row.series = target_key(record);
    row.x = static_cast<double>(*record.parameter_count);
    if (shows_values(record) && record.memory_mb) {
      row.value = record.memory_mb;
      constexpr double kSmallest = 3, kStep = 1.1;
      row.high =
          kSmallest + kStep * std::log2(static_cast<double>(std::max<std::int64_t>(record.batch_size.value_or(1), 1)));
      row.style = record.memory_source == "process_warm" ? kHollow : 0;
      shown.push_back(&record);
      const auto [place, added] = names.try_emplace(record.model, row);
      if (!added && *place->second.value < *row.value) place->second = row;
    } else if (mark_of(record) != Mark::kNone) {
      row.mark = mark_of(record);
    } else {
      continue;
    }
    table.rows.push_back({record.model, row.series, value_of(record.batch_size), *row.x, value_of(row.value),
                          std::string(to_string(record.status))});
    rows.push_back(std::move(row));
  }
  if (shown.empty()) return {};
  frame.subtitle = common_words(shown) + " · MB, lower is better";
  frame.legend = looks_of(cells.rows);
  leave_out_absent(frame, rows);
  frame.notes.emplace_back("The larger the marker, the larger the batch.");
  if (std::ranges::any_of(rows, [](const Row& row) { return row.value && row.style == kHollow; }))
    frame.notes.emplace_back("Hollow: at most; the worker had already run another shape.");
  for (std::string& note : legend_notes(rows, "")) frame.notes.push_back(std::move(note));
  for (const std::string& note : cells.notes) frame.notes.push_back(note);
  Picture picture(frame);
  Panel panel{76,
              8,
              890,
              420,
              "",
              number_axis("parameters", {"x"}, {0}, "log"),
              number_axis("peak memory, MB", {"value"}, {0}, "log")};
  panel.y["nameGap"] = 52;
  panel.x["$range"]["count_words"] = true;
  picture.add(panel);
  for (Row& row : rows) picture.add(std::move(row));
  for (auto& [model, row] : names) {
    row.series = "name";
    row.text = cut_to(model, 180, 11);
    picture.add(row);
  }
  for (const Look& look : frame.legend) {
    Json arguments = arguments_of(look);
    arguments["sized"] = true;
    picture.draw(0, look.name, "point", "point", std::move(arguments));
  }
  picture.draw(0, "", "absent", "point", {{"ink2", {{"$colour", "ink-2"}}}, {"once", true}});
  picture.draw(0, "name", "name", "point", {{"ink", {{"$colour", "ink"}}}, {"sized", true}, {"apart", true}});
  return {picture.finish(
      480, std::move(table),
      fmt::format("{} cells of {} models: peak memory against the number of parameters.", shown.size(), names.size()))};
}

}  // namespace assay::chart
