// SPDX-License-Identifier: Apache-2.0
#include "models/lower/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "models/graph/static_parts.hpp"
#include "models/lower/operators.hpp"
#include "models/lower/static_program.hpp"

namespace assay::lowering {
namespace fs = std::filesystem;
namespace {

constexpr int kFormatVersion = 1;

Json to_json(const Value& value) {
  Json json = {{"name", value.name}, {"dtype", assay::to_string(value.dtype)}, {"shape", value.shape}};
  if (value.index_limit) json["index_limit"] = *value.index_limit;
  return json;
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

// The files of weights, each mapped once.
class WeightFiles {
 public:
  Result<std::string_view> elements(const Weight& weight) {
    if (weight.file.empty()) return weight.held;
    auto found = maps_.find(weight.file);
    if (found == maps_.end()) {
      ASSAY_TRY(MappedFile map, MappedFile::open(weight.file));
      found = maps_.emplace(weight.file, std::move(map)).first;
    }
    const Bytes whole = found->second.bytes();
    if (weight.offset > whole.size() || weight.bytes > whole.size() - weight.offset)
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} is shorter than its weights", shown_path(weight.file)));
    return std::string_view(reinterpret_cast<const char*>(whole.data()) + weight.offset, weight.bytes);
  }

 private:
  std::map<fs::path, MappedFile> maps_;
};

NodeCheck table_check(Dialect dialect) {
  auto implements = [dialect, known = operators(dialect)](const graph::Node& node, std::int64_t opset) -> Status {
    const Operator* row = find(known, node);
    if (row != nullptr && opset >= row->first_opset && opset <= row->last_opset) return {};
    return fail(ErrorCode::kUnsupported,
                fmt::format("operator {} (opset {}) of node {} cannot be lowered to {}{}",
                            sanitise(node.operator_name()), opset, shown(node.shown_name()), to_string(dialect),
                            row == nullptr ? ""
                                           : fmt::format(", which implements opsets {} to {}", row->first_opset,
                                                         row->last_opset)));
  };
  return {std::move(implements), dialect == Dialect::kTorchScript ? torch_has_type : hlo_has_type};
}

}  // namespace

std::string_view to_string(Dialect dialect) { return dialect == Dialect::kTorchScript ? "torchscript" : "stablehlo"; }

std::optional<Dialect> dialect_from(std::string_view name) {
  for (const Dialect dialect : {Dialect::kTorchScript, Dialect::kStableHlo})
    if (name == to_string(dialect)) return dialect;
  return std::nullopt;
}

std::optional<Dialect> dialect_from_extension(std::string_view extension) {
  return extension == "mlir" ? Dialect::kStableHlo : dialect_from(extension);
}

std::vector<Operator> operators(Dialect dialect) {
  return dialect == Dialect::kTorchScript ? rows(torch_operators()) : rows(hlo_operators());
}

Weight held_weight(std::string name, DType dtype, Shape shape, Bytes elements) {
  return {.name = std::move(name),
          .dtype = dtype,
          .shape = std::move(shape),
          .bytes = elements.size(),
          .held = {reinterpret_cast<const char*>(elements.data()), elements.size()}};
}

Result<Program> lower(const StaticModel& model, const SpecialiseRequest& request, Dialect dialect) {
  ASSAY_TRY(const StaticProgram program, StaticProgram::create(model, request, table_check(dialect)));
  Program lowered;
  lowered.dialect = dialect;
  lowered.inputs = program.inputs();
  lowered.outputs = program.outputs();
  ASSAY_CHECK_OK(dialect == Dialect::kTorchScript ? lower_to_torch(program, lowered) : lower_to_hlo(program, lowered));
  return lowered;
}

Status check_lowering(const StaticModel& model, const StaticGraph& graph, Dialect dialect) {
  return check_parts(model, graph, static_parts(model.state(), graph), table_check(dialect));
}

Status write_program(const Program& program, const fs::path& file, WeightPlace place) {
  Json weights = Json::array();
  const fs::path own = file.string() + ".weights";
  std::uint64_t written = 0;
  std::vector<std::string_view> pieces;
  WeightFiles files;
  for (const Weight& weight : program.weights) {
    Json one = to_json({weight.name, weight.dtype, weight.shape});
    const bool here = weight.file.empty() || place == WeightPlace::kCopied;
    // Relative paths are relative to the folder of `file`, and the model's are to the working folder.
    one["file"] = here ? own.filename().string() : fs::absolute(weight.file).lexically_normal().string();
    one["offset"] = here ? written : weight.offset;
    one["bytes"] = weight.bytes;
    if (!weight.permutation.empty()) one["permutation"] = weight.permutation;
    if (here) {
      ASSAY_TRY(const std::string_view elements, files.elements(weight));
      pieces.push_back(elements);
      written += elements.size();
    }
    weights.push_back(std::move(one));
  }
  const Json sidecar = {{"format_version", kFormatVersion},
                        {"inputs", list(program.inputs)},
                        {"outputs", list(program.outputs)},
                        {"weights", std::move(weights)}};
  if (!pieces.empty()) ASSAY_CHECK_OK(write_file_atomically(own, pieces, Persistence::kScratch));
  const std::string described = json_text(sidecar, 1);
  const std::string_view description[] = {described};
  ASSAY_CHECK_OK(write_file_atomically(file.string() + ".json", description, Persistence::kScratch));
  const std::string_view text[] = {program.text};
  return write_file_atomically(file, text, Persistence::kScratch);
}

Status lower_to_file(const StaticModel& model, const SpecialiseRequest& request, Dialect dialect, const fs::path& file,
                     WeightPlace weights) {
  ASSAY_TRY(const Program program, lower(model, request, dialect));
  return write_program(program, file, weights);
}

}  // namespace assay::lowering
