// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, windows, sums of products, losses, and other operators with shapes of their own.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/graph/einsum.hpp"
#include "models/graph/shape_rules.hpp"

namespace assay {
namespace {

using Elements = std::vector<std::int64_t>;

// An integer scalar; nullopt: the input is left out. `known` is false if it is there and its value is not known.
std::optional<std::int64_t> scalar(const Site& site, std::size_t input, bool& known) {
  if (!site.has(input)) return std::nullopt;
  const Elements* elements = site.elements(input);
  if (elements != nullptr && elements->size() == 1) return elements->front();
  known = false;
  return std::nullopt;
}

// The axis is an input from opset 20 on. The last axis has a real part and, of complex numbers, an imaginary one.
Status fourier(Site& site) {
  bool known = true;
  const auto length = scalar(site, 1, known);
  const auto input_axis = scalar(site, 2, known);
  if (!known) return {};
  const std::int64_t standard = site.opset() < 20 ? 1 : -2;
  ASSAY_TRY(const std::size_t axis, site.axis(input_axis.value_or(site.integer("axis", standard)), site.rank(0)));
  Shape shape = site.shape(0);
  if (length && *length < 1) return site.contradiction(fmt::format("a transform of {} elements", *length));
  if (axis + 1 == shape.size()) return site.contradiction("a transform along the axis of real and imaginary parts");
  const bool onesided = site.integer("onesided", 0) != 0, inverse = site.integer("inverse", 0) != 0;
  if (onesided && inverse) {
    shape[axis] = length.value_or(2 * (shape[axis] - 1));
    shape.back() = 1;
  } else {
    const std::int64_t all = length.value_or(shape[axis]);
    shape[axis] = onesided ? all / 2 + 1 : all;
    shape.back() = 2;
  }
  return site.give_checked(site.in(0).dtype, shape);
}

// signal [N, L, 1 or 2], step, window, length.
Status short_fourier(Site& site) {
  bool known = true;
  const auto step = scalar(site, 1, known);
  const auto length = scalar(site, 3, known);
  if (!known || !step) return {};
  if (site.rank(0) != 3) return site.contradiction("a signal of another rank");
  const std::int64_t extent = site.shape(0)[1];
  const std::int64_t frame = length.value_or(site.has(2) ? count_of(site.shape(2)) : extent);
  if (*step < 1 || frame < 1 || frame > extent)
    return site.contradiction(fmt::format("frames of {}, each {} further, over {}", frame, *step, extent));
  const std::int64_t bins = site.integer("onesided", 1) != 0 ? frame / 2 + 1 : frame;
  return site.give_checked(site.in(0).dtype, {site.shape(0)[0], (extent - frame) / *step + 1, bins, 2});
}

DType stated_type(const Site& site, const char* attribute, DType otherwise) {
  const std::int64_t stated = site.integer(attribute, 0);
  return stated == 0 ? otherwise : static_cast<DType>(stated);
}

Status window(Site& site) {
  bool known = true;
  const auto size = scalar(site, 0, known);
  if (!size) return {};
  return site.give_checked(stated_type(site, "output_datatype", DType::kFloat32), {*size});
}

Status mel_weights(Site& site) {
  bool known = true;
  const auto bands = scalar(site, 0, known), length = scalar(site, 1, known);
  if (!bands || !length) return {};
  if (*bands < 1 || *length < 1) return site.contradiction(fmt::format("{} bands of {} elements", *bands, *length));
  return site.give_checked(stated_type(site, "output_datatype", DType::kFloat32), {*length / 2 + 1, *bands});
}

Status sum_of_products(Site& site) {
  std::vector<Shape> operands;
  for (std::size_t i = 0; i < site.inputs(); ++i) operands.push_back(site.shape(i));
  const auto read = graph::read_einsum(site.node().text("equation", ""), operands);
  if (!read) return site.contradiction(read.error());
  Shape shape;
  for (const char label : read->result) shape.push_back(read->extents.at(label));
  return site.give_checked(site.in(0).dtype, shape);
}

// scores [N, C, …], labels [N, …] → the loss, and for one of them the logarithms of the probabilities.
Status loss(Site& site) {
  if (site.rank(0) < 2 || site.rank(1) + 1 != site.rank(0)) return site.contradiction("labels of another rank");
  Shape shape{site.shape(0)[0]};
  shape.insert(shape.end(), site.shape(0).begin() + 2, site.shape(0).end());
  if (shape != site.shape(1)) return site.contradiction("labels of another shape");
  const bool reduced = site.node().text("reduction", "mean") != "none";
  site.give(0, site.in(0).dtype, reduced ? Shape{} : shape);
  site.give(1, site.in(0).dtype, site.shape(0));
  return {};
}

Status determinant(Site& site) {
  const Shape& in = site.shape(0);
  if (in.size() < 2 || in.back() != in[in.size() - 2]) return site.contradiction("operands that are not square");
  site.give(0, site.in(0).dtype, Shape(in.begin(), in.end() - 2));
  return {};
}

Status identity_matrix(Site& site) {
  if (site.rank(0) != 2) return site.contradiction("an operand that is not a matrix");
  site.give(0, stated_type(site, "dtype", site.in(0).dtype), site.shape(0));
  return {};
}

Status counted_ngrams(Site& site) {
  const auto indices = site.integers("ngram_indexes");
  if (!indices || indices->empty()) return site.contradiction("no ngram_indexes");
  if (site.rank(0) != 1 && site.rank(0) != 2) return site.contradiction("an operand of another rank");
  Shape shape = site.shape(0);
  shape.back() = plus(std::max<std::int64_t>(0, *std::ranges::max_element(*indices)), 1);
  return site.give_checked(DType::kFloat32, shape);
}

Status reversed(Site& site) {
  if (site.rank(0) < 2 || site.rank(1) != 1) return site.contradiction("an operand of another rank");
  const std::int64_t time = site.integer("time_axis", 0), batch = site.integer("batch_axis", 1);
  if (time < 0 || time > 1 || batch != 1 - time)
    return site.contradiction(fmt::format("time_axis {} and batch_axis {}", time, batch));
  site.give(0, site.in(0).dtype, site.shape(0));
  return {};
}

Status reinterpreted(Site& site) {
  const auto to = static_cast<DType>(site.integer("to", 0));
  if (bit_width(to) == 0 || bit_width(to) != bit_width(site.in(0).dtype)) return site.contradiction("another width");
  site.give(0, to, site.shape(0));
  return {};
}

}  // namespace

ShapeRule find_signal_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"DFT", fourier},
      {"STFT", short_fourier},
      {"HannWindow", window},
      {"HammingWindow", window},
      {"BlackmanWindow", window},
      {"MelWeightMatrix", mel_weights},
      {"Einsum", sum_of_products},
      {"NegativeLogLikelihoodLoss", loss},
      {"SoftmaxCrossEntropyLoss", loss},
      {"Det", determinant},
      {"EyeLike", identity_matrix},
      {"TfIdfVectorizer", counted_ngrams},
      {"ReverseSequence", reversed},
      {"BitCast", reinterpreted},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
