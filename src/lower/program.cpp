// SPDX-License-Identifier: Apache-2.0
#include "lower/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "lower/operators.hpp"
#include "lower/static_program.hpp"

namespace assay::lowering {
namespace fs = std::filesystem;
namespace {

constexpr int kFormatVersion = 1;

Json to_json(const Value& value) {
  return {{"name", value.name}, {"dtype", assay::to_string(value.dtype)}, {"shape", value.shape}};
}

Json list(const std::vector<Value>& values) {
  Json all = Json::array();
  for (const Value& value : values) all.push_back(to_json(value));
  return all;
}

template <class Table>
std::vector<Operator> rows(const Table& table) {
  std::vector<Operator> all;
  for (const auto& row : table) all.push_back(row.known);
  std::ranges::sort(all, {}, [](const Operator& row) { return std::pair(row.domain, row.name); });
  return all;
}

const Operator* find(const std::vector<Operator>& known, const graph::Node& node) {
  const auto found = std::ranges::find_if(
      known, [&](const Operator& row) { return row.domain == node.domain && row.name == node.op_type; });
  return found == known.end() ? nullptr : &*found;
}

Result<StaticProgram> static_program(const StaticModel& model, const SpecialiseRequest& request, Dialect dialect) {
  const std::vector<Operator> known = operators(dialect);
  return StaticProgram::create(model, request, [&](const graph::Node& node, std::int64_t opset) -> Status {
    const Operator* row = find(known, node);
    if (row != nullptr && opset >= row->first_opset && opset <= row->last_opset) return {};
    return fail(ErrorCode::kUnsupported,
                fmt::format("operator {} (opset {}) of node {} cannot be lowered to {}{}",
                            sanitise(node.operator_name()), opset, shown(node.shown_name()), to_string(dialect),
                            row == nullptr ? ""
                                           : fmt::format(", which implements opsets {} to {}", row->first_opset,
                                                         row->last_opset)));
  });
}

}  // namespace

std::string_view to_string(Dialect dialect) { return dialect == Dialect::kTorchScript ? "torchscript" : "stablehlo"; }

std::optional<Dialect> dialect_from(std::string_view name) {
  for (const Dialect dialect : {Dialect::kTorchScript, Dialect::kStableHlo})
    if (name == to_string(dialect)) return dialect;
  return std::nullopt;
}

std::vector<Operator> operators(Dialect dialect) {
  return dialect == Dialect::kTorchScript ? rows(torch_operators()) : rows(hlo_operators());
}

std::vector<std::string> missing_operators(const graph::Model& model, Dialect dialect) {
  const std::vector<Operator> known = operators(dialect);
  std::set<std::string> missing;
  for (const graph::Node& node : model.graph().nodes)
    if (find(known, node) == nullptr) missing.insert(sanitise(node.operator_name()));
  return {missing.begin(), missing.end()};
}

Result<Program> lower(const StaticModel& model, const SpecialiseRequest& request, Dialect dialect) {
  ASSAY_TRY(const StaticProgram program, static_program(model, request, dialect));
  Program lowered;
  lowered.dialect = dialect;
  lowered.inputs = program.inputs();
  lowered.outputs = program.outputs();
  ASSAY_CHECK_OK(dialect == Dialect::kTorchScript ? lower_to_torch(program, lowered) : lower_to_hlo(program, lowered));
  return lowered;
}

Status check_lowering(const StaticModel& model, const SpecialiseRequest& request, Dialect dialect) {
  ASSAY_TRY([[maybe_unused]] const StaticProgram program, static_program(model, request, dialect));
  return {};
}

Status write_program(const Program& program, const fs::path& file) {
  Json weights = Json::array();
  const fs::path own = file.string() + ".weights";
  std::uint64_t written = 0;
  std::vector<std::string_view> pieces;
  for (const Weight& weight : program.weights) {
    Json one = to_json({weight.name, weight.dtype, weight.shape});
    const bool held = weight.file.empty();
    one["file"] = (held ? own.filename() : weight.file).string();
    one["offset"] = held ? written : weight.offset;
    one["bytes"] = weight.bytes;
    if (!weight.permutation.empty()) one["permutation"] = weight.permutation;
    if (held) {
      pieces.push_back(weight.held);
      written += weight.held.size();
    }
    weights.push_back(std::move(one));
  }
  const Json sidecar = {{"format_version", kFormatVersion},
                        {"inputs", list(program.inputs)},
                        {"outputs", list(program.outputs)},
                        {"weights", std::move(weights)}};
  if (!pieces.empty()) ASSAY_CHECK_OK(write_file_atomically(own, pieces, Persistence::kScratch));
  const std::string described = sidecar.dump(1);
  const std::string_view description[] = {described};
  ASSAY_CHECK_OK(write_file_atomically(file.string() + ".json", description, Persistence::kScratch));
  const std::string_view text[] = {program.text};
  return write_file_atomically(file, text, Persistence::kScratch);
}

}  // namespace assay::lowering
