// SPDX-License-Identifier: Apache-2.0
#include "show/report/named_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "core/traits/cell.hpp"
#include "history/store/dataset.hpp"
#include "show/report/change_report.hpp"
#include "show/report/format.hpp"

namespace assay {
namespace {

// "7 of 12 models" of those that have an answer.
struct Answered {
  std::map<std::string, std::size_t> claimed;  // by target
  std::size_t open = 0, alone = 0, none = 0;
};

// "12 models"; of several machines "10 cases (5 models on 2 machines)": each is one of a model on a machine.
template <class Line>
std::string cases_words(const Analysis& analysis, const std::vector<Line>& lines, std::string Line::*name,
                        const char* plural) {
  if (analysis.machines < 2) return fmt::format("{} {}", lines.size(), plural);
  std::set<std::string> names;
  for (const Line& line : lines) names.insert(line.*name);
  return fmt::format("{} cases ({} {} on {} machines)", lines.size(), names.size(), plural, analysis.machines);
}

std::string how_many_words(const Answered& answered, const std::string& all) {
  std::vector<std::pair<std::string, std::size_t>> order(answered.claimed.begin(), answered.claimed.end());
  std::ranges::stable_sort(order, std::greater<>(), [](const auto& each) { return each.second; });
  std::vector<std::string> parts;
  parts.reserve(order.size());
  for (const auto& [target, count] : order) parts.push_back(fmt::format("{} for {}", target, count));
  std::string words = parts.empty() ? std::string("No target is shown to be best for any of")
                                    : fmt::format("Best where a difference is shown: {}, of", join(parts, ", "));
  words += fmt::format(" {}.", all);
  if (answered.open > 0)
    words += fmt::format(" For {} no difference is shown, or nothing was compared.", answered.open);
  if (answered.alone > 0) words += fmt::format(" For {} only one target has a ranked result.", answered.alone);
  if (answered.none > 0) words += fmt::format(" Without a verified, ranked time: {}.", answered.none);
  return words;
}

std::vector<Section> joined(std::initializer_list<std::vector<Section>> parts) {
  std::vector<Section> sections;
  for (const std::vector<Section>& part : parts) sections.insert(sections.end(), part.begin(), part.end());
  return sections;
}

Section failure_section(const Analysis& analysis) {
  Section section{"What failed, and why", {}, failure_points(analysis.failures), {}, {}};
  if (section.points.empty()) section.paragraphs.emplace_back("Nothing failed.");
  return section;
}

Section sure_section(const Dataset& data) {
  Section section{"How sure this is", {}, {}, {}, {}};
  section.points = how_sure_lines(data.cells, machine_score(data));
  constexpr std::size_t kMost = 12;
  if (section.points.size() > kMost) {
    const std::size_t more = section.points.size() - kMost;
    section.points.resize(kMost);
    section.points.push_back(fmt::format("and {} more pairs that are open", more));
  }
  section.paragraphs.emplace_back(
      "Only verified cells are ranked. Two cells are called different by paired rounds of launches of one run only: "
      "the interval shown is 95 %; they are called different only if the 99 % interval of the ratio of their times "
      "does not contain 1.");
  return section;
}

Section opportunities_section(const Analysis& analysis) {
  Section section{
      "Optimization opportunities", {}, {}, {opportunities_table(analysis)}, {"optimization_opportunities"}};
  if (!analysis.no_opportunity.empty()) section.paragraphs.push_back(analysis.no_opportunity);
  return section;
}

Section efficiency_section(const Analysis& analysis) {
  Section section{"Hardware efficiency",
                  {"Achieved FLOP/s (operations of the graph × items/s / batch) over the measured peak of the same "
                   "precision; geometric mean over cells."},
                  analysis.efficiency_missing,
                  {efficiency_table(analysis)},
                  {"hardware_efficiency"}};
  if (analysis.efficiency.empty() && section.points.empty())
    section.points.emplace_back("no ranked cell has a counted number of operations");
  return section;
}

Document overview(const Dataset& data, const Analysis& analysis) {
  return {"overview", "Overview", overview_answer(analysis),
          joined({{{"Models", {}, {}, {models_table(analysis)}, {"hardware_comparison"}}, failure_section(analysis)},
                  change_sections(data, analysis),
                  {sure_section(data)}})};
}

Section cells_section(const Dataset& data, const Analysis& analysis) {
  Section section{"Cells", {}, {}, {cells_table(data, analysis)}, {}};
  if (std::string legend = throughput_legend(data.cells); !legend.empty())
    section.paragraphs.push_back(std::move(legend));
  return section;
}

Document comprehensive(const Dataset& data, const Analysis& analysis) {
  return {"comprehensive-benchmarks",
          "Comprehensive benchmarks",
          overview_answer(analysis),
          {cells_section(data, analysis),
           {"Models", {}, {}, {models_table(analysis)}, {"hardware_comparison", "memory_scaling"}},
           {"Categories",
            {"Geometric means over the cells that all compared targets of a category have."},
            {},
            {groups_table(analysis.categories, analysis)},
            {"category_comparison"}},
           failure_section(analysis),
           opportunities_section(analysis),
           efficiency_section(analysis),
           sure_section(data)}};
}

Answered answered_by(const std::vector<CategoryLine>& lines) {
  Answered answered;
  for (const CategoryLine& line : lines) {
    if (line.baseline.empty()) {
      ++answered.alone;
      continue;
    }
    if (!line.best.empty())
      ++answered.claimed[line.best];
    else
      ++answered.open;
  }
  return answered;
}

Document architectures(const Dataset& data, const Analysis& analysis) {
  return {"architecture-performance-comparison",
          "Architectures across hardware",
          fmt::format("Times are geometric means of medians over the cells that all targets of an architecture have; "
                      "speed is given against the baseline. {}",
                      how_many_words(
                          answered_by(analysis.architectures),
                          cases_words(analysis, analysis.architectures, &CategoryLine::architecture, "architectures"))),
          {{"Architectures",
            {},
            {},
            {groups_table(analysis.architectures, analysis)},
            {"architecture_performance_matrix", "architecture_comparison"}},
           {"Categories", {}, {}, {groups_table(analysis.categories, analysis)}, {"category_comparison"}},
           failure_section(analysis),
           sure_section(data)}};
}

Document optimal_hardware(const Dataset& data, const Analysis& analysis) {
  Answered answered;
  Section choices{"Per architecture", {}, {}, {choices_table(analysis)}, {"architecture_performance_matrix"}};
  for (const Choice& choice : analysis.choices) {
    choices.points.push_back(choice.words + (choice.how_sure.empty() ? "" : " (" + choice.how_sure + ")"));
    if (choice.best.empty())
      ++answered.none;
    else if (choice.runner_up.empty())
      ++answered.alone;
    else if (choice.ahead.baseline_ahead())
      ++answered.claimed[choice.best];
    else
      ++answered.open;
  }
  Section left_out{"Left out", {}, {}, {}, {}};
  for (const Choice& choice : analysis.choices)
    if (!choice.left_out.empty())
      left_out.points.push_back(fmt::format("{}: {}", choice.architecture, join(choice.left_out, "; ")));
  if (left_out.points.empty()) left_out.paragraphs.emplace_back("No target was left out.");
  std::vector<Section> sections{std::move(choices), std::move(left_out)};
  sections.push_back({"Per model, by latency", {}, {}, {models_table(analysis)}, {"hardware_comparison"}});
  if (analysis.goal == Goal::kEfficiency) sections.push_back(efficiency_section(analysis));
  sections.push_back(sure_section(data));
  return {"optimal-hardware", fmt::format("Optimal hardware for {}", to_string(analysis.goal)),
          how_many_words(answered, cases_words(analysis, analysis.choices, &Choice::architecture, "architectures")),
          std::move(sections)};
}

Document optimization(const Dataset& data, const Analysis& analysis) {
  const auto shown = static_cast<std::size_t>(
      std::ranges::count_if(analysis.opportunities, [](const Opportunity& each) { return each.claimed; }));
  const std::string answer = analysis.opportunities.empty()
                                 ? analysis.no_opportunity
                                 : fmt::format("{} shown by paired rounds, {} that were not compared. The largest: {}.",
                                               counted(shown, "gain is", "gains are"),
                                               counted(analysis.opportunities.size() - shown, "more possible gain"),
                                               analysis.opportunities.front().words);
  return {"optimization",
          "Optimization opportunities",
          answer,
          {opportunities_section(analysis), efficiency_section(analysis), sure_section(data)}};
}

Document comparative(const Dataset& data, const Analysis& analysis) {
  return {"comparative",
          "Comparison of hardware",
          overview_answer(analysis),
          {{"Categories",
            {"Geometric means over the cells that all compared targets of a category have."},
            {},
            {groups_table(analysis.categories, analysis)},
            {"category_comparison"}},
           {"Models", {}, {}, {models_table(analysis)}, {"hardware_comparison", "relative_speedup"}},
           {"Memory", {}, {}, {}, {"memory_usage"}},
           efficiency_section(analysis),
           failure_section(analysis),
           sure_section(data)}};
}

Document coverage(const Dataset& data, const Analysis& analysis) {
  std::set<std::string> all, verified;
  for (const Record& row : data.cells) {
    const std::string& name = row.architecture.empty() ? row.model : row.architecture;
    all.insert(name);
    if (row.status == CellStatus::kCompleted && row.verification == Verification::kVerified) verified.insert(name);
  }
  return {"coverage",
          "Coverage",
          fmt::format("{} of {} have at least one verified cell. Cells: {}.", verified.size(),
                      counted(all.size(), "architecture"), state_words(analysis.states)),
          {{"Architectures", {}, {}, {coverage_table(data, analysis)}, {"verification"}}, failure_section(analysis)}};
}

Document changes(const Dataset& data, const Analysis& analysis) {
  Document document{"changes", "Changes", changes_answer(data, analysis),
                    joined({is_first_run(data, analysis) ? std::vector<Section>() : change_sections(data, analysis),
                            {{"History", {}, {}, {}, {"history"}}, sure_section(data)}})};
  document.for_files = change_table(analysis);
  document.data["changes"] = rows_json(document.for_files);
  return document;
}

struct Maker {
  ReportName name;
  Document (*make)(const Dataset&, const Analysis&);
};
constexpr std::array kMakers{
    Maker{{"overview", "what to use for each model, what is broken, what changed"}, overview},
    Maker{{"comprehensive-benchmarks", "every cell, with summaries by model and category"}, comprehensive},
    Maker{{"architecture-performance-comparison", "how fast each architecture is on each hardware"}, architectures},
    Maker{{"optimal-hardware", "the best hardware for each architecture under --goal"}, optimal_hardware},
    Maker{{"optimization", "what would help most, with numbers"}, optimization},
    Maker{{"comparative", "how hardware compares over categories and models"}, comparative},
    Maker{{"coverage", "which architectures work on which hardware"}, coverage},
    Maker{{"changes", "what changed since the last run, a week, a month"}, changes},
};
constexpr auto kNames = [] {
  std::array<ReportName, kMakers.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kMakers[i].name;
  return names;
}();

}  // namespace

std::vector<std::string> failure_points(const std::vector<Failure>& failures) {
  std::vector<std::string> points;
  for (const Failure& failure : failures) {
    std::string text = std::string(to_string(failure.status));
    if (failure.reason_code) text += fmt::format(" ({})", to_string(failure.reason_code));
    if (!failure.cause.empty()) text += ": " + failure.cause;
    text += ". " + counted(failure.cells.size(), "cell") + ": " + join(failure.where, "; ");
    if (!failure.hint.empty()) text += ". To do: " + failure.hint;
    points.push_back(std::move(text));
  }
  return points;
}

std::string overview_answer(const Analysis& analysis) {
  Answered answered;
  for (const ModelLine& line : analysis.models) {
    if (!line.latency)
      ++answered.none;
    else if (line.latency->runner_up == nullptr)
      ++answered.alone;
    else if (line.latency->ahead.difference == stats::Difference::kSlower)
      ++answered.claimed[target_key(*line.latency->row)];
    else
      ++answered.open;
  }
  std::string words =
      how_many_words(answered, cases_words(analysis, analysis.models, &ModelLine::model, "models") + " (latency)");
  if (const std::string states = state_words(analysis.states); !states.empty()) words += " Cells: " + states + ".";
  return words;
}

std::span<const ReportName> report_names() { return kNames; }

Result<Document> make_report(std::string_view name, const Dataset& data, const Analysis& analysis) {
  const auto maker = std::ranges::find(kMakers, name, [](const Maker& each) { return each.name.name; });
  if (maker == kMakers.end()) {
    std::vector<std::string> valid;
    valid.reserve(kNames.size());
    for (const ReportName& each : kNames) valid.emplace_back(each.name);
    return unknown_word("there is no report", name, valid);
  }
  Document document = maker->make(data, analysis);
  document.data["source"] = data.source;
  document.data["made_at"] = data.made_at;
  document.data["cells"] = data.cells.size();
  document.data["left_out"] = data.left_out;
  document.data["goal"] = std::string(to_string(analysis.goal));
  if (data.left_out > 0)
    document.answer += fmt::format(" Only the newest {} of {} results are in this report: --limit takes more.",
                                   data.cells.size(), data.cells.size() + data.left_out);
  return document;
}

}  // namespace assay
