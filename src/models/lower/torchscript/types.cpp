// SPDX-License-Identifier: Apache-2.0
// Element types: what libtorch computes in, and conversions.
#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace {

using graph::Node;

// libtorch stores these and computes little with them.
bool is_wide_unsigned(DType dtype) {
  return dtype == DType::kUInt16 || dtype == DType::kUInt32 || dtype == DType::kUInt64;
}

// The largest finite number of an 8-bit type; 0 for other types.
double largest_of_8_bits(DType dtype) {
  if (dtype == DType::kFloat8E4M3FN) return 448;
  if (dtype == DType::kFloat8E4M3FNUZ) return 240;
  return dtype == DType::kFloat8E5M2 || dtype == DType::kFloat8E5M2FNUZ ? 57344 : 0;
}

}  // namespace

bool is_computable(DType dtype) { return !is_wide_unsigned(dtype); }

std::string computable(const std::string& expression, DType dtype) {
  return is_wide_unsigned(dtype) ? torch_call("to", expression, *torch_type(DType::kInt64)) : expression;
}

Status out_as(TorchWriter& writer, const Node& node, std::size_t i, const std::string& expression) {
  const DType dtype = writer.out_dtype(node, i);
  writer.out(node, i, is_wide_unsigned(dtype) ? torch_call("to", expression, *torch_type(dtype)) : expression);
  return {};
}

Result<std::string> torch_cast(const Node& node, const std::string& expression, DType to) {
  const auto type = torch_type(to);
  if (!type) return refuse(node, fmt::format("the type {}", to_string(to)));
  return torch_call("to", expression, *type);
}

Result<std::string> torch_cast_saturated(const Node& node, const std::string& expression, DType to, bool saturates) {
  const double largest = largest_of_8_bits(to);
  if (largest == 0) return torch_cast(node, expression, to);
  std::string wide = torch_call("to", expression, *torch_type(DType::kFloat32));
  if (saturates) {
    wide = torch_call("clamp", wide, torch_number(-largest), torch_number(largest));
  } else if (to == DType::kFloat8E4M3FN) {
    // It has no infinity. Numbers up to half a step beyond the largest are rounded to it.
    constexpr double kHalfBeyond = 464;
    wide = torch_call("where", torch_call("gt", torch_call("abs", wide), torch_number(kHalfBeyond)), "nan", wide);
  }
  return torch_cast(node, wide, to);
}

Status lower_cast(TorchWriter& writer, const Node& node) {
  const DType from = writer.dtype(node, 0), to = writer.out_dtype(node);
  for (const DType dtype : {from, to})
    if (!torch_type(dtype) || (dtype == DType::kFloat8E8M0 && dtype == to))
      return refuse(node, fmt::format("the type {}", to_string(dtype)));
  ASSAY_TRY(const std::string made,
            torch_cast_saturated(node, writer.in(node, 0), to, node.integer("saturate", 1) != 0));
  writer.out(node, from == to ? torch_call("clone", made) : made);
  return {};
}

Result<std::optional<std::vector<std::int64_t>>> integers_of(const TorchWriter& writer, const Node& node,
                                                             std::string_view attribute, std::size_t input) {
  using Found = std::optional<std::vector<std::int64_t>>;
  if (const auto given = node.integers(attribute))
    return Found(std::vector<std::int64_t>(given->begin(), given->end()));
  return integers_at(writer, node, input);
}

Result<std::optional<std::vector<std::int64_t>>> integers_at(const TorchWriter& writer, const Node& node,
                                                             std::size_t input) {
  using Found = std::optional<std::vector<std::int64_t>>;
  if (!has_input(node, input)) return Found();
  ASSAY_TRY(std::vector<std::int64_t> all, writer.program().integers(node, node.inputs[input]));
  return Found(std::move(all));
}

}  // namespace assay::lowering
