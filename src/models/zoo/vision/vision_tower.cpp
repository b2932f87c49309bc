// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/vision/vision_tower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::zoo {

VisionStyle vision_style(const Architecture& architecture) {
  const VisionSpec& spec = architecture.vision;
  VisionStyle style;
  style.patch = spec.patch;
  style.patch_bias = spec.patch_bias;
  style.class_token = spec.class_token;
  style.extra_tokens = spec.extra_tokens;
  style.positions = spec.positions;
  style.pre_norm = spec.pre_norm;
  style.layers = spec.layers;
  style.final_norm = spec.final_norm;
  style.flat = spec.flat;
  style.extra_positions = spec.extra_positions;
  style.interpolation = spec.interpolation;
  return style;
}

Result<VisionSizes> vision_sizes(const Config& config) {
  VisionSizes sizes;
  ASSAY_TRY(sizes.layer, layer_sizes(config));
  sizes.layers = config.integer("num_hidden_layers");
  sizes.channels = config.integer("num_channels");
  std::tie(sizes.height, sizes.width) = config.pair("image_size");
  std::tie(sizes.patch_height, sizes.patch_width) = config.pair("patch_size");
  if (sizes.patches() < 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} = {} x {} is larger than image_size = {} x {}", config.path("patch_size"),
                            sizes.patch_height, sizes.patch_width, sizes.height, sizes.width));
  }
  return sizes;
}

Value patch_tokens(const Module& base, const Value& pixels, const VisionSizes& sizes, const VisionStyle& style) {
  const Module patch = base.at(style.patch);
  const Value grid = convolution(patch, pixels,
                                 {sizes.channels, sizes.layer.hidden, sizes.patch_height, sizes.patch_width,
                                  sizes.patch_height, sizes.patch_width, 0, style.patch_bias});
  const Value flat = patch.node("Reshape", {grid, base.graph().integers({0, sizes.layer.hidden, sizes.patches()})});
  return patch.node("Transpose", {flat}, {{"perm", Integers{0, 2, 1}}});
}

namespace {

struct Taps {
  std::vector<std::int64_t> places;
  std::vector<float> weights;
};

// What each new place is made of. Keys' cubic convolution with A = -0.75; antialiased: with A = -0.5, over a window
// that grows with the reduction.
std::vector<Taps> bicubic_taps(std::int64_t from, std::int64_t to, bool antialias) {
  const float a = antialias ? -0.5F : -0.75F;
  const auto cubic = [a](float x) {
    x = std::abs(x);
    if (x < 1.0F) return ((a + 2.0F) * x - (a + 3.0F)) * x * x + 1.0F;
    if (x < 2.0F) return ((a * x - 5.0F * a) * x + 8.0F * a) * x - 4.0F * a;
    return 0.0F;
  };
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<Taps> all(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    Taps& taps = all[static_cast<std::size_t>(i)];
    if (!antialias) {
      const float place = scale * (static_cast<float>(i) + 0.5F) - 0.5F;
      const float floor = std::floor(place);
      for (std::int64_t tap = -1; tap <= 2; ++tap) {
        taps.places.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(floor) + tap, 0, from - 1));
        taps.weights.push_back(cubic(place - floor - static_cast<float>(tap)));
      }
      continue;
    }
    const float support = scale >= 1.0F ? 2.0F * scale : 2.0F;
    const float inverse = scale >= 1.0F ? 1.0F / scale : 1.0F;
    const float center = scale * (static_cast<float>(i) + 0.5F);
    // Cut, not rounded: what lies below zero is out of the image anyway.
    const float begin = center - support + 0.5F;
    const float end = center + support + 0.5F;
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(begin), 0);
    const auto last = std::min<std::int64_t>(static_cast<std::int64_t>(end), from);
    float total = 0.0F;
    for (std::int64_t place = first; place < last; ++place) {
      taps.places.push_back(place);
      taps.weights.push_back(cubic((static_cast<float>(place) - center + 0.5F) * inverse));
      total += taps.weights.back();
    }
    for (float& weight : taps.weights) weight /= total;
  }
  return all;
}

}  // namespace

std::vector<float> resize_positions(std::span<const float> square, std::int64_t rows, std::int64_t width,
                                    std::int64_t new_rows, std::int64_t new_columns, bool antialias) {
  const std::vector<Taps> down = bicubic_taps(rows, new_rows, antialias);
  const std::vector<Taps> across = bicubic_taps(rows, new_columns, antialias);
  const auto at = [width](std::int64_t place) { return static_cast<std::size_t>(place * width); };
  std::vector<float> wide(at(rows * new_columns), 0.0F);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < new_columns; ++column) {
      const Taps& taps = across[static_cast<std::size_t>(column)];
      for (std::size_t tap = 0; tap < taps.places.size(); ++tap) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
          wide[at(row * new_columns + column) + i] += taps.weights[tap] * square[at(row * rows + taps.places[tap]) + i];
        }
      }
    }
  }
  std::vector<float> result(at(new_rows * new_columns), 0.0F);
  for (std::int64_t row = 0; row < new_rows; ++row) {
    const Taps& taps = down[static_cast<std::size_t>(row)];
    for (std::size_t tap = 0; tap < taps.places.size(); ++tap) {
      for (std::size_t i = 0; i < at(new_columns); ++i) {
        result[at(row * new_columns) + i] += taps.weights[tap] * wide[at(taps.places[tap] * new_columns) + i];
      }
    }
  }
  return result;
}

