// SPDX-License-Identifier: Apache-2.0
// MobileBERT (Sun et al. 2020, arXiv:2004.02984): narrow layers between bottlenecks, several small MLPs in each.
#include <fmt/format.h>

#include <limits>

#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/text/text_skeletons.hpp"

namespace assay::zoo {
namespace {

constexpr float kUsualEpsilon = 1e-5F;  ///< torch's, of the norms that do not use the configuration's

struct MobileBertSizes {
  std::int64_t inner = 0;  ///< width inside of a layer
  Heads heads;
  bool bottleneck = false, shared = false, narrow_values = false, no_norm = false;
};

Result<MobileBertSizes> read_mobilebert_sizes(const TextEncoder& encoder) {
  const Config& config = encoder.context->config;
  MobileBertSizes sizes;
  sizes.bottleneck = config.flag("use_bottleneck");
  sizes.inner = sizes.bottleneck ? encoder.integer("intra_bottleneck_size") : encoder.hidden;
  // A derived size that configurations have all the same; transformers would use it.
  if (const auto inner = config.optional_integer("true_hidden_size"); inner && *inner != sizes.inner) {
    return unsupported("true_hidden_size", std::to_string(*inner));
  }
  sizes.shared = config.flag("key_query_shared_bottleneck");
  sizes.narrow_values = config.flag("use_bottleneck_attention");
  sizes.no_norm = config.text("normalization_type") == "no_norm";
  sizes.heads.count = encoder.heads.count;
  ASSAY_TRY(sizes.heads.width, head_width(sizes.inner, sizes.heads.count));
  // Otherwise queries would be as wide as the layers, which their matrices do not take.
  if (sizes.bottleneck && !sizes.shared && !sizes.narrow_values && sizes.inner != encoder.hidden) {
    return unsupported("key_query_shared_bottleneck", "false");
  }
  return sizes;
}

Value norm(const Module& at, const Value& input, std::int64_t width, float epsilon, const MobileBertSizes& sizes) {
  if (!sizes.no_norm) return layer_norm(at, input, width, epsilon);
  const Value scaled = at.node("Mul", {input, at.parameter("weight", {width}, Role::kScale)});
  return at.node("Add", {scaled, at.parameter("bias", {width}, Role::kBias)});
}

Value finish(const Module& at, const Value& input, Width width, const Value& residual, float epsilon,
             const MobileBertSizes& sizes) {
  const Value sum = at.node("Add", {linear(at / "dense", input, width), residual});
  return norm(at / "LayerNorm", sum, width.out, epsilon, sizes);
}

Result<Value> intermediate(const TextEncoder& encoder, const Module& at, const Value& input,
                           const MobileBertSizes& sizes) {
  const Value wide = linear(at / "dense", input, {sizes.inner, encoder.intermediate});
  return activation(at / "intermediate_act_fn", wide, encoder.hidden_act, "hidden_act");
}

Result<Value> encoder_layer(const TextEncoder& encoder, const Module& layer, const Value& input,
                            const std::optional<Value>& mask, const MobileBertSizes& sizes) {
  const std::int64_t inner = sizes.inner;
  const auto narrowed = [&](const char* name) {
    const Module at = layer / "bottleneck" / name;
    return norm(at / "LayerNorm", linear(at / "dense", input, {encoder.hidden, inner}), inner, encoder.epsilon, sizes);
  };
  Value residual = input;
  Value asking = input;
  Value values = input;
  if (sizes.bottleneck) {
    residual = narrowed("input");
    if (sizes.shared && !sizes.narrow_values) asking = narrowed("attention");
    if (sizes.narrow_values) asking = values = residual;
    if (sizes.narrow_values && sizes.shared) {
      for (const char* name : {"dense.weight", "dense.bias", "LayerNorm.weight", "LayerNorm.bias"}) {
        encoder.context->model.parameters().unused((layer / "bottleneck" / "attention").name_of(name));
      }
    }
  }
  const Module self = layer / "attention" / "self";
  const std::int64_t value_width = sizes.narrow_values ? inner : encoder.hidden;
  const Value context = scaled_dot_product(self, linear(self / "query", asking, {inner, inner}),
                                           linear(self / "key", asking, {inner, inner}),
                                           linear(self / "value", values, {value_width, inner}), sizes.heads, mask);
  Value hidden = finish(layer / "attention" / "output", context, {inner, inner}, residual, encoder.epsilon, sizes);
  for (std::int64_t i = 0; i + 1 < encoder.integer("num_feedforward_networks"); ++i) {
    const Module ffn = layer / fmt::format("ffn.{}", i);
    ASSAY_TRY(const Value wide, intermediate(encoder, ffn / "intermediate", hidden, sizes));
    hidden = finish(ffn / "output", wide, {encoder.intermediate, inner}, hidden, encoder.epsilon, sizes);
  }
  ASSAY_TRY(const Value wide, intermediate(encoder, layer / "intermediate", hidden, sizes));
  const Module output = layer / "output";
  hidden = finish(output, wide, {encoder.intermediate, inner}, hidden, kUsualEpsilon, sizes);
  if (!sizes.bottleneck) return hidden;
  return finish(output / "bottleneck", hidden, {inner, encoder.hidden}, input, encoder.epsilon, sizes);
}

// Each word beside the one after and the one before it, widened; then positions and token types of the full width.
Result<Embedded> embed(const TextEncoder& encoder) {
  ASSAY_TRY(const MobileBertSizes sizes, read_mobilebert_sizes(encoder));
  GraphBuilder& graph = encoder.graph();
  const Module at = encoder.base / "embeddings";
  ASSAY_TRY(Embedded embedded, embed_words(encoder));
  Value sum = embedded.hidden;
  const bool trigrams = encoder.context->config.flag("trigram_input");
  if (trigrams) {
    const Value padded = at.node("Pad", {sum, graph.integers({0, 1, 0, 0, 1, 0})});
    const auto neighbour = [&](std::int64_t from, std::int64_t to) {
      return at.node("Slice", {padded, graph.integers({from}), graph.integers({to}), graph.integers({1})});
    };
    const Value next = neighbour(2, std::numeric_limits<std::int64_t>::max());
    sum = at.node("Concat", {next, sum, neighbour(0, -2)}, {{"axis", std::int64_t{2}}});
  }
  const std::int64_t width = encoder.embedding * (trigrams ? 3 : 1);
  const Module transformation = at / "embedding_transformation";
  if (trigrams || encoder.embedding != encoder.hidden) {
    sum = linear(transformation, sum, {width, encoder.hidden});
  } else {
    for (const char* name : {"weight", "bias"}) {
      encoder.context->model.parameters().unused(transformation.name_of(name));
    }
  }
  sum = at.node("Add", {sum, position_rows(encoder, at / "position_embeddings", embedded, encoder.hidden)});
  ASSAY_TRY(const std::optional<Value> types, token_type_rows(encoder, encoder.hidden));
  sum = at.node("Add", {sum, *types});
  embedded.hidden = norm(at / "LayerNorm", sum, encoder.hidden, kUsualEpsilon, sizes);
  return embedded;
}

Result<Value> encode_mobilebert(const TextEncoder& encoder, const Embedded& embedded,
                                const std::optional<Value>& mask) {
  ASSAY_TRY(const MobileBertSizes sizes, read_mobilebert_sizes(encoder));
  std::optional<Value> bias;
  if (mask) bias = additive_mask(encoder.base, *mask);
  Value hidden = embedded.hidden;
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    const Module layer = encoder.base / "encoder" / fmt::format("layer.{}", i);
    ASSAY_TRY(hidden, encoder_layer(encoder, layer, hidden, bias, sizes));
  }
  return hidden;
}

}  // namespace

Status build_mobilebert_encoder(BuildContext& context) { return build_text_encoder(context, encode_mobilebert, embed); }

}  // namespace assay::zoo
