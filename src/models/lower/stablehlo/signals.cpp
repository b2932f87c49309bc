// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, windows, filters, determinants.
#include "models/lower/spectra.hpp"

#include <fmt/format.h>

#include <numeric>

#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

struct Transform {
  std::int64_t length = 0;
  bool inverse = false, onesided = false;
};

// Along `axis` of an operand whose last axis has a real part and perhaps an imaginary one. The result has both, except
// for the inverse of a onesided transform, which is real.
Hlo transformed(HloWriter& writer, const Hlo& given, std::int64_t axis, const Transform& how) {
  const DType type = wide(given.dtype);
  const bool to_real = how.inverse && how.onesided;
  const std::int64_t kept = to_real ? how.length / 2 + 1 : how.length;
  Hlo x = writer.convert(given, type);
  Axes none(x.shape.size(), 0), after = none;
  after[static_cast<std::size_t>(axis)] = kept - x.extent(axis);
  x = writer.pad(x, writer.splat(0, type), none, after);
  Shape shape(x.shape.begin(), x.shape.end() - 1);
  const auto part = [&](std::int64_t place) {
    if (place >= x.shape.back()) return writer.splat(0, type, shape);
    return writer.reshape(writer.slice_axis(x, x.rank() - 1, place, place + 1), shape);
  };
  // XLA transforms the last axis.
  Axes order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  Hlo y = writer.transpose(writer.complex(part(0), part(1)), order);
  y = writer.fourier(y, how.inverse ? (to_real ? "IRFFT" : "IFFT") : "FFT", how.length);
  if (how.onesided && !how.inverse) y = writer.slice_axis(y, y.rank() - 1, 0, how.length / 2 + 1);
  y = writer.transpose(y, order);
  shape = y.shape;
  shape.push_back(1);
  if (to_real) return writer.reshape(y, shape);
  const Hlo parts[] = {writer.reshape(writer.part_of(y, "real"), shape),
                       writer.reshape(writer.part_of(y, "imag"), shape)};
  return writer.concatenate(parts, y.rank());
}

Result<std::optional<std::int64_t>> stated_integer(HloWriter& writer, const graph::Node& node, std::size_t index) {
  if (!has_input(node, index)) return std::nullopt;
  ASSAY_TRY(const auto numbers, writer.program().integers(node, node.inputs[index]));
  if (numbers.size() != 1) return refuse(node, fmt::format("input {} that is not one number", index));
  return numbers.front();
}

Status fourier_transform(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const auto length, stated_integer(writer, node, 1));
  ASSAY_TRY(const auto stated, stated_integer(writer, node, 2));
  const std::int64_t standard = writer.program().opset(node) < 20 ? 1 : -2;
  ASSAY_TRY(const std::int64_t axis, axis_of(node, stated.value_or(node.integer("axis", standard)), x.rank()));
  if (axis + 1 == x.rank()) return refuse(node, "the axis of real and imaginary parts");
  Transform how{.inverse = node.integer("inverse", 0) != 0, .onesided = node.integer("onesided", 0) != 0};
  how.length = length.value_or(how.inverse && how.onesided ? 2 * (x.extent(axis) - 1) : x.extent(axis));
  return writer.output(node, writer.convert(transformed(writer, x, axis, how), x.dtype));
}

