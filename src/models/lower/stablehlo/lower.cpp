// SPDX-License-Identifier: Apache-2.0
// The whole module.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/base/text.hpp"
#include "models/lower/stablehlo/text.hpp"

namespace assay::lowering {

namespace stablehlo {
namespace {

// A name in MLIR's quotes.
std::string mlir_string(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < 0x20 || byte >= 0x7f)
      text += fmt::format("\\{:02X}", byte);
    else
      text += c;
  }
  return text + "\"";
}

Result<std::string> type_of(const Value& value) {
  if (const auto type = mlir_type(value.dtype, value.shape)) return *type;
  return fail(ErrorCode::kUnsupported, fmt::format("{} has elements of type {}, which cannot be lowered",
                                                   shown(value.name), to_string(value.dtype)));
}

const HloRow* row_of(const graph::Node& node) {
  static const auto rows = [] {
    std::map<std::pair<std::string_view, std::string_view>, const HloRow*> all;
    for (const HloRow& row : hlo_operators()) all.emplace(std::pair(row.known.domain, row.known.name), &row);
    return all;
  }();
  const auto found = rows.find({node.domain, node.op_type});
  return found == rows.end() ? nullptr : found->second;
}

// For each input the output that may be written over it: a cache, which only the node reads that writes into it.
std::map<std::size_t, std::size_t> caches_of(const StaticProgram& program, const HloWriter& writer) {
  std::map<std::string_view, std::size_t> readers;
  for (const graph::Node* node : program.nodes())
    for (const std::string_view name : graph::reads_of(*node)) ++readers[name];
  for (const Value& output : program.outputs()) ++readers[output.name];
  std::map<std::size_t, std::size_t> caches;
  for (std::size_t o = 0; o < program.outputs().size(); ++o) {
    const graph::Node* node = writer.producer(program.outputs()[o].name);
    if (node == nullptr || !node->domain.empty() ||
        (node->op_type != "ScatterElements" && node->op_type != "TensorScatter"))
      continue;
    const auto input = std::ranges::find(program.inputs(), node->inputs[0], &Value::name);
    if (input == program.inputs().end() || readers[node->inputs[0]] != 1) continue;
    caches.emplace(input - program.inputs().begin(), o);
  }
  return caches;
}

}  // namespace
}  // namespace stablehlo

std::span<const LoweredOperator<HloWriter>> hlo_operators() {
  using namespace stablehlo;
  static const std::vector<HloRow> all = [] {
    std::vector<HloRow> rows;
    for (const auto& part :
         {hlo_elementwise(), hlo_activations(), hlo_reductions(), hlo_layout(), hlo_linear(), hlo_convolutions(),
          hlo_pooling(), hlo_normalisations(), hlo_indexing(), hlo_quantisation(), hlo_losses(), hlo_attention(),
          hlo_recurrences(), hlo_resizing(), hlo_sampling(), hlo_signals()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

Status lower_to_hlo(const StaticProgram& program, Program& into) {
  using namespace stablehlo;
  std::vector<std::string> arguments, types, ids;
  HloWriter writer(program, into);
  const std::map<std::size_t, std::size_t> caches = caches_of(program, writer);
  for (std::size_t i = 0; i < program.inputs().size(); ++i) {
    ASSAY_TRY(const std::string type, type_of(program.inputs()[i]));
    const auto cache = caches.find(i);
    const std::string alias =
        cache == caches.end() ? "" : fmt::format(" {{tf.aliasing_output = {} : i32}}", cache->second);
    arguments.push_back(fmt::format("%x{}: {}{} loc({})", i, type, alias, mlir_string(program.inputs()[i].name)));
  }
  for (const graph::Node* node : program.nodes()) {
    const HloRow* row = row_of(*node);
    ASSAY_CHECK(row != nullptr, "operators were checked against the table");
    ASSAY_CHECK_OK(row->lower(writer, *node));
    ASSAY_CHECK_OK(writer.fault(*node));
  }
  for (const Value& output : program.outputs()) {
    ASSAY_TRY(const std::string type, type_of(output));
    ASSAY_TRY(const Hlo value, writer.value(output.name));
    ids.push_back(value.id);
    types.push_back(type);
  }
  for (std::size_t i = 0; i < into.weights.size(); ++i)
    arguments.push_back(
        fmt::format("%w{}: {}", i, type_text(HloWriter::type(into.weights[i].dtype, into.weights[i].shape))));
  into.text = fmt::format("module @assay {{\n  func.func public @main({}) -> ({}) {{\n{}    return {} : {}\n  }}\n}}\n",
                          fmt::join(arguments, ", "), fmt::join(types, ", "), writer.body(), fmt::join(ids, ", "),
                          fmt::join(types, ", "));
  return {};
}

}  // namespace assay::lowering