namespace {

// Positions of all tokens. Shape: [1, tokens, hidden].
Value positions(const Module& base, const VisionSizes& sizes, const VisionStyle& style) {
  const std::int64_t hidden = sizes.layer.hidden;
  const std::int64_t first = style.class_token.empty() ? 0 : 1;
  const std::int64_t patches = sizes.patches();
  const std::int64_t extra = sizes.extra_tokens;
  const Shape shape{1, first + extra + patches, hidden};
  if (!style.interpolates && (style.extra_positions || extra == 0)) {
    const Shape flat{first + extra + patches, hidden};
    return base.viewed_parameter(style.positions, style.flat ? flat : shape, shape, Role::kTable);
  }
  // The extra tokens have no positions: rows of zeros.
  const std::int64_t rows = style.stored_rows;
  const std::int64_t stored = style.interpolates ? rows * rows : patches;
  const auto compute = [=, to_rows = sizes.rows(), to_columns = sizes.columns(), interpolates = style.interpolates,
                        antialias = style.interpolation == "bicubic_antialias"](const std::vector<float>& all) {
    const auto leading = static_cast<std::ptrdiff_t>(first * hidden);
    std::vector<float> result(all.begin(), all.begin() + leading);
    result.resize(result.size() + static_cast<std::size_t>(extra * hidden), 0.0F);
    const std::span<const float> square = std::span(all).subspan(static_cast<std::size_t>(leading));
    if (interpolates) {
      const std::vector<float> resized = resize_positions(square, rows, hidden, to_rows, to_columns, antialias);
      result.insert(result.end(), resized.begin(), resized.end());
    } else {
      result.insert(result.end(), square.begin(), square.end());
    }
    return result;
  };
  return base.derived_parameter(style.positions, {1, first + stored, hidden}, Role::kTable, "tokens", shape, compute);
}

// The class token is added to a row of zeros: that needs no batch extent, and runtimes fold the sum with the positions
// into one constant.
Value with_tokens(const Module& base, const Value& patches, const VisionSizes& sizes, const VisionStyle& style) {
  GraphBuilder& graph = base.graph();
  const std::int64_t hidden = sizes.layer.hidden;
  const Module at = base / "embeddings";
  const std::int64_t tokens = (style.class_token.empty() ? 0 : 1) + sizes.extra_tokens;
  Value all = patches;
  std::optional<Value> sum;
  const auto add = [&](const Value& value) { sum = sum ? at.node("Add", {*sum, value}) : value; };
  if (tokens > 0) all = at.node("Pad", {patches, graph.integers({0, tokens, 0, 0, 0, 0})});
  const std::int64_t behind = sizes.patches();
  if (!style.class_token.empty()) {
    const Shape stored = style.flat ? Shape{hidden} : Shape{1, 1, hidden};
    add(at.node("Pad", {base.viewed_parameter(style.class_token, stored, {1, 1, hidden}, Role::kTable),
                        graph.integers({0, 0, 0, 0, sizes.extra_tokens + behind, 0})}));
  }
  if (sizes.extra_tokens > 0) {
    const Value extra = base.parameter(style.extra_tokens, {1, sizes.extra_tokens, hidden}, Role::kTable);
    add(at.node("Pad", {extra, graph.integers({0, tokens - sizes.extra_tokens, 0, 0, behind, 0})}));
  }
  if (!style.positions.empty()) add(positions(base, sizes, style));
  return sum ? at.node("Add", {all, *sum}) : all;
}

}  // namespace

Value embed_image(const Module& base, const Value& pixels, const VisionSizes& sizes, const VisionStyle& style) {
  Value tokens = with_tokens(base, patch_tokens(base, pixels, sizes, style), sizes, style);
  if (style.pre_norm.empty()) return tokens;
  return layer_norm(base.at(style.pre_norm), tokens, sizes.layer.hidden, sizes.layer.epsilon);
}

Result<Value> image_layers(const Module& base, const Value& input, std::int64_t first, std::int64_t last,
                           const VisionSizes& sizes, const VisionStyle& style, const LayerNames& names,
                           const LayerHooks& hooks) {
  Value hidden = input;
  for (std::int64_t i = first; i < last; ++i) {
    const Module layer = base.at(fmt::format("{}.{}", style.layers, i));
    ASSAY_TRY(hidden, pre_norm_layer(layer, hidden, names, sizes.layer, hooks));
  }
  return hidden;
}

Result<Value> encode_image(const Module& base, const Value& pixels, const VisionSizes& sizes, const VisionStyle& style,
                           const LayerNames& names, const LayerHooks& hooks) {
  const Value embedded = embed_image(base, pixels, sizes, style);
  return image_layers(base, embedded, 0, sizes.layers, sizes, style, names, hooks);
}

}  // namespace assay::zoo
