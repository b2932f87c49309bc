// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/outputs.hpp"

#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {

Result<std::int64_t> positive_label_count(const Config& config) {
  const std::int64_t labels = config.label_count();
  if (labels < 1) return unsupported("num_labels", std::to_string(labels));
  return labels;
}

Value class_logits(const BuildContext& context, const Module& classifier, const Value& pooled, std::int64_t width) {
  const std::int64_t labels = context.config.label_count();
  return labels == 0 ? pooled : linear_rank2(classifier, pooled, {width, labels});
}

Extents class_extents(const BuildContext& context, std::int64_t width) {
  const std::int64_t labels = context.config.label_count();
  return {"batch", labels == 0 ? width : labels};
}

void give_class_logits(const BuildContext& context, const Module& classifier, const Value& pooled, std::int64_t width) {
  context.graph().output("logits", class_logits(context, classifier, pooled, width), class_extents(context, width));
}

Value mean_of_tokens(const Module& at, const Value& hidden, const std::optional<Value>& mask) {
  if (!mask) return mean(at, hidden, {1});
  GraphBuilder& graph = at.graph();
  const Value kept = at.node("Unsqueeze", {cast(at, *mask, DType::kBool), graph.integers({2})});
  const auto sum = [&](const Value& x) {
    return at.node("ReduceSum", {x, graph.integers({1})}, {{"keepdims", std::int64_t{0}}});
  };
  const Value rest = at.node("Where", {kept, hidden, graph.number(0.0F)}, {}, DType::kFloat32);
  return at.node("Div", {sum(rest), sum(cast(at, kept, DType::kFloat32))});
}

void question_answering_outputs(const Module& at, const Value& logits, const std::string& sequence) {
  at.graph().output("start_logits", pick(at, logits, 2, 0), {"batch", sequence});
  at.graph().output("end_logits", pick(at, logits, 2, 1), {"batch", sequence});
}

}  // namespace assay::zoo
