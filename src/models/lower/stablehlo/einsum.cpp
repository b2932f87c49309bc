// SPDX-License-Identifier: Apache-2.0
// Einsum, as a chain of products of two operands with a label for each axis.
#include "models/graph/einsum.hpp"

#include <algorithm>

#include "models/lower/stablehlo/linear.hpp"

namespace assay::lowering::stablehlo {
namespace {

struct Labelled {
  Hlo value;
  std::string labels;
};

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// An operand whose extent is 1 where that of the label is not is repeated along the label. Its product is that of the
// operand without the axis.
Labelled without_repeated_axes(HloWriter& writer, const Labelled& x, const std::map<char, std::int64_t>& extents) {
  Shape shape;
  std::string labels;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (x.value.shape[i] != extents.at(x.labels[i])) continue;
    shape.push_back(x.value.shape[i]);
    labels += x.labels[i];
  }
  return {writer.reshape(x.value, shape), labels};
}

// The diagonal where a label occurs twice.
Labelled diagonal_of(HloWriter& writer, Labelled x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    for (auto again = x.labels.find(x.labels[i], i + 1); again != std::string::npos;
         again = x.labels.find(x.labels[i], i + 1)) {
      const auto first = static_cast<std::int64_t>(i), second = static_cast<std::int64_t>(again);
      const Hlo same = writer.compare("EQ", writer.iota(DType::kInt32, x.value.shape, first),
                                      writer.iota(DType::kInt32, x.value.shape, second));
      x.value = writer.sum(writer.select(same, x.value, writer.splat_like(0, x.value)), {second});
      x.labels.erase(again, 1);
    }
  }
  return x;
}

// Sums over the labels that nothing else needs.
Labelled summed(HloWriter& writer, const Labelled& x, const std::string& needed) {
  Axes axes;
  std::string kept;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (has(needed, x.labels[i]))
      kept += x.labels[i];
    else
      axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes.empty() ? x : Labelled{writer.sum(x.value, axes), kept};
}

Labelled multiplied(HloWriter& writer, const Labelled& a, const Labelled& b, const std::string& needed) {
  HloWriter::DotAxes axes;
  std::string batch, rest_a, rest_b;
  for (std::size_t i = 0; i < a.labels.size(); ++i) {
    const char label = a.labels[i];
    const auto at = b.labels.find(label);
    if (at == std::string::npos) {
      rest_a += label;
    } else if (has(needed, label)) {
      axes.batch_a.push_back(static_cast<std::int64_t>(i));
      axes.batch_b.push_back(static_cast<std::int64_t>(at));
      batch += label;
    } else {
      axes.contract_a.push_back(static_cast<std::int64_t>(i));
      axes.contract_b.push_back(static_cast<std::int64_t>(at));
    }
  }
  for (const char label : b.labels)
    if (!has(a.labels, label)) rest_b += label;
  return {writer.dot(a.value, b.value, axes, a.value.dtype), batch + rest_a + rest_b};
}

}  // namespace

Status einsum(HloWriter& writer, const graph::Node& node) {
  std::vector<Shape> shapes;
  std::vector<Hlo> values;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    ASSAY_TRY(const Hlo x, writer.input(node, i));
    shapes.push_back(x.shape);
    values.push_back(x);
  }
  const auto read = graph::read_einsum(node.text("equation", ""), shapes);
  if (!read) return refuse(node, read.error());
  std::vector<Labelled> operands;
  for (std::size_t i = 0; i < values.size(); ++i)
    operands.push_back(
        diagonal_of(writer, without_repeated_axes(writer, {values[i], read->operands[i]}, read->extents)));
  Labelled product = operands[0];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::string later = read->result;
    for (std::size_t j = i + 1; j < operands.size(); ++j) later += operands[j].labels;
    const Labelled next = summed(writer, operands[i], i == 0 ? later : later + product.labels);
    product = i == 0 ? next : multiplied(writer, product, next, later);
  }
  product = summed(writer, product, read->result);
  Axes order;
  for (const char label : read->result) order.push_back(static_cast<std::int64_t>(product.labels.find(label)));
  return writer.output(node, writer.transpose(product.value, order));
}

}  // namespace assay::lowering::stablehlo
