// SPDX-License-Identifier: Apache-2.0
#include "models/lower/torchscript/writer.hpp"

#include <cmath>
#include <utility>

#include "core/base/text.hpp"

namespace assay::lowering {

TorchWriter::TorchWriter(const StaticProgram& program, Program& into) : program_(program), into_(into) {
  into_.text = "def forward(self";
  for (std::size_t i = 0; i < program.inputs().size(); ++i) {
    std::string variable = fmt::format("x{}", i);
    into_.text += fmt::format(", {}: Tensor", variable);
    names_.emplace(program.inputs()[i].name, std::move(variable));
  }
  into_.text += "):\n";
}

std::string TorchWriter::value(std::string_view name) {
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  const Weight* constant = program_.constant(name);
  if (constant == nullptr) {
    if (!missing_) missing_ = name;
    return "None";
  }
  std::string variable = weight(*constant);
  names_.emplace(name, variable);
  return variable;
}

std::vector<std::string> TorchWriter::ins(const graph::Node& node) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) all.push_back(in(node, i));
  return all;
}

std::string TorchWriter::weight(Weight weight) {
  into_.weights.push_back(std::move(weight));
  return fmt::format("self.w{}", into_.weights.size() - 1);
}

std::string TorchWriter::held(DType dtype, Shape shape, std::span<const std::byte> elements) {
  return weight(held_weight(fmt::format("assay.constant.{}", into_.weights.size()), dtype, std::move(shape), elements));
}

std::string TorchWriter::integers(std::span<const std::int64_t> values) {
  return held(DType::kInt64, {static_cast<std::int64_t>(values.size())}, std::as_bytes(values));
}

std::string TorchWriter::floats(std::span<const float> values, Shape shape) {
  return held(DType::kFloat32, std::move(shape), std::as_bytes(values));
}

std::string TorchWriter::scalar(const graph::Node& node, std::size_t i) {
  if (const auto known = program_.number(node.inputs[i]))
    return is_integer(dtype(node, i)) ? fmt::format("{}", static_cast<std::int64_t>(*known)) : torch_number(*known);
  return torch_call("item", in(node, i));
}

Status TorchWriter::fault() const {
  if (!missing_) return {};
  return fail(ErrorCode::kInternal, fmt::format("nothing was lowered for the value {}", shown(*missing_)));
}

void TorchWriter::line(const std::string& statement) { into_.text += "    " + statement + "\n"; }

std::string TorchWriter::let(const std::string& expression, std::size_t depth) {
  std::string variable = fmt::format("v{}", variables_++);
  line(fmt::format("{}{} = {}", std::string(4 * depth, ' '), variable, expression));
  return variable;
}

void TorchWriter::define(std::string_view name, const std::string& expression) {
  std::string variable = let(expression);
  if (!name.empty()) is(name, std::move(variable));
}

void TorchWriter::is(std::string_view name, std::string variable) {
  names_.insert_or_assign(std::string(name), std::move(variable));
}

void TorchWriter::finish() {
  std::string returned;
  for (const Value& output : program_.outputs()) returned += value(output.name) + ", ";
  line(fmt::format("return ({})", returned));
}

std::optional<int> torch_type(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return 0;
    case DType::kInt8:
      return 1;
    case DType::kInt16:
      return 2;
    case DType::kInt32:
      return 3;
    case DType::kInt64:
      return 4;
    case DType::kFloat16:
      return 5;
    case DType::kFloat32:
      return 6;
    case DType::kFloat64:
      return 7;
    case DType::kComplex64:
      return 9;
    case DType::kComplex128:
      return 10;
    case DType::kBool:
      return 11;
    case DType::kBFloat16:
      return 15;
    case DType::kFloat8E5M2:
      return 23;
    case DType::kFloat8E4M3FN:
      return 24;
    case DType::kFloat8E5M2FNUZ:
      return 25;
    case DType::kFloat8E4M3FNUZ:
      return 26;
    case DType::kUInt16:
      return 27;
    case DType::kUInt32:
      return 28;
    case DType::kUInt64:
      return 29;
    case DType::kFloat8E8M0:
      return 44;
    default:
      return std::nullopt;
  }
}

bool torch_has_type(DType dtype) { return torch_type(dtype).has_value(); }

std::string torch_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string torch_list(std::span<const std::int64_t> values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string torch_list(std::span<const std::string> expressions) {
  return fmt::format("[{}]", fmt::join(expressions, ", "));
}

}  // namespace assay::lowering