// signal [N, L, 1 or 2], step, window, length.
Status short_time_transform(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo signal, writer.input(node, 0));
  ASSAY_TRY(const auto step, stated_integer(writer, node, 1));
  ASSAY_TRY(const auto stated, stated_integer(writer, node, 3));
  const std::int64_t frames = writer.program().shape(node.outputs[0])[1];
  std::optional<Hlo> window;
  if (has_input(node, 2)) {
    ASSAY_TRY(window, writer.input(node, 2));
  }
  const std::int64_t size = stated.value_or(window ? window->extent(0) : signal.extent(1));
  if (!step || (window && window->extent(0) != size)) return refuse(node, "a window of another length than the frames");
  std::vector<std::int64_t> places;
  for (std::int64_t frame = 0; frame < frames; ++frame)
    for (std::int64_t i = 0; i < size; ++i) places.push_back(frame * *step + i);
  const Hlo read = writer.take(signal, writer.list(places, DType::kInt32), 1);
  Hlo x = writer.reshape(read, {signal.extent(0), frames, size, signal.extent(2)});
  if (window) x = writer.multiply(x, writer.broadcast_in_dim(*window, x.shape, {2}));
  const Hlo y = transformed(writer, x, 2, {.length = size, .onesided = node.integer("onesided", 1) != 0});
  return writer.output(node, writer.convert(y, signal.dtype));
}

template <const CosineWindow& Window>
Status window_of_cosines(HloWriter& writer, const graph::Node& node) {
  const std::vector<double> numbers = cosine_window(writer.program(), node, Window);
  return writer.output(node,
                       writer.convert(writer.list(numbers, DType::kFloat64), writer.program().dtype(node.outputs[0])));
}

Status mel_filters(HloWriter& writer, const graph::Node& node) {
  const StaticValue& made = writer.program().value(node.outputs[0]);
  ASSAY_TRY(const std::vector<double> matrix, mel_weights(writer.program(), node));
  return writer.output(node, writer.convert(writer.computed(matrix, DType::kFloat64, *made.shape), made.dtype));
}

// By Laplace's expansion along the first row of what is left; the number of terms is n!.
Hlo determinant_of(HloWriter& writer, const std::vector<std::vector<Hlo>>& rows, std::size_t from,
                   const std::vector<std::size_t>& columns) {
  if (columns.size() == 1) return rows[from][columns[0]];
  const auto term = [&](std::size_t i) {
    std::vector<std::size_t> rest = columns;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    return writer.multiply(rows[from][columns[i]], determinant_of(writer, rows, from + 1, rest));
  };
  Hlo total = term(0);
  for (std::size_t i = 1; i < columns.size(); ++i)
    total = i % 2 == 0 ? writer.add(total, term(i)) : writer.subtract(total, term(i));
  return total;
}

Status determinant(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const std::int64_t size = x.shape.back(), row = x.rank() - 2;
  constexpr std::int64_t kMost = 4;
  if (size < 1 || size > kMost) return refuse(node, fmt::format("a matrix of {} rows", size));
  const Shape& shape = writer.program().shape(node.outputs[0]);
  std::vector<std::vector<Hlo>> rows;
  std::vector<std::size_t> columns;
  for (std::int64_t i = 0; i < size; ++i) {
    const Hlo one = writer.slice_axis(x, row, i, i + 1);
    rows.emplace_back();
    for (std::int64_t j = 0; j < size; ++j)
      rows.back().push_back(writer.reshape(writer.slice_axis(one, row + 1, j, j + 1), shape));
    columns.push_back(static_cast<std::size_t>(i));
  }
  return writer.output(node, determinant_of(writer, rows, 0, columns));
}

constexpr std::string_view kConstant = "numbers that are not constants";

constexpr HloRow kSignals[] = {
    {{"", "BlackmanWindow", 17, kNewestOpset, kConstant}, window_of_cosines<kBlackman>},
    {{"", "DFT", 17, kNewestOpset, kConstant}, fourier_transform},
    {{"", "Det", 11, kNewestOpset, "matrices of more than 4 rows"}, determinant},
    {{"", "HammingWindow", 17, kNewestOpset, kConstant}, window_of_cosines<kHamming>},
    {{"", "HannWindow", 17, kNewestOpset, kConstant}, window_of_cosines<kHann>},
    {{"", "MelWeightMatrix", 17, kNewestOpset, kConstant}, mel_filters},
    {{"", "STFT", 17, kNewestOpset, kConstant}, short_time_transform},
};

}  // namespace

std::span<const HloRow> hlo_signals() { return kSignals; }

}  // namespace assay::lowering::stablehlo
