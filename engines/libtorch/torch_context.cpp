// SPDX-License-Identifier: Apache-2.0
#include "torch_context.hpp"

#include <algorithm>
#include <ranges>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <assay/support/plugin_support.hpp>
#include "torch_values.hpp"

namespace assay::plugin {

TorchContext::TorchContext(std::shared_ptr<const TorchModel> model, std::span<const TensorShape> shapes)
    : RuntimeContext(model->inputs, model->outputs, shapes), model_(std::move(model)) {
  sets_.emplace_back(shapes.size());
  for (const ValueInfo& output : outputs()) declared_.push_back({output.dtype, output.dims});
}

Status TorchContext::do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) {
  const auto type = scalar_type_of(tensor.dtype);
  if (!type)
    return fail(ErrorCode::kUnsupported, fmt::format("input '{}' is {}, which libtorch does not have",
                                                     inputs()[index].name, dtype_name(tensor.dtype)));
  if (set == sets_.size()) sets_.emplace_back(inputs().size());
  const c10::InferenceMode inference;
  sets_[set][index] =
      at::from_blob(tensor.data, at::IntArrayRef(tensor.dims, tensor.rank), at::TensorOptions().dtype(type));
  return {};
}

Status TorchContext::check(const std::vector<at::Tensor>& results) const {
  if (results.size() != outputs().size())
    return fail(ErrorCode::kMismatch,
                fmt::format("the model returns {} tensors, its signature has {}", results.size(), outputs().size()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorShape& declared = declared_[i];
    const assay_dtype dtype = dtype_of(results[i].scalar_type());
    if (dtype != declared.dtype || !fits_bound(results[i].sizes(), declared))
      return fail(
          ErrorCode::kMismatch,
          fmt::format("output '{}' is {} [{}], its signature says {} [{}]", outputs()[i].name, dtype_name(dtype),
                      fmt::join(results[i].sizes(), ", "), dtype_name(declared.dtype), fmt::join(declared.dims, ", ")));
  }
  return {};
}

void TorchContext::copy_views(std::vector<at::Tensor>& results, const std::vector<c10::IValue>& given) {
  std::vector<bool> copied;
  for (std::size_t i = 0; i < results.size(); ++i) {
    at::Tensor& result = results[i];
    const auto is_view_of = [&](std::size_t input) {
      const bool donated = std::ranges::any_of(
          model_->code.donated, [&](const Donation& each) { return each.input == input && each.output == i; });
      return !donated && result.has_storage() && given[input].toTensor().is_alias_of(result);
    };
    copied.push_back(std::ranges::any_of(std::views::iota(std::size_t{0}, given.size()), is_view_of));
    if (copied.back()) result = result.clone(at::MemoryFormat::Contiguous);
  }
  copied_ = std::move(copied);
}

void TorchContext::keep_bound_inputs(std::vector<c10::IValue>& given) const {
  // An earlier output that nothing else refers to: neither the model's constants, nor another input or output.
  const auto is_own = [&](std::size_t input) {
    const at::Tensor& tensor = given[input].toTensor();
    constexpr std::size_t kLatestAndGiven = 2;
    return state_begun() && is_aliased(input) && tensor.use_count() == kLatestAndGiven &&
           tensor.storage().use_count() == 1;
  };
  for (const Donation& each : model_->code.donated)
    if (!is_own(each.input)) given[each.input] = given[each.input].toTensor().clone();
}

Status TorchContext::do_run(std::size_t set, Interval& took) {
  const c10::InferenceMode inference;
  at::init_num_threads();  // of this thread
  std::vector<c10::IValue> given(sets_[set].begin(), sets_[set].end());
  if (state_begun())
    for (const Alias& alias : aliases()) given[alias.input] = latest_[alias.output];
  torch::jit::Stack stack{model_->code.self};
  std::vector<at::Tensor> results;
  results.reserve(outputs().size());
  try {
    took.start_ns = model_->host->now_ns();
    keep_bound_inputs(given);
    stack.insert(stack.end(), given.begin(), given.end());
    stack.insert(stack.end(), model_->code.defaults.begin(), model_->code.defaults.end());
    torch::jit::InterpreterState(model_->code.code).run(stack);
    ASSAY_CHECK_OK(append_tensors(stack.back(), results));
    for (std::size_t i = 0; i < results.size(); ++i)
      results[i] =
          i < copied_.size() && copied_[i] ? results[i].clone(at::MemoryFormat::Contiguous) : results[i].contiguous();
    took.end_ns = model_->host->now_ns();
    ASSAY_CHECK_OK(check(results));
    if (copied_.empty()) copy_views(results, given);
  } catch (const std::exception& thrown) {
    return run_error(thrown);
  }
  for (const Alias& alias : aliases())
    if (!fits_bound(results[alias.output].sizes(), shapes()[alias.input]))
      return fail(ErrorCode::kMismatch,
                  fmt::format("output '{}' is [{}], which does not fit input '{}' of the next run",
                              outputs()[alias.output].name, fmt::join(results[alias.output].sizes(), ", "),
                              inputs()[alias.input].name));
  latest_ = std::move(results);
  return {};
}

tl::unexpected<Error> TorchContext::run_error(const std::exception& thrown) const {
  if (!model_->foreign) return torch_error(thrown, ErrorCode::kInternal, "libtorch cannot run the model");
  auto error = torch_error(thrown, ErrorCode::kInvalidArgument, "the model fails with these inputs");
  const bool of_integers = std::ranges::any_of(inputs(), [](const ValueInfo& input) {
    const auto type = scalar_type_of(input.dtype);
    return type && c10::isIntegralType(*type, false);
  });
  if (of_integers && error.value().hint.empty())
    error.value().hint =
        "give real inputs with --data, or write \"index_limit\" for the input into FILE.pt.json: the number of rows of "
        "its table (docs/lowering.md)";
  return error;
}

Status TorchContext::do_get_output(std::size_t index, assay_tensor& out) {
  const at::Tensor& tensor = latest_[index];
  out.dtype = dtype_of(tensor.scalar_type());
  out.memory_kind = ASSAY_MEMORY_HOST;
  out.dims = tensor.sizes().data();
  out.rank = tensor.sizes().size();
  out.data = tensor.data_ptr();
  out.byte_size = tensor.nbytes();
  return {};
}

}  // namespace assay::plugin
