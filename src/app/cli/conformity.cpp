// SPDX-License-Identifier: Apache-2.0
#include "app/cli/conformity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "core/base/text.hpp"

namespace assay {
namespace {

using Counts = std::array<std::size_t, std::size(kConformities)>;
std::size_t& at(Counts& counts, Conformity status) { return counts[static_cast<std::size_t>(status)]; }

template <class StatusOf>
Counts count(const ConformityReport& report, const NodeTestClass* kind, StatusOf&& status_of) {
  Counts counts{};
  for (std::size_t i = 0; i < report.tests.size(); ++i)
    if (kind == nullptr || report.tests[i].kind == *kind) ++at(counts, status_of(i));
  return counts;
}

template <class StatusOf>
Json with_counts(const ConformityReport& report, StatusOf&& status_of) {
  const auto to_json = [](Counts counts) {
    Json json = Json::object();
    for (const Conformity status : kConformities) json[std::string(to_string(status))] = at(counts, status);
    return json;
  };
  Json json = to_json(count(report, nullptr, status_of));
  json["by_class"] = Json::object();
  for (const NodeTestClass kind : kNodeTestClasses)
    json["by_class"][std::string(to_string(kind))] = to_json(count(report, &kind, status_of));
  return json;
}

std::string message_of(const ConformityReport& report, std::size_t test) {
  std::vector<std::string> parts;
  for (const ConformityReport::Engine& engine : report.engines) {
    const std::string& message = engine.results[test].message;
    if (message.empty()) continue;
    parts.push_back(report.engines.size() > 1 ? fmt::format("{}: {}", engine.name, message) : message);
  }
  return join(parts, "; ");
}

std::string joined(const ConformityReport& report, std::string ConformityReport::Engine::*field) {
  std::vector<std::string> parts;
  for (const ConformityReport::Engine& engine : report.engines) parts.push_back(engine.*field);
  return join(parts, ",");
}

// Operators of which an engine passes no test, although a test exists.
std::vector<std::string> never_passed(const ConformityReport& report, const ConformityReport::Engine& engine) {
  std::map<std::string, bool> passed;
  for (std::size_t i = 0; i < report.tests.size(); ++i)
    for (const std::string& name : report.tests[i].operators)
      passed[sanitise(name)] |= engine.results[i].status == Conformity::kPassed;
  std::vector<std::string> names;
  for (const auto& [name, any] : passed)
    if (!any) names.push_back(name);
  return names;
}

std::string table_cell(std::string text) {
  text = one_line(text);
  for (std::size_t i = 0; (i = text.find('|', i)) != text.npos; i += 2) text.insert(i, 1, '\\');
  return text;
}

std::string counts_row(const std::string& head, Counts counts) {
  std::string row = "| " + head;
  for (const Conformity status : kConformities) row += fmt::format(" | {}", at(counts, status));
  return row + " |\n";
}

}  // namespace

Conformity ConformityReport::worst(std::size_t test) const {
  Conformity worst = Conformity::kPassed;
  for (const Engine& engine : engines) worst = std::max(worst, engine.results[test].status);
  return worst;
}

Json conformity_json(const ConformityReport& report) {
  Json json = with_counts(report, [&](std::size_t test) { return report.worst(test); });
  json["engine"] = joined(report, &ConformityReport::Engine::name);
  json["version"] = joined(report, &ConformityReport::Engine::version);
  json["engines"] = Json::object();
  for (const ConformityReport::Engine& engine : report.engines) {
    Json& own = json["engines"][engine.name];
    own = with_counts(report, [&](std::size_t test) { return engine.results[test].status; });
    own["version"] = engine.version;
  }
  json["tests"] = Json::array();
  for (std::size_t i = 0; i < report.tests.size(); ++i) {
    Json engines = Json::object();
    for (const ConformityReport::Engine& engine : report.engines)
      engines[engine.name] = to_string(engine.results[i].status);
    const std::string message = message_of(report, i);
    json["tests"].push_back({{"name", report.tests[i].name},
                             {"class", to_string(report.tests[i].kind)},
                             {"status", to_string(report.worst(i))},
                             {"message", message.empty() ? Json(nullptr) : Json(message)},
                             {"engines", std::move(engines)}});
  }
  return json;
}

std::string conformity_text(const ConformityReport& report) {
  std::string text;
  for (const ConformityReport::Engine& engine : report.engines) {
    for (std::size_t i = 0; i < report.tests.size(); ++i) {
      const ConformityResult& result = engine.results[i];
      if (result.status == Conformity::kPassed || result.status == Conformity::kUnsupported) continue;
      text += fmt::format("{} on {}, {}: {}\n", to_string(result.status), engine.name, one_line(report.tests[i].name),
                          one_line(result.message));
    }
  }
  for (const ConformityReport::Engine& engine : report.engines) {
    const auto status_of = [&](std::size_t test) { return engine.results[test].status; };
    Counts all = count(report, nullptr, status_of);
    text += fmt::format("{} {}: {} tests", engine.name, engine.version, report.tests.size());
    for (const Conformity status : kConformities) text += fmt::format(", {} {}", to_string(status), at(all, status));
    text += '\n';
    for (const NodeTestClass kind : kNodeTestClasses) {
      Counts own = count(report, &kind, status_of);
      text += fmt::format("  {:<17}", to_string(kind));
      for (const Conformity status : kConformities)
        text += fmt::format(" {} {:<5}", to_string(status), at(own, status));
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
  }
  return text;
}

std::string conformity_markdown(const ConformityReport& report) {
  std::string text = fmt::format("{} tests.\n\n", report.tests.size());
  const std::string head = " | passed | unsupported | wrong | failed |\n| --- | --- | --- | --- | --- |\n";
  text += "| engine" + head;
  for (const ConformityReport::Engine& engine : report.engines)
    text += counts_row(fmt::format("{} {}", engine.name, table_cell(engine.version)),
                       count(report, nullptr, [&](std::size_t test) { return engine.results[test].status; }));
  for (const ConformityReport::Engine& engine : report.engines) {
    const auto status_of = [&](std::size_t test) { return engine.results[test].status; };
    text += fmt::format("\n### {} {}\n\n| class{}", engine.name, table_cell(engine.version), head);
    for (const NodeTestClass kind : kNodeTestClasses)
      text += counts_row(std::string(to_string(kind)), count(report, &kind, status_of));
    if (const std::vector<std::string> never = never_passed(report, engine); !never.empty())
      text += fmt::format("\nThese operators have no test that passes: {}.\n", join(never, ", "));
    std::string faults;
    for (const Conformity status : {Conformity::kWrong, Conformity::kFailed})
      for (std::size_t i = 0; i < report.tests.size(); ++i)
        if (engine.results[i].status == status)
          faults += fmt::format("| {} | `{}` | {} |\n", to_string(status), table_cell(report.tests[i].name),
                                table_cell(engine.results[i].message));
    if (!faults.empty()) text += "\n| status | test | what differs |\n| --- | --- | --- |\n" + faults;
  }
  return text;
}

}  // namespace assay
