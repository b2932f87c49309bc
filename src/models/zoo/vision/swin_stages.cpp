// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/vision/swin_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

constexpr float kDefaultEpsilon = 1e-5F;  ///< torch.nn.LayerNorm's

/// An image cut into windows: its sides are multiples of the window's.
struct Windows {
  std::int64_t window = 0, shift = 0, height = 0, width = 0;
  [[nodiscard]] std::int64_t count() const { return (height / window) * (width / window); }
  [[nodiscard]] std::int64_t area() const { return window * window; }
};

// Rows of the table of relative positions for each pair of places of a window, and, if the image is shifted, -100
// for the pairs that were no neighbours before. Shape: [windows or 1, heads, area, area].
Value attention_bias(const Module& at, const Windows& cut, std::int64_t heads) {
  const std::int64_t span = 2 * cut.window - 1;
  const std::int64_t windows = cut.shift > 0 ? cut.count() : 1;
  const std::int64_t area = cut.area();
  const auto compute = [cut, heads, span, windows, area](const std::vector<float>& table) {
    constexpr float kStranger = -100.0F;
    const auto region = [&](std::int64_t place, std::int64_t extent) {
      return (place >= extent - cut.window ? 1 : 0) + (place >= extent - cut.shift ? 1 : 0);
    };
    const std::int64_t columns = cut.width / cut.window;
    std::vector<float> bias;
    bias.reserve(static_cast<std::size_t>(windows * heads * area * area));
    for (std::int64_t w = 0; w < windows; ++w) {
      const std::int64_t top = w / columns * cut.window;
      const std::int64_t left = w % columns * cut.window;
      const auto label = [&](std::int64_t place) {
        return region(top + place / cut.window, cut.height) * 3 + region(left + place % cut.window, cut.width);
      };
      for (std::int64_t head = 0; head < heads; ++head) {
        for (std::int64_t i = 0; i < area; ++i) {
          for (std::int64_t j = 0; j < area; ++j) {
            const std::int64_t down = i / cut.window - j / cut.window + cut.window - 1;
            const std::int64_t right = i % cut.window - j % cut.window + cut.window - 1;
            const float near = table[static_cast<std::size_t>((down * span + right) * heads + head)];
            bias.push_back(cut.shift > 0 && label(i) != label(j) ? near + kStranger : near);
          }
        }
      }
    }
    return bias;
  };
  return at.derived_parameter("relative_position_bias_table", {span * span, heads}, Role::kTable,
                              cut.shift > 0 ? fmt::format("shifted_{}x{}", cut.height, cut.width) : "pairs",
                              {windows, heads, area, area}, compute);
}

// [B·windows, area, channels] → the same.
Value window_attention(const Module& attention, const Value& input, const Windows& cut, Heads heads, bool bias) {
  const Module self = attention / "self";
  const std::int64_t inner = heads.count * heads.width;
  const Width square{inner, inner};
  const auto by_head = [&](const char* name, const std::vector<std::int64_t>& order) {
    const Value projected = linear(self / name, input, square, bias);
    return transpose(self, reshape(self, projected, {-1, cut.area(), heads.count, heads.width}), order);
  };
  const Value q = by_head("query", {0, 2, 1, 3});
  const Value k = by_head("key", {0, 2, 3, 1});
  const Value v = by_head("value", {0, 2, 1, 3});
  Value scores = scaled_scores(self, q, k, heads);
  const Value pairs = attention_bias(self, cut, heads.count);
  if (cut.shift > 0) {
    scores = reshape(self, scores, {-1, cut.count(), heads.count, cut.area(), cut.area()});
    scores = reshape(self, add(self, scores, pairs), {-1, heads.count, cut.area(), cut.area()});
  } else {
    scores = add(self, scores, pairs);
  }
  const Value mixed = transpose(self, mix_values(self, scores, v), {0, 2, 1, 3});
  return linear(attention / "output" / "dense", reshape(self, mixed, {-1, cut.area(), inner}), square);
}

// torch.roll by -shift along an axis of extent `extent`.
Value roll(const Module& at, const Value& input, std::int64_t axis, std::int64_t shift, std::int64_t extent) {
  const std::int64_t cut = ((shift % extent) + extent) % extent;
  return concat(at, {slice(at, input, axis, cut, extent), slice(at, input, axis, 0, cut)}, axis);
}

