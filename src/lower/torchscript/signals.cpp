// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, windows, mel filters; determinants and the bits of numbers.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "lower/torchscript/groups.hpp"

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
  axis = TorchWriter::axis(axis, rank);
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

// A window of cosines, c0 + c1 cos(2πn/N) + c2 cos(4πn/N).
Status window(TorchWriter& writer, const Node& node, double c0, double c1, double c2) {
  const std::int64_t size = writer.out_shape(node)[0];
  const auto period = static_cast<double>(node.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values.push_back(c0 + c1 * std::cos(angle) + c2 * std::cos(2 * angle));
  }
  ASSAY_TRY(
      const std::string made,
      torch_cast(node, writer.held(DType::kFloat64, {size}, std::as_bytes(std::span(values))), writer.out_dtype(node)));
  writer.out(node, made);
  return {};
}

Status hann(TorchWriter& writer, const Node& node) { return window(writer, node, 0.5, -0.5, 0.0); }
Status hamming(TorchWriter& writer, const Node& node) {
  constexpr double kFirst = 25.0 / 46.0;
  return window(writer, node, kFirst, kFirst - 1, 0.0);
}
Status blackman(TorchWriter& writer, const Node& node) { return window(writer, node, 0.42, -0.5, 0.08); }

// Triangles over the bins of a spectrum, evenly spaced on the mel scale.
Status mel_weights(TorchWriter& writer, const Node& node) {
  double given[5];
  for (std::size_t i = 0; i < 5; ++i) {
    const auto number = writer.program().number(node.inputs[i]);
    if (!number) return refuse(node, "an input that is not a constant");
    given[i] = *number;
  }
  const auto [count, length, rate, lower, upper] = given;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const auto bins = static_cast<std::int64_t>(count), spectrum = writer.out_shape(node)[0];
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double at = mel(lower) + static_cast<double>(i) * (mel(upper) - mel(lower)) / static_cast<double>(bins + 2);
    const double hertz = 700 * (std::pow(10.0, at / 2595) - 1);
    edges.push_back(static_cast<std::int64_t>(std::floor((length + 1) * hertz / rate)));
  }
  std::vector<double> weights(static_cast<std::size_t>(spectrum * bins));
  const auto weight = [&](std::int64_t row, std::int64_t column) -> double& {
    return weights[static_cast<std::size_t>(row * bins + column)];
  };
  for (std::int64_t i = 0; i < bins; ++i) {
    const std::int64_t left = edges[static_cast<std::size_t>(i)], middle = edges[static_cast<std::size_t>(i) + 1],
                       right = edges[static_cast<std::size_t>(i) + 2];
    if (left < 0 || right > spectrum) return refuse(node, "a frequency beyond the spectrum");
    for (std::int64_t at = left; at <= middle && at < spectrum; ++at)
      weight(at, i) = middle == left ? 1.0 : static_cast<double>(at - left) / static_cast<double>(middle - left);
    for (std::int64_t at = middle; at < right; ++at)
      weight(at, i) = static_cast<double>(right - at) / static_cast<double>(right - middle);
  }
  ASSAY_TRY(const std::string made,
            torch_cast(node, writer.held(DType::kFloat64, writer.out_shape(node), std::as_bytes(std::span(weights))),
                       writer.out_dtype(node)));
  writer.out(node, made);
  return {};
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
          since(17, "BlackmanWindow", blackman, "a size that is not a constant"),
          since(17, "DFT", fourier, "types other than float32 and float64, a length or axis that is not a constant"),
          since(11, "Det", torch_unary<"det">),
          since(17, "HammingWindow", hamming, "a size that is not a constant"),
          since(17, "HannWindow", hann, "a size that is not a constant"),
          since(17, "MelWeightMatrix", mel_weights, "inputs that are not constants"),
          since(17, "STFT", short_fourier,
                "types other than float32 and float64, a step or length that is not a constant")};
}

}  // namespace assay::lowering
