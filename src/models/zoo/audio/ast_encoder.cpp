// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_audio_spectrogram_transformer.py: overlapping patches of a spectrogram, two class tokens, a
// pre-norm encoder.
#include <fmt/format.h>

#include "models/zoo/audio/audio_skeletons.hpp"
#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/build_context.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

struct AstSizes {
  std::int64_t hidden, intermediate, bands, frames, patch, down, across;  ///< `down`, `across`: patches by axis
  Heads heads;
  float epsilon;
};

Result<AstSizes> read_ast_sizes(const Config& config) {
  AstSizes sizes{config.integer("hidden_size"),
                 config.integer("intermediate_size"),
                 config.integer("num_mel_bins"),
                 config.integer("max_length"),
                 config.integer("patch_size"),
                 0,
                 0,
                 {config.integer("num_attention_heads"), 0},
                 config.number("layer_norm_eps")};
  ASSAY_TRY(sizes.heads.width, head_width(sizes.hidden, sizes.heads.count));
  if (sizes.patch > sizes.bands || sizes.patch > sizes.frames) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("patch_size = {} does not fit num_mel_bins = {} and max_length = {}", sizes.patch,
                            sizes.bands, sizes.frames));
  }
  sizes.down = (sizes.bands - sizes.patch) / config.integer("frequency_stride") + 1;
  sizes.across = (sizes.frames - sizes.patch) / config.integer("time_stride") + 1;
  return sizes;
}

// [B, frames, bands] → [B, 2 + patches, hidden].
Result<Value> ast_embeddings(BuildContext& context, const Module& at, const AstSizes& sizes) {
  const Config& config = context.config;
  GraphBuilder& graph = context.graph();
  ASSAY_TRY(const Value spectrogram,
            context.inputs.take("input_values", {DType::kFloat32}, {"batch", sizes.frames, sizes.bands}));
  const Module patches = at / "patch_embeddings";
  const Value transposed = patches.node("Transpose", {spectrogram}, {{"perm", Integers{0, 2, 1}}});
  Value hidden = convolution(patches / "projection", patches.node("Unsqueeze", {transposed, graph.integers({1})}),
                             {1, sizes.hidden, sizes.patch, sizes.patch, config.integer("frequency_stride"),
                              config.integer("time_stride"), 0, true});
  hidden = patches.node("Reshape", {hidden, graph.integers({0, sizes.hidden, sizes.down * sizes.across})});
  hidden = patches.node("Transpose", {hidden}, {{"perm", Integers{0, 2, 1}}});
  const Value extents = concat(at, {extent(at, spectrogram, 0), graph.integers({1, sizes.hidden})}, 0);
  const auto token = [&](const char* name) {
    return at.node("Expand", {at.parameter(name, {1, 1, sizes.hidden}, Role::kTable), extents});
  };
  const Value joined =
      at.node("Concat", {token("cls_token"), token("distillation_token"), hidden}, {{"axis", std::int64_t{1}}});
  const Value positions =
      at.parameter("position_embeddings", {1, sizes.down * sizes.across + 2, sizes.hidden}, Role::kTable);
  return at.node("Add", {joined, positions});
}

Result<Value> encoder_layer(const Config& config, const Module& layer, const Value& input, const AstSizes& sizes) {
  const Width square{sizes.hidden, sizes.hidden};
  const bool bias = config.flag("qkv_bias");
  const Module attention = layer / "attention" / "attention";
  const Value before = layer_norm(layer / "layernorm_before", input, sizes.hidden, sizes.epsilon);
  const Value attended = scaled_dot_product(attention, linear(attention / "query", before, square, bias),
                                            linear(attention / "key", before, square, bias),
                                            linear(attention / "value", before, square, bias), sizes.heads, {});
  const Value hidden = layer.node("Add", {linear(layer / "attention" / "output" / "dense", attended, square), input});
  const Value after = layer_norm(layer / "layernorm_after", hidden, sizes.hidden, sizes.epsilon);
  const Module intermediate = layer / "intermediate";
  const Value wide = linear(intermediate / "dense", after, {sizes.hidden, sizes.intermediate});
  ASSAY_TRY(const Value active, activation(intermediate, wide, config.text("hidden_act"), "hidden_act"));
  const Value narrow = linear(layer / "output" / "dense", active, {sizes.intermediate, sizes.hidden});
  return layer.node("Add", {narrow, hidden});
}

}  // namespace

Status build_ast_encoder(BuildContext& context) {
  const Config& config = context.config;
  GraphBuilder& graph = context.graph();
  ASSAY_TRY(const AstSizes sizes, read_ast_sizes(config));
  const bool bare = config.bare();
  const Module base = base_module(context);
  ASSAY_TRY(Value hidden, ast_embeddings(context, base / "embeddings", sizes));
  const std::int64_t tokens = sizes.down * sizes.across + 2;
  graph.declare(hidden, {"batch", tokens, sizes.hidden});
  const std::int64_t layers = config.integer("num_hidden_layers");
  for (std::int64_t i = 0; i < layers; ++i) {
    ASSAY_TRY(hidden, encoder_layer(config, base / "encoder" / fmt::format("layer.{}", i), hidden, sizes));
  }
  hidden = layer_norm(base / "layernorm", hidden, sizes.hidden, sizes.epsilon);
  const Value sum = base.node("Add", {token(base, hidden, 0), token(base, hidden, 1)});
  const Value pooled = base.node("Div", {sum, graph.number(2.0F)});
  if (bare) {
    graph.output("last_hidden_state", hidden, {"batch", tokens, sizes.hidden});
    graph.output("pooler_output", pooled, {"batch", sizes.hidden});
    return {};
  }
  const Module classifier = context.model / "classifier";
  const Value normed = layer_norm(classifier / "layernorm", pooled, sizes.hidden, sizes.epsilon);
  give_class_logits(context, classifier / "dense", normed, sizes.hidden);
  return {};
}

}  // namespace assay::zoo
