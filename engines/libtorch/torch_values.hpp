// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <assay/engine_plugin.hpp>

namespace assay::plugin {

/// The element type of an ONNX number; nullopt: libtorch has none (string, int4, …). And back; 0: ONNX has none.
[[nodiscard]] std::optional<c10::ScalarType> scalar_type_of(assay_dtype dtype);
[[nodiscard]] assay_dtype dtype_of(c10::ScalarType type);

/// Appends the tensors of a result: of a tensor, of a tuple or list of tensors, of a dictionary in its order, of those
/// in one another. Errors: unsupported, for anything else, and for a tensor that is sparse, or of a type that ONNX
/// lacks.
[[nodiscard]] Status append_tensors(const c10::IValue& value, std::vector<at::Tensor>& to);

/// An Error of what libtorch threw, without its stack of C++ functions. The code is `otherwise` unless the exception
/// says more: out_of_memory, unsupported (an operator or an element type that has no kernel, which the message names).
[[nodiscard]] tl::unexpected<Error> torch_error(const std::exception& thrown, ErrorCode otherwise,
                                                const std::string& what);

}  // namespace assay::plugin
