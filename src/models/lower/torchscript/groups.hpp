// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "models/lower/torchscript/writer.hpp"

/// The rows of the table of operators, by subject, and what their functions share.
namespace assay::lowering {

using TorchOperator = LoweredOperator<TorchWriter>;
using TorchOperators = std::vector<TorchOperator>;

[[nodiscard]] TorchOperators torch_activations();
[[nodiscard]] TorchOperators torch_attention();
[[nodiscard]] TorchOperators torch_elementwise();
[[nodiscard]] TorchOperators torch_layout();
[[nodiscard]] TorchOperators torch_linear();
[[nodiscard]] TorchOperators torch_convolutions();
[[nodiscard]] TorchOperators torch_normalisations();
[[nodiscard]] TorchOperators torch_reductions();
[[nodiscard]] TorchOperators torch_indexing();
[[nodiscard]] TorchOperators torch_making();
[[nodiscard]] TorchOperators torch_resizing();
[[nodiscard]] TorchOperators torch_images();
[[nodiscard]] TorchOperators torch_quantised();
[[nodiscard]] TorchOperators torch_losses();
[[nodiscard]] TorchOperators torch_recurrent();
[[nodiscard]] TorchOperators torch_signals();

/// An operator of ONNX's own domain, from a version on.
[[nodiscard]] inline TorchOperator since(int first, std::string_view name,
                                         Status (*lower)(TorchWriter&, const graph::Node&),
                                         std::string_view except = {}) {
  return {{"", name, first, kNewestOpset, except}, lower};
}

/// A name as a template argument.
template <std::size_t N>
struct TorchName {
  char text[N];
  // NOLINTNEXTLINE(google-explicit-constructor): written as a string
  constexpr TorchName(const char (&given)[N]) { std::copy_n(given, N, text); }
};

/// torch.NAME(x), of the same type and shape.
template <TorchName Name>
[[nodiscard]] Status torch_unary(TorchWriter& writer, const graph::Node& node) {
  writer.out(node, torch_call(Name.text, writer.in(node, 0)));
  return {};
}

/// Cast and CastLike.
[[nodiscard]] Status lower_cast(TorchWriter& writer, const graph::Node& node);
/// `expression` converted to an element type. Errors: unsupported, if libtorch has no such type.
[[nodiscard]] Result<std::string> torch_cast(const graph::Node& node, const std::string& expression, DType to);
/// The same; a number beyond the range of an 8-bit type becomes its largest if `saturates`.
[[nodiscard]] Result<std::string> torch_cast_saturated(const graph::Node& node, const std::string& expression, DType to,
                                                       bool saturates);
/// A tensor in a type that libtorch computes in: 16-, 32- and 64-bit unsigned integers as int64.
[[nodiscard]] std::string computable(const std::string& expression, DType dtype);
[[nodiscard]] bool is_computable(DType dtype);
/// Gives output i `expression`, which was computed from computable() inputs.
[[nodiscard]] Status out_as(TorchWriter& writer, const graph::Node& node, std::size_t i, const std::string& expression);

/// `x` convolved with `kernel`, as the attributes of the node say; `weights`: the input that has the kernel's shape.
/// `bias` may be "None". Errors: unsupported: more than three axes.
[[nodiscard]] Result<std::string> torch_convolution(const TorchWriter& writer, const graph::Node& node,
                                                    const std::string& x, std::size_t weights,
                                                    const std::string& kernel, const std::string& bias);

/// Integers that older opsets have as an attribute and newer ones as a constant input; nullopt: the node has neither.
[[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> integers_of(const TorchWriter& writer,
                                                                           const graph::Node& node,
                                                                           std::string_view attribute,
                                                                           std::size_t input);
/// The same for integers that are only ever an input.
[[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> integers_at(const TorchWriter& writer,
                                                                           const graph::Node& node, std::size_t input);

}  // namespace assay::lowering
