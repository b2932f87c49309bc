// SPDX-License-Identifier: Apache-2.0
#include "torch_values.hpp"

#include <array>
#include <utility>

#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {
namespace {

using Type = c10::ScalarType;
constexpr std::pair<assay_dtype, Type> kTypes[] = {{1, Type::Float},
                                                   {2, Type::Byte},
                                                   {3, Type::Char},
                                                   {4, Type::UInt16},
                                                   {5, Type::Short},
                                                   {6, Type::Int},
                                                   {7, Type::Long},
                                                   {9, Type::Bool},
                                                   {10, Type::Half},
                                                   {11, Type::Double},
                                                   {12, Type::UInt32},
                                                   {13, Type::UInt64},
                                                   {14, Type::ComplexFloat},
                                                   {15, Type::ComplexDouble},
                                                   {16, Type::BFloat16},
                                                   {17, Type::Float8_e4m3fn},
                                                   {18, Type::Float8_e4m3fnuz},
                                                   {19, Type::Float8_e5m2},
                                                   {20, Type::Float8_e5m2fnuz},
                                                   {24, Type::Float8_e8m0fnu}};

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (text.find(part) != text.npos) return true;
  return false;
}

}  // namespace

std::optional<Type> scalar_type_of(assay_dtype dtype) {
  for (const auto& [number, type] : kTypes)
    if (number == dtype) return type;
  return std::nullopt;
}

assay_dtype dtype_of(Type type) {
  for (const auto& [number, known] : kTypes)
    if (known == type) return number;
  return 0;
}

namespace {

Status append_tensor(const at::Tensor& tensor, std::vector<at::Tensor>& to) {
  if (!tensor.defined()) return fail(ErrorCode::kUnsupported, "the model returns a tensor without elements or a type");
  if (tensor.layout() != at::kStrided || dtype_of(tensor.scalar_type()) == 0)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the model returns a tensor of {} in the layout {}, which assay cannot read",
                            c10::toString(tensor.scalar_type()), c10::str(tensor.layout())));
  // Its memory may have the numbers before a conjugation or a change of sign.
  to.push_back(tensor.is_conj() || tensor.is_neg() ? tensor.resolve_conj().resolve_neg() : tensor);
  return {};
}

}  // namespace

Status append_tensors(const c10::IValue& value, std::vector<at::Tensor>& to) {
  if (value.isTensor()) {
    return append_tensor(value.toTensor(), to);
  } else if (value.isTuple()) {
    for (const c10::IValue& each : value.toTupleRef().elements()) ASSAY_CHECK_OK(append_tensors(each, to));
  } else if (value.isTensorList()) {
    for (const at::Tensor& each : value.toTensorVector()) ASSAY_CHECK_OK(append_tensor(each, to));
  } else if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) ASSAY_CHECK_OK(append_tensors(each, to));
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) ASSAY_CHECK_OK(append_tensors(entry.value(), to));
  } else if (!value.isNone()) {
    return fail(ErrorCode::kUnsupported, fmt::format("the model returns a {}, not tensors", value.tagKind()));
  }
  return {};
}

tl::unexpected<Error> torch_error(const std::exception& thrown, ErrorCode otherwise, const std::string& what) {
  const auto* own = dynamic_cast<const c10::Error*>(&thrown);
  const std::string text = own != nullptr ? own->what_without_backtrace() : thrown.what();
  ErrorCode code = otherwise;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&thrown) != nullptr || dynamic_cast<const std::bad_alloc*>(&thrown) ||
      contains_any(text, {"can't allocate memory", "not enough memory"}))
    code = ErrorCode::kOutOfMemory;
  else if (dynamic_cast<const c10::NotImplementedError*>(&thrown) != nullptr ||
           contains_any(text, {"not implemented for", "Unknown builtin op", "Unknown operator", "Unknown type name",
                               "maximum supported version", "not supported"}))
    code = ErrorCode::kUnsupported;
  std::string message = first_line(text);
  // TorchScript's errors begin with an empty line or with this one.
  for (std::size_t at = 0;
       at != text.npos && (message.empty() || message.starts_with("The following operation failed"));) {
    at = text.find('\n', at);
    if (at != text.npos) message = first_line(std::string_view(text).substr(++at));
  }
  if (const auto runtime = text.rfind("RuntimeError: "); runtime != text.npos)
    message = first_line(std::string_view(text).substr(runtime + 14));
  return fail(code, fmt::format("{}: {}", what, message));
}

}  // namespace assay::plugin
