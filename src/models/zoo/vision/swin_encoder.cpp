// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_swin.py.
#include <fmt/format.h>

#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/outputs.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/vision/backbones.hpp"
#include "models/zoo/vision/swin_stages.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {
namespace {

struct Patches {
  std::int64_t height = 0, width = 0, patch_height = 0, patch_width = 0, channels = 0, hidden = 0;
  [[nodiscard]] std::int64_t rows() const { return (height + patch_height - 1) / patch_height; }
  [[nodiscard]] std::int64_t columns() const { return (width + patch_width - 1) / patch_width; }
};

// An image of other sides than the configuration's is taken as it is; what is missing to whole patches is zero.
Result<TokenGrid> embed(BuildContext& context, const Module& at) {
  const Config& config = context.config;
  Patches sizes;
  std::tie(sizes.height, sizes.width) = config.pair("image_size");
  std::tie(sizes.patch_height, sizes.patch_width) = config.pair("patch_size");
  sizes.channels = config.integer("num_channels");
  sizes.hidden = config.integer("embed_dim");
  const std::int64_t places = (sizes.height / sizes.patch_height) * (sizes.width / sizes.patch_width);
  if (const std::optional<Shape> asked = context.inputs.shape("pixel_values"); asked && asked->size() == 4) {
    sizes.height = (*asked)[2];
    sizes.width = (*asked)[3];
  }
  if (sizes.height < 1 || sizes.width < 1) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("an image of {} x {}", sizes.height, sizes.width));
  }
  ASSAY_TRY(Value pixels, context.inputs.take("pixel_values", {DType::kFloat32},
                                              {"batch", sizes.channels, sizes.height, sizes.width}));
  const Module patch = at / "patch_embeddings";
  const std::int64_t below = sizes.rows() * sizes.patch_height - sizes.height;
  const std::int64_t beside = sizes.columns() * sizes.patch_width - sizes.width;
  if (below > 0 || beside > 0) {
    pixels = patch.node("Pad", {pixels, context.graph().integers({0, 0, 0, 0, 0, 0, below, beside})});
  }
  const Value image = convolution(patch / "projection", pixels,
                                  {sizes.channels, sizes.hidden, sizes.patch_height, sizes.patch_width,
                                   sizes.patch_height, sizes.patch_width, 0, true});
  const std::int64_t count = sizes.rows() * sizes.columns();
  Value tokens = transpose(patch, reshape(patch, image, {0, sizes.hidden, count}), {0, 2, 1});
  tokens = layer_norm(at / "norm", tokens, sizes.hidden, 1e-5F);
  if (config.flag("use_absolute_embeddings")) {
    if (places != count) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} patches, use_absolute_embeddings has {} positions", count, places));
    }
    tokens = add(at, tokens, at.parameter("position_embeddings", {1, count, sizes.hidden}, Role::kTable));
  }
  return TokenGrid{tokens, sizes.rows(), sizes.columns(), sizes.hidden};
}

}  // namespace

Status build_swin_encoder(BuildContext& context) {
  const Config& config = context.config;
  const bool bare = config.bare();
  const Module base = base_module(context);
  const std::vector<std::int64_t> depths = config.integers("depths");
  const std::vector<std::int64_t> heads = config.integers("num_heads");
  if (depths.size() != heads.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("depths has {} stages, num_heads has {}: they must be as many",
                                                         depths.size(), heads.size()));
  }
  const SwinSizes sizes = swin_sizes(config);
  ASSAY_TRY(TokenGrid grid, embed(context, base / "embeddings"));
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const Module stage = base / "encoder" / fmt::format("layers.{}", i);
    ASSAY_TRY(grid, swin_stage(stage, grid, depths[i], heads[i], sizes, i + 1 < depths.size()));
  }
  const Value hidden = layer_norm(base / "layernorm", grid.tokens, grid.channels, sizes.epsilon);
  const Value pooled = mean(base / "pooler", hidden, {1});
  GraphBuilder& graph = context.graph();
  if (bare) {
    graph.output("last_hidden_state", hidden, {"batch", grid.height * grid.width, grid.channels});
    graph.output("pooler_output", pooled, {"batch", grid.channels});
    return {};
  }
  give_class_logits(context, context.model / "classifier", pooled, grid.channels);
  return {};
}

}  // namespace assay::zoo
