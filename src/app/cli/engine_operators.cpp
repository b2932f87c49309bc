// SPDX-License-Identifier: Apache-2.0
#include "app/cli/engine_operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/text.hpp"
#include "models/lower/program.hpp"
#include "show/report/terminal.hpp"

namespace assay::cli {
namespace {

std::vector<lowering::Operator> operators_of(const EngineEntry& engine) {
  const auto dialect = lowering::dialect_from(engine.lowered_to);
  return dialect ? lowering::operators(*dialect) : std::vector<lowering::Operator>();
}

std::string name_of(const lowering::Operator& row) {
  return row.domain.empty() ? std::string(row.name) : fmt::format("{}:{}", row.domain, row.name);
}

// "6 to 28, except strings".
std::string versions_of(const lowering::Operator& row) {
  return fmt::format("{} to {}{}{}", row.first_opset, row.last_opset, row.except.empty() ? "" : ", except ",
                     row.except);
}

}  // namespace

Result<std::vector<const EngineEntry*>> engines_with_operators(const EngineRegistry& registry,
                                                               const std::string& name) {
  std::vector<const EngineEntry*> engines;
  std::string others;
  for (const std::string& each : registry.names()) {
    const EngineEntry* entry = registry.entry(each);
    if (entry->lowered_to.empty()) continue;
    if (name.empty() || name == each) engines.push_back(entry);
    others += fmt::format("{}`assay engines {} --ops`", others.empty() ? "" : ", ", each);
  }
  if (name.empty() || !engines.empty()) return engines;
  return fail(
      ErrorCode::kUnsupported,
      registry.entry(name)->reads("onnx")
          ? fmt::format("{} reads ONNX files itself: which operators it supports is known to its runtime alone", name)
          : fmt::format("no ONNX model runs on {}", name),
      "engines whose operators assay knows: " + others);
}

Json operators_json(const std::vector<const EngineEntry*>& engines) {
  Json list = Json::array();
  for (const EngineEntry* engine : engines) {
    Json rows = Json::array();
    for (const lowering::Operator& row : operators_of(*engine))
      rows.push_back({{"domain", row.domain},
                      {"name", row.name},
                      {"first_opset", row.first_opset},
                      {"last_opset", row.last_opset},
                      {"except", row.except.empty() ? Json(nullptr) : Json(row.except)}});
    list.push_back({{"name", engine->name}, {"lowered_to", engine->lowered_to}, {"operators", std::move(rows)}});
  }
  return {{"engines", std::move(list)}};
}

std::string operators_text(const std::vector<const EngineEntry*>& engines) {
  std::string text;
  for (const EngineEntry* engine : engines) {
    const std::vector<lowering::Operator> rows = operators_of(*engine);
    std::size_t width = 0;
    for (const lowering::Operator& row : rows) width = std::max(width, name_of(row).size());
    text += fmt::format("{}{}: {} operators, lowered to {}\n", text.empty() ? "" : "\n", engine->name, rows.size(),
                        engine->lowered_to);
    for (const lowering::Operator& row : rows)
      text += fmt::format("  {}  opsets {}\n", padded(name_of(row), width), versions_of(row));
  }
  return text;
}

std::string operators_markdown(const std::vector<const EngineEntry*>& engines) {
  std::map<std::pair<std::string_view, std::string_view>, std::map<const EngineEntry*, std::string>> table;
  std::string head = "| operator |", line = "| --- |", totals;
  for (const EngineEntry* engine : engines) {
    const std::vector<lowering::Operator> rows = operators_of(*engine);
    for (const lowering::Operator& row : rows) table[{row.domain, row.name}][engine] = versions_of(row);
    head += fmt::format(" {} |", engine->name);
    line += " --- |";
    totals +=
        fmt::format("{}{} for {} ({})", totals.empty() ? "" : ", ", rows.size(), engine->name, engine->lowered_to);
  }
  std::string text = fmt::format(
      "# Operators that are lowered\n\n"
      "The ONNX operators that assay lowers for engines that do not read ONNX (docs/lowering.md), with the versions of "
      "the operator set that are\nimplemented, and after `except` what of the operator is not: {}. assay refuses any "
      "other operator and names it. Nodes\nwhose values follow from the shapes and constants of the model, such as "
      "`Shape`, are computed "
      "before lowering and need no row.\n\n"
      "Written by `assay engines --ops --output-format md`.\n\n{}\n{}\n",
      totals, head, line);
  for (const auto& [key, cells] : table) {
    text += fmt::format("| {}{}{} |", key.first, key.first.empty() ? "" : ":", key.second);
    for (const EngineEntry* engine : engines) {
      const auto cell = cells.find(engine);
      text += cell == cells.end() ? " |" : fmt::format(" {} |", cell->second);
    }
    text += '\n';
  }
  return text;
}

}  // namespace assay::cli