Result<Value> swin_layer(const Module& layer, const TokenGrid& grid, Heads heads, const SwinSizes& sizes,
                         std::int64_t shift) {
  GraphBuilder& graph = layer.graph();
  const std::int64_t channels = grid.channels;
  const auto padded = [&](std::int64_t extent) { return (extent + sizes.window - 1) / sizes.window * sizes.window; };
  const Windows cut{sizes.window, shift, padded(grid.height), padded(grid.width)};

  Value image = layer_norm(layer / "layernorm_before", grid.tokens, channels, sizes.epsilon);
  image = reshape(layer, image, {-1, grid.height, grid.width, channels});
  const bool pads = cut.height != grid.height || cut.width != grid.width;
  if (pads) {
    image = layer.node("Pad",
                       {image, graph.integers({0, 0, 0, 0, 0, cut.height - grid.height, cut.width - grid.width, 0})});
  }
  if (shift > 0) image = roll(layer, roll(layer, image, 1, shift, cut.height), 2, shift, cut.width);
  const std::int64_t down = cut.height / cut.window;
  const std::int64_t across = cut.width / cut.window;
  Value windows = reshape(layer, image, {-1, down, cut.window, across, cut.window, channels});
  windows = reshape(layer, transpose(layer, windows, {0, 1, 3, 2, 4, 5}), {-1, cut.area(), channels});
  windows = window_attention(layer / "attention", windows, cut, heads, sizes.qkv_bias);
  image = reshape(layer, windows, {-1, down, across, cut.window, cut.window, channels});
  image = reshape(layer, transpose(layer, image, {0, 1, 3, 2, 4, 5}), {-1, cut.height, cut.width, channels});
  if (shift > 0) image = roll(layer, roll(layer, image, 1, -shift, cut.height), 2, -shift, cut.width);
  if (pads) image = slice(layer, slice(layer, image, 1, 0, grid.height), 2, 0, grid.width);
  const Value hidden = add(layer, grid.tokens, reshape(layer, image, {-1, grid.height * grid.width, channels}));

  const Value again = layer_norm(layer / "layernorm_after", hidden, channels, sizes.epsilon);
  const auto wide = static_cast<std::int64_t>(sizes.mlp_ratio * static_cast<float>(channels));
  const Module intermediate = layer / "intermediate";
  const Value up = linear(intermediate / "dense", again, {channels, wide});
  ASSAY_TRY(const Value active, activation(intermediate, up, sizes.act, sizes.act_key));
  return add(layer, hidden, linear(layer / "output" / "dense", active, {wide, channels}));
}

TokenGrid merge_patches(const Module& at, const TokenGrid& grid) {
  Value image = reshape(at, grid.tokens, {-1, grid.height, grid.width, grid.channels});
  if (grid.height % 2 != 0 || grid.width % 2 != 0) {
    image = at.node("Pad", {image, at.graph().integers({0, 0, 0, 0, 0, grid.height % 2, grid.width % 2, 0})});
  }
  std::vector<Value> parts;
  for (const std::int64_t column : {0, 1}) {
    for (const std::int64_t row : {0, 1}) {
      const Value rows = slice(at, image, 1, row, grid.height + 1, 2);
      parts.push_back(slice(at, rows, 2, column, grid.width + 1, 2));
    }
  }
  TokenGrid merged{{}, (grid.height + 1) / 2, (grid.width + 1) / 2, 2 * grid.channels};
  const std::int64_t joined = 4 * grid.channels;
  const Value tokens = reshape(at, concat(at, parts, 3), {-1, merged.height * merged.width, joined});
  const Value normed = layer_norm(at / "norm", tokens, joined, kDefaultEpsilon);
  merged.tokens = linear(at / "reduction", normed, {joined, merged.channels}, false);
  return merged;
}

}  // namespace

SwinSizes swin_sizes(const Config& config) {
  return {config.integer("window_size"), config.number("mlp_ratio"), config.number("layer_norm_eps"),
          config.flag("qkv_bias"),       config.text("hidden_act"),  config.path("hidden_act"),
          config.path("window_size")};
}

Result<TokenGrid> swin_stage(const Module& stage, TokenGrid grid, std::int64_t depth, std::int64_t heads,
                             const SwinSizes& sizes, bool merge) {
  const std::int64_t side = std::min(grid.height, grid.width);
  if (side < sizes.window) {
    // The table of relative positions is for whole windows.
    return unsupported(sizes.window_key, std::to_string(sizes.window),
                       fmt::format("larger than a stage of {} x {} tokens", grid.height, grid.width));
  }
  if (grid.channels % heads != 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a stage of {} channels is not a multiple of {} heads", grid.channels, heads));
  }
  for (std::int64_t i = 0; i < depth; ++i) {
    const std::int64_t shift = i % 2 == 0 || side == sizes.window ? 0 : sizes.window / 2;
    const Module layer = stage / fmt::format("blocks.{}", i);
    ASSAY_TRY(grid.tokens, swin_layer(layer, grid, {heads, grid.channels / heads}, sizes, shift));
  }
  return merge ? merge_patches(stage / "downsample", grid) : grid;
}

}  // namespace assay::zoo
