// SPDX-License-Identifier: Apache-2.0
// Reductions, running sums, places of the largest elements.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::reductions {
namespace {

using graph::Node;

struct Reduction {
  std::string x;                   ///< computable, without the type conversion of bool
  std::vector<std::int64_t> axes;  ///< counted from 0, ascending
  bool keep = true;
  bool none = false;  ///< nothing is reduced: the result is the element-wise part
};

Result<Reduction> reduction_of(TorchWriter& writer, const Node& node) {
  Reduction reduction;
  const DType dtype = writer.dtype(node, 0);
  if (dtype == DType::kUInt64) return refuse(node, "the type uint64");
  reduction.x = computable(writer.in(node, 0), dtype);
  reduction.keep = node.integer("keepdims", 1) != 0;
  ASSAY_TRY(auto axes, integers_of(writer, node, "axes", 1));
  const std::int64_t rank = writer.rank(node, 0);
  if (axes && !axes->empty()) {
    for (std::int64_t& axis : *axes) {
      ASSAY_TRY(axis, axis_of(node, axis, rank));
    }
    reduction.axes = *axes;
    std::ranges::sort(reduction.axes);
  } else if (node.integer("noop_with_empty_axes", 0) != 0) {
    reduction.none = true;
  } else {
    reduction.axes.resize(static_cast<std::size_t>(rank));
    std::iota(reduction.axes.begin(), reduction.axes.end(), 0);
  }
  return reduction;
}

// torch.NAME(x, axes, keep)
std::string over(const Reduction& reduction, std::string_view name, const std::string& x) {
  return torch_call(name, x, torch_list(reduction.axes), torch_bool(reduction.keep));
}

// Integers would become int64.
std::string sum_of(const TorchWriter& writer, const Node& node, const Reduction& reduction, const std::string& x) {
  if (reduction.none) return x;
  const DType dtype = writer.dtype(node, 0);
  const DType result = is_computable(dtype) ? dtype : DType::kInt64;
  return torch_call("sum", x, torch_list(reduction.axes), torch_bool(reduction.keep),
                    fmt::format("dtype={}", *torch_type(result)));
}

Status sum(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  return out_as(writer, node, 0, r.none ? torch_call("clone", r.x) : sum_of(writer, node, r, r.x));
}

Status sum_of_absolutes(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  return out_as(writer, node, 0, sum_of(writer, node, r, torch_call("abs", r.x)));
}

Status sum_of_squares(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  return out_as(writer, node, 0, sum_of(writer, node, r, torch_call("mul", r.x, r.x)));
}

Status length(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  const DType dtype = writer.dtype(node, 0);
  if (r.none) return out_as(writer, node, 0, torch_call("abs", r.x));
  if (is_floating(dtype)) {
    writer.out(node, torch_call("linalg_vector_norm", r.x, 2, torch_list(r.axes), torch_bool(r.keep)));
    return {};
  }
  const std::string wide = torch_call("to", r.x, *torch_type(DType::kFloat64));
  ASSAY_TRY(const std::string made,
            torch_cast(node, torch_call("linalg_vector_norm", wide, 2, torch_list(r.axes), torch_bool(r.keep)), dtype));
  writer.out(node, made);
  return {};
}

Status log_of_sum(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  if (!is_floating(writer.dtype(node, 0))) return refuse(node, "the logarithm of integers");
  writer.out(node, torch_call("log", sum_of(writer, node, r, r.x)));
  return {};
}

Status log_of_sum_of_exponentials(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  if (!is_floating(writer.dtype(node, 0))) return refuse(node, "the logarithm of integers");
  writer.out(node, r.none ? torch_call("clone", r.x) : over(r, "logsumexp", r.x));
  return {};
}

Status mean(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  const DType dtype = writer.dtype(node, 0);
  if (r.none) return out_as(writer, node, 0, torch_call("clone", r.x));
  if (is_floating(dtype)) {
    writer.out(node, over(r, "mean", r.x));
    return {};
  }
  ASSAY_TRY(const std::string made,
            torch_cast(node, over(r, "mean", torch_call("to", r.x, *torch_type(DType::kFloat64))), dtype));
  writer.out(node, made);
  return {};
}

// Without elements: the smallest or the largest number.
Status extreme(TorchWriter& writer, const Node& node, bool largest) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  const DType dtype = writer.dtype(node, 0);
  if (r.none) return out_as(writer, node, 0, torch_call("clone", r.x));
  if (std::ranges::count(writer.shape(node, 0), 0) > 0) {
    if (is_integer(dtype)) return refuse(node, "the extreme of no integers");
    const char* const none = dtype == DType::kBool ? torch_bool(!largest) : largest ? "-inf" : "inf";
    writer.out(node, torch_call("full", torch_list(writer.out_shape(node)), none,
                                fmt::format("dtype={}", *torch_type(dtype))));
    return {};
  }
  return out_as(writer, node, 0, over(r, largest ? "amax" : "amin", r.x));
}

