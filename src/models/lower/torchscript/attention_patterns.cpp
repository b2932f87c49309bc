// SPDX-License-Identifier: Apache-2.0
// softmax(query · keys · scale + masks) · values
#include <algorithm>

#include "models/lower/torchscript/groups.hpp"
#include "models/lower/torchscript/patterns.hpp"

namespace assay::lowering {
namespace torchscript::attention_patterns {
namespace {

using graph::Node;

struct Found {
  std::string_view query, keys, values;  ///< keys are turned: [batch, heads, width, tokens]
  std::vector<std::string_view> masks{};
  double scale = 1.0;
  std::optional<std::vector<std::int64_t>> keys_order{};  ///< `keys` is the input of a Transpose with this order
};

// The scores' factors and masks, from the last node to the product.
const Node* product_of(const StaticProgram& program, const Readers& readers, std::string_view name, Found& found,
                       std::vector<const Node*>& nodes) {
  for (;;) {
    const Node* node = readers.maker(name);
    if (node == nullptr || readers.reads(name) != 1 || !node->domain.empty()) return nullptr;
    nodes.push_back(node);
    if (node->op_type == "MatMul") return node;
    const auto number = [&](std::size_t i) { return program.number(node->inputs[i]); };
    const Shape& scores = program.shape(name);
    if (node->op_type == "Add" && found.scale == 1.0) {
      // The mask is the input that is smaller than the scores, or that a product does not make.
      const auto is_mask = [&](std::size_t i) { return program.shape(node->inputs[1 - i]) == scores && !number(i); };
      const auto is_made_by_product = [&](std::size_t i) {
        const Node* maker = readers.maker(node->inputs[i]);
        return maker != nullptr && readers.reads(node->inputs[i]) == 1 &&
               (is_operator(*maker, "MatMul") || is_operator(*maker, "Div") || is_operator(*maker, "Mul") ||
                is_operator(*maker, "Add"));
      };
      const std::size_t mask = is_mask(1) && is_made_by_product(0) ? 1 : is_mask(0) && is_made_by_product(1) ? 0 : 2;
      if (mask == 2) return nullptr;
      found.masks.push_back(node->inputs[mask]);
      name = node->inputs[1 - mask];
    } else if (node->op_type == "Mul" && number(1)) {
      found.scale *= *number(1);
      name = node->inputs[0];
    } else if (node->op_type == "Mul" && number(0)) {
      found.scale *= *number(0);
      name = node->inputs[1];
    } else if (node->op_type == "Div" && number(1)) {
      found.scale /= *number(1);
      name = node->inputs[0];
    } else {
      return nullptr;
    }
  }
}

// A mask of libtorch has the rank of the scores, or is a matrix, and one extent or the scores' own for each axis.
bool fits(const Shape& mask, const Shape& scores) {
  if (mask.size() > scores.size()) return false;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::int64_t extent = mask[mask.size() - 1 - i];
    if (extent != 1 && extent != scores[scores.size() - 1 - i]) return false;
  }
  return true;
}

std::string mask_of(TorchWriter& writer, const Found& found, std::size_t rank) {
  std::string sum;
  for (const std::string_view name : found.masks) {
    std::string mask = writer.value(name);
    if (const Shape& shape = writer.program().shape(name); shape.size() < rank) {
      Shape wide(rank - shape.size(), 1);
      wide.insert(wide.end(), shape.begin(), shape.end());
      mask = torch_call("reshape", mask, torch_list(wide));
    }
    sum = sum.empty() ? mask : torch_call("add", sum, mask);
  }
  return sum.empty() ? "None" : sum;
}

void write(TorchWriter& writer, const Node& node, const Found& found) {
  std::string keys = writer.value(found.keys);
  std::vector<std::int64_t> order{0, 1, 3, 2};
  if (found.keys_order) {
    order = *found.keys_order;
    std::swap(order[2], order[3]);
  }
  if (order != std::vector<std::int64_t>{0, 1, 2, 3}) keys = torch_call("permute", keys, torch_list(order));
  writer.out(node,
             torch_call("scaled_dot_product_attention", writer.value(found.query), keys, writer.value(found.values),
                        mask_of(writer, found, 4), "0.0", "False", fmt::format("scale={}", torch_number(found.scale))));
}

}  // namespace
}  // namespace torchscript::attention_patterns

TorchGroup find_attention(const StaticProgram& program, const Readers& readers, const graph::Node& node) {
  using namespace torchscript::attention_patterns;
  if (!is_operator(node, "MatMul")) return {};
  const Node* softmax = readers.maker_for_one(node.inputs[0], "Softmax");
  if (softmax == nullptr) return {};
  const Shape& scores = program.shape(softmax->outputs[0]);
  const std::int64_t axis = softmax->integer("axis", program.opset(*softmax) < 13 ? 1 : -1);
  if (scores.size() != 4 || (axis != -1 && axis != 3) || std::ranges::count(scores, 0) > 0) return {};
  Found found;
  found.values = node.inputs[1];
  std::vector<const Node*> nodes{&node, softmax};
  const Node* product = product_of(program, readers, softmax->inputs[0], found, nodes);
  if (product == nullptr) return {};
  found.query = product->inputs[0];
  found.keys = product->inputs[1];
  if (const Node* turned = readers.maker_for_one(found.keys, "Transpose")) {
    if (const auto order = turned->integers("perm"); order && order->size() == 4) {
      nodes.push_back(turned);
      found.keys = turned->inputs[0];
      found.keys_order.emplace(order->begin(), order->end());
    }
  }
  const Shape& query = program.shape(found.query);
  const Shape& values = program.shape(found.values);
  const DType dtype = program.dtype(found.query);
  // Every head has its own keys and values.
  const bool plain = query.size() == 4 && values.size() == 4 && query[0] == values[0] && query[1] == values[1] &&
                     program.shape(product->inputs[1]).size() == 4 &&
                     program.shape(product->inputs[1])[1] == query[1] &&
                     program.shape(product->inputs[1])[0] == query[0] && is_floating(dtype);
  const bool masked = std::ranges::all_of(found.masks, [&](std::string_view mask) {
    return fits(program.shape(mask), scores) && program.dtype(mask) == dtype;
  });
  if (!plain || !masked) return {};
  return {std::move(nodes), [&node, found](TorchWriter& writer) { write(writer, node, found); }};
}

}  // namespace assay::lowering
