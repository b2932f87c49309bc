// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, windows, mel filters; determinants and the bits of numbers.
#include "models/lower/spectra.hpp"

#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::signals {
namespace {

using graph::Node;

// Numbers have one element on the last axis if they are real, else two.
struct Signal {
  std::string x{};
  bool is_complex = false;
};

Result<Signal> signal_of(TorchWriter& writer, const Node& node) {
  const DType dtype = writer.dtype(node, 0);
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return refuse(node, "a type of 16 bits");
  const std::int64_t parts = writer.shape(node, 0).back();
  if (parts == 1) return Signal{torch_call("select", writer.in(node, 0), -1, 0), false};
  if (parts != 2) return refuse(node, fmt::format("a signal of {} parts", parts));
  return Signal{torch_call("view_as_complex", torch_call("contiguous", writer.in(node, 0))), true};
}

// The transform of `length` elements along an axis, its parts on the last axis.
std::string transformed(const Signal& signal, std::int64_t length, std::int64_t axis, bool one_sided) {
  if (one_sided && !signal.is_complex)
    return torch_call("view_as_real", torch_call("fft_rfft", signal.x, length, axis));
  const std::string whole = torch_call("fft_fft", signal.x, length, axis);
  return torch_call("view_as_real", one_sided ? torch_call("narrow", whole, axis, 0, length / 2 + 1) : whole);
}

Status fourier(TorchWriter& writer, const Node& node) {
  const std::int64_t rank = writer.rank(node, 0);
  std::int64_t axis = writer.opset(node) < 20 ? node.integer("axis", 1) : -2;
  if (has_input(node, 2)) {
    ASSAY_TRY(const auto given, writer.program().integers(node, node.inputs[2]));
    if (given.size() == 1) axis = given.front();
  }
  ASSAY_TRY(axis, axis_of(node, axis, rank));
  const bool inverse = node.integer("inverse", 0) != 0, one_sided = node.integer("onesided", 0) != 0;
  const std::int64_t extent = writer.shape(node, 0)[static_cast<std::size_t>(axis)];
  std::int64_t length = inverse && one_sided ? 2 * (extent - 1) : extent;
  if (has_input(node, 1)) {
    ASSAY_TRY(const auto given, writer.program().integers(node, node.inputs[1]));
    if (given.size() == 1) length = given.front();
  }
  ASSAY_TRY(const Signal signal, signal_of(writer, node));
  if (!inverse)
    writer.out(node, transformed(signal, length, axis, one_sided));
  else if (one_sided)
    writer.out(node, torch_call("unsqueeze", torch_call("fft_irfft", signal.x, length, axis), -1));
  else
    writer.out(node, torch_call("view_as_real", torch_call("fft_ifft", signal.x, length, axis)));
  return {};
}

Status short_fourier(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const auto step, writer.program().integers(node, node.inputs[1]));
  if (step.size() != 1) return refuse(node, "a step that is not one number");
  std::int64_t length = has_input(node, 2) ? writer.shape(node, 2)[0] : writer.shape(node, 0)[1];
  if (has_input(node, 3)) {
    ASSAY_TRY(const auto given, writer.program().integers(node, node.inputs[3]));
    if (given.size() == 1) length = given.front();
  }
  ASSAY_TRY(Signal signal, signal_of(writer, node));
  signal.x = torch_call("unfold", signal.x, 1, length, step.front());
  if (has_input(node, 2)) signal.x = torch_call("mul", signal.x, writer.in(node, 2));
  writer.out(node, transformed(signal, length, 2, node.integer("onesided", 1) != 0));
  return {};
}

// Numbers in float64, as the output's type.
Status table(TorchWriter& writer, const Node& node, std::span<const double> numbers) {
  ASSAY_TRY(const std::string made,
            torch_cast(node, writer.held(DType::kFloat64, writer.out_shape(node), std::as_bytes(numbers)),
                       writer.out_dtype(node)));
  writer.out(node, made);
  return {};
}

template <const CosineWindow& Window>
Status window(TorchWriter& writer, const Node& node) {
  return table(writer, node, cosine_window(writer.program(), node, Window));
}

Status mel_filters(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::vector<double> matrix, mel_weights(writer.program(), node));
  return table(writer, node, matrix);
}

Status bit_cast(TorchWriter& writer, const Node& node) {
  const auto to = torch_type(writer.out_dtype(node));
  if (!to || !torch_type(writer.dtype(node, 0)))
    return refuse(node, fmt::format("the type {}", to_string(to ? writer.dtype(node, 0) : writer.out_dtype(node))));
  writer.out(node, torch_call("view_copy", writer.in(node, 0), fmt::format("dtype={}", *to)));
  return {};
}

}  // namespace
}  // namespace torchscript::signals

TorchOperators torch_signals() {
  using namespace torchscript::signals;
  return {since(26, "BitCast", bit_cast),
          since(17, "BlackmanWindow", window<kBlackman>, "a size that is not a constant"),
          since(17, "DFT", fourier, "types other than float32 and float64, a length or axis that is not a constant"),
          since(11, "Det", torch_unary<"det">),
          since(17, "HammingWindow", window<kHamming>, "a size that is not a constant"),
          since(17, "HannWindow", window<kHann>, "a size that is not a constant"),
          since(17, "MelWeightMatrix", mel_filters, "inputs that are not constants"),
          since(17, "STFT", short_fourier,
                "types other than float32 and float64, a step or length that is not a constant")};
}

}  // namespace assay::lowering