Status most(TorchWriter& writer, const Node& node) { return extreme(writer, node, true); }
Status least(TorchWriter& writer, const Node& node) { return extreme(writer, node, false); }

Status product(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Reduction r, reduction_of(writer, node));
  const DType dtype = is_computable(writer.dtype(node, 0)) ? writer.dtype(node, 0) : DType::kInt64;
  std::string x = r.x;
  for (auto axis = r.axes.rbegin(); axis != r.axes.rend();
       ++axis)  // from the last, so that the others keep their places
    x = torch_call("prod", x, *axis, torch_bool(r.keep), fmt::format("dtype={}", *torch_type(dtype)));
  return out_as(writer, node, 0, r.axes.empty() ? torch_call("clone", x) : x);
}

Status place_of(TorchWriter& writer, const Node& node, const char* name) {
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), writer.rank(node, 0)));
  if (writer.dtype(node, 0) == DType::kUInt64) return refuse(node, "the type uint64");
  const std::string x = computable(writer.in(node, 0), writer.dtype(node, 0));
  const std::string keep = torch_bool(node.integer("keepdims", 1) != 0);
  if (node.integer("select_last_index", 0) == 0) {
    writer.out(node, torch_call(name, x, axis, keep));
    return {};
  }
  const std::string from_behind = torch_call(name, torch_call("flip", x, fmt::format("[{}]", axis)), axis, keep);
  writer.out(node, torch_call("rsub", from_behind, writer.shape(node, 0)[static_cast<std::size_t>(axis)] - 1));
  return {};
}

Status argmax(TorchWriter& writer, const Node& node) { return place_of(writer, node, "argmax"); }
Status argmin(TorchWriter& writer, const Node& node) { return place_of(writer, node, "argmin"); }

// An exclusive result begins with `first` and does not have the last.
Status running(TorchWriter& writer, const Node& node, const char* name, const char* first) {
  ASSAY_TRY(const std::vector<std::int64_t> axes, writer.program().integers(node, node.inputs[1]));
  if (axes.size() != 1) return refuse(node, "an axis that is not one number");
  ASSAY_TRY(const std::int64_t axis, axis_of(node, axes.front(), writer.rank(node, 0)));
  const std::int64_t extent = writer.shape(node, 0)[static_cast<std::size_t>(axis)];
  const DType dtype = is_computable(writer.dtype(node, 0)) ? writer.dtype(node, 0) : DType::kInt64;
  const std::string type = fmt::format("dtype={}", *torch_type(dtype)), along = fmt::format("[{}]", axis);
  const bool reverse = node.integer("reverse", 0) != 0;
  std::string x = computable(writer.in(node, 0), writer.dtype(node, 0));
  if (reverse) x = torch_call("flip", x, along);
  x = torch_call(name, x, axis, type);
  if (node.integer("exclusive", 0) != 0 && extent > 0) {
    std::vector<std::int64_t> pads(2 * static_cast<std::size_t>(writer.rank(node, 0) - axis), 0);
    pads[pads.size() - 2] = 1;
    x = torch_call("constant_pad_nd", torch_call("narrow", x, axis, 0, extent - 1), torch_list(pads), first);
  }
  return out_as(writer, node, 0, reverse ? torch_call("flip", x, along) : x);
}

Status running_sum(TorchWriter& writer, const Node& node) { return running(writer, node, "cumsum", "0"); }
Status running_product(TorchWriter& writer, const Node& node) { return running(writer, node, "cumprod", "1"); }

}  // namespace
}  // namespace torchscript::reductions

TorchOperators torch_reductions() {
  using namespace torchscript::reductions;
  return {since(1, "ArgMax", argmax, "uint64"),
          since(1, "ArgMin", argmin, "uint64"),
          since(26, "CumProd", running_product, "an axis that is not a constant"),
          since(11, "CumSum", running_sum, "an axis that is not a constant"),
          since(1, "ReduceL1", sum_of_absolutes, "axes that are not constants, uint64"),
          since(1, "ReduceL2", length, "axes that are not constants, uint64"),
          since(1, "ReduceLogSum", log_of_sum, "axes that are not constants, integers"),
          since(1, "ReduceLogSumExp", log_of_sum_of_exponentials, "axes that are not constants, integers"),
          since(1, "ReduceMax", most, "axes that are not constants, uint64"),
          since(1, "ReduceMean", mean, "axes that are not constants, uint64"),
          since(1, "ReduceMin", least, "axes that are not constants, uint64"),
          since(1, "ReduceProd", product, "axes that are not constants, uint64"),
          since(1, "ReduceSum", sum, "axes that are not constants, uint64"),
          since(1, "ReduceSumSquare", sum_of_squares, "axes that are not constants, uint64")};
}

}  // namespace assay::lowering
