// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/towers/llava.hpp"
#include "models/zoo/vision/vision_tower.hpp"

namespace assay::zoo {
namespace {

constexpr std::int64_t kMostPixels = 1 << 20;  ///< limit of an image's height and width
constexpr std::int64_t kMostTokens = 1 << 20;  ///< limit of the number of tokens of an image

// How many layers each of the wanted states has behind it: "vision_feature_layer", a number or a list of them, counted
// from the input's embeddings, negative ones from the end.
Result<std::vector<std::int64_t>> feature_layers(const Config& config, std::int64_t layers) {
  const Json& value = config.json("vision_feature_layer");
  std::vector<std::int64_t> found;
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    const std::int64_t index = one.is_number_integer() ? one.get<std::int64_t>() : INT64_MAX;
    if (index > layers || index < -layers - 1) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("vision_feature_layer = {}: expected integers from {} to {}",
                                                           shown(value), -layers - 1, layers));
    }
    found.push_back(index < 0 ? layers + 1 + index : index);
  }
  if (found.empty()) return unsupported("vision_feature_layer", "[]");
  return found;
}

// What the tower has and no feature is made of.
void leave_rest(const Module& tower, const VisionSizes& sizes, const VisionStyle& style, std::int64_t first) {
  Parameters& parameters = tower.parameters();
  for (std::int64_t i = first; i < sizes.layers; ++i) {
    parameters.unused_below(tower.at(fmt::format("{}.{}", style.layers, i)).name_of(""));
  }
  for (const std::string& part : {style.final_norm, std::string("head")}) {
    parameters.unused_below(tower.at(part).name_of(""));
  }
}

// What the decoder sees of each image, projected to its width. Shape: [images, tokens, width].
struct ProjectedImages {
  Value rows;
  std::int64_t tokens = 0;
};

Result<ProjectedImages> project_images(BuildContext& context, const Module& base, const Value& pixels,
                                       const VisionSizes& sizes, std::int64_t width) {
  const Config& config = context.config;
  const Architecture& architecture = config.part("vision_config").architecture();
  const VisionStyle style = vision_style(architecture);
  const Module tower = base / "vision_tower";
  ASSAY_TRY(const std::vector<std::int64_t> wanted, feature_layers(config, sizes.layers));
  std::map<std::int64_t, Value> states;
  Value hidden = embed_image(tower, pixels, sizes, style);
  std::int64_t done = 0;
  for (const std::int64_t last : std::set(wanted.begin(), wanted.end())) {
    ASSAY_TRY(hidden, image_layers(tower, hidden, done, last, sizes, style, architecture.layer_names(), {}));
    states.emplace(last, hidden);
    done = last;
  }
  leave_rest(tower, sizes, style, done);

  const bool without_first = config.text("vision_feature_select_strategy") == "default";
  ProjectedImages projected;
  projected.tokens = sizes.patches() + (style.class_token.empty() ? 0 : 1) - (without_first ? 1 : 0);
  std::vector<Value> features;
  for (const std::int64_t layer : wanted) {
    const Value& state = states.at(layer);
    features.push_back(without_first ? slice(base, state, 1, 1, INT64_MAX) : state);
  }
  const Module projector = base / "multi_modal_projector";
  Value rows = features.size() == 1 ? features.front() : concat(projector, features, 2);
  const std::int64_t in = static_cast<std::int64_t>(wanted.size()) * sizes.layer.hidden;
  bool bias = true;
  if (config.architecture().varied<LlavaVariations>().projector_norm) {
    rows = layer_norm(projector / "projector_layernorm", rows, in, config.number("projector_layernorm_eps"));
  } else {
    bias = config.flag("multimodal_projector_bias");
  }
  rows = linear(projector / "linear_1", rows, {in, width}, bias);
  ASSAY_TRY(rows, activation(projector / "act", rows, config.text("projector_hidden_act"), "projector_hidden_act"));
  projected.rows = linear(projector / "linear_2", rows, {width, width}, bias);
  return projected;
}

Result<std::vector<ImageExtents>> resolutions(const Config& config) {
  const Json& value = config.json("image_grid_pinpoints");
  std::vector<ImageExtents> found;
  for (const Json& one : value) {
    const auto length = [&](std::size_t index) {
      return one[index].is_number_integer() ? one[index].get<std::int64_t>() : 0;
    };
    const bool pair = one.is_array() && one.size() == 2;
    if (!pair || std::min(length(0), length(1)) < 1 || std::max(length(0), length(1)) > kMostPixels) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("image_grid_pinpoints = {}: expected pairs of height and width", shown(value)));
    }
    found.push_back({length(0), length(1)});
  }
  if (!value.is_array() || found.empty()) return unsupported("image_grid_pinpoints", shown(value));
  return found;
}

// llava_next: tiles of images whose sizes are bound, or of one size for all: the tower's own square.
class TiledImages {
 public:
  [[nodiscard]] static Result<TiledImages> read(BuildContext& context, const VisionSizes& sizes) {
    const Config& config = context.config;
    if (config.text("vision_feature_select_strategy") != "default") {
      return unsupported("vision_feature_select_strategy", config.text("vision_feature_select_strategy"));
    }
    ASSAY_TRY(const std::vector<ImageExtents> among, resolutions(config));
    ASSAY_TRY(const std::optional<std::vector<std::int64_t>> bound, context.inputs.take_integers("image_sizes", 2));
    TiledImages images;
    if (bound) {
      for (std::size_t i = 0; i + 1 < bound->size(); i += 2) images.extents_.push_back({(*bound)[i], (*bound)[i + 1]});
    } else {
      images.extents_.push_back({sizes.height, sizes.width});
    }
    for (const ImageExtents& image : images.extents_) {
      if (std::min(image.height, image.width) < 1 || std::max(image.height, image.width) > kMostPixels) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("image_sizes: an image of {} x {} pixels: expected 1 to {} each", image.height,
                                image.width, kMostPixels));
      }
      ASSAY_TRY(const ImageTiles tiles, tile_image(image, among, sizes.height));
      if (tiles.count() > kMostTokens / sizes.patches()) {
        return unsupported("image_grid_pinpoints",
                           fmt::format("[{}, {}]", tiles.rows * sizes.height, tiles.columns * sizes.width),
                           fmt::format("an image is at most {} tokens", kMostTokens));
      }
      images.tiles_.push_back(tiles);
      images.most_ = std::max(images.most_, tiles.count());
    }
    if (images.tiles_.empty()) return unsupported("input", "image_sizes of no image");
    images.alike_ = std::all_of(images.extents_.begin(), images.extents_.end(), [&](const ImageExtents& image) {
      return image.height == images.extents_.front().height && image.width == images.extents_.front().width;
    });
    return images;
  }

  /// The tiles that are looked at. Shape: [tiles, C, H, W].
  [[nodiscard]] Result<Value> take_pixels(BuildContext& context, const VisionSizes& sizes) const {
    const std::optional<Shape> asked = context.inputs.shape("pixel_values");
    const std::int64_t given = asked && asked->size() == 5 ? (*asked)[1] : most_;
    if (given < most_) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("input pixel_values has shape {}: image_sizes needs {} tiles", to_string(*asked), most_));
    }
    const Extent batch = alike_ ? Extent("image_batch") : Extent(static_cast<std::int64_t>(tiles_.size()));
    ASSAY_TRY(Value pixels, context.inputs.take("pixel_values", {DType::kFloat32},
                                                {batch, given, sizes.channels, sizes.height, sizes.width}));
    const Module& at = context.model;
    if (alike_ && given > most_) pixels = slice(at, pixels, 1, 0, most_);
    pixels = reshape(at, pixels, {-1, sizes.channels, sizes.height, sizes.width});
    if (alike_) return pixels;
    std::vector<std::int64_t> used;
    for (std::size_t i = 0; i < tiles_.size(); ++i) {
      for (std::int64_t tile = 0; tile < tiles_[i].count(); ++tile) {
        used.push_back(static_cast<std::int64_t>(i) * given + tile);
      }
    }
    return at.node("Gather", {pixels, at.graph().integers(used)});
  }

  /// [tiles, tokens, width] → [rows, width].
  [[nodiscard]] Value order(const Module& base, const ProjectedImages& projected, std::int64_t width,
                            std::int64_t side) const {
    const Value end = base.viewed_parameter("image_newline", {width}, {1, width}, Role::kTable);
    if (alike_) {
      const std::int64_t tokens = most_ * projected.tokens;
      const Value all = reshape(base, projected.rows, {-1, tokens, width});
      const Value ends = for_each_row(base, reshape(base, end, {1, 1, width}), all, {1, width});
      const std::vector<std::int64_t> rows = places_of(0, side, 0, tokens);
      base.graph().metadata("assay.image_tokens", std::to_string(rows.size()));
      const Value places = base.graph().integers(rows);
      const Value chosen = base.node("Gather", {concat(base, {all, ends}, 1), places}, {{"axis", std::int64_t{1}}});
      return reshape(base, chosen, {-1, width});
    }
    std::int64_t tokens = 0;
    for (const ImageTiles& tiles : tiles_) tokens += tiles.count() * projected.tokens;
    std::vector<std::int64_t> places;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < tiles_.size(); ++i) {
      const std::vector<std::int64_t> more = places_of(i, side, first, tokens);
      places.insert(places.end(), more.begin(), more.end());
      first += tiles_[i].count() * projected.tokens;
    }
    const Value all = reshape(base, projected.rows, {-1, width});
    return base.node("Gather", {concat(base, {all, end}, 0), base.graph().integers(places)});
  }

 private:
  // Rows from `first` on, with `end` for the ends of lines.
  [[nodiscard]] std::vector<std::int64_t> places_of(std::size_t image, std::int64_t side, std::int64_t first,
                                                    std::int64_t end) const {
    std::vector<std::int64_t> places = order_of_tokens(extents_[image], tiles_[image], side);
    for (std::int64_t& place : places) place = place < 0 ? end : first + place;
    return places;
  }

  std::vector<ImageExtents> extents_;
  std::vector<ImageTiles> tiles_;
  std::int64_t most_ = 0;
  bool alike_ = true;  ///< then their number stays open
};

Result<Value> tiled_features(BuildContext& context, const Module& base, const VisionSizes& sizes, std::int64_t width) {
  if (sizes.height != sizes.width || sizes.rows() != sizes.columns()) {
    return unsupported("vision_config.image_size", fmt::format("{} x {}", sizes.height, sizes.width));
  }
  ASSAY_TRY(const TiledImages images, TiledImages::read(context, sizes));
  ASSAY_TRY(const Value pixels, images.take_pixels(context, sizes));
  ASSAY_TRY(const ProjectedImages projected, project_images(context, base, pixels, sizes, width));
  if (projected.tokens != sizes.patches()) {
    return unsupported("vision_config.model_type", context.config.part("vision_config").architecture().name);
  }
  return images.order(base, projected, width, sizes.rows());
}

}  // namespace

Result<ImageTiles> tile_image(ImageExtents image, const std::vector<ImageExtents>& resolutions, std::int64_t side) {
  ImageExtents best;
  std::int64_t most_kept = 0;
  std::int64_t least_wasted = INT64_MAX;
  const auto height = static_cast<double>(image.height);
  const auto width = static_cast<double>(image.width);
  for (const ImageExtents& one : resolutions) {
    const double scale = std::min(static_cast<double>(one.width) / width, static_cast<double>(one.height) / height);
    const std::int64_t scaled = static_cast<std::int64_t>(width * scale) * static_cast<std::int64_t>(height * scale);
    const std::int64_t kept = std::min(scaled, image.width * image.height);
    const std::int64_t wasted = one.width * one.height - kept;
    if (kept > most_kept || (kept == most_kept && wasted < least_wasted)) {
      most_kept = kept;
      least_wasted = wasted;
      best = one;
    }
  }
  if (best.height < side || best.height % side != 0 || best.width < side || best.width % side != 0) {
    return unsupported("image_grid_pinpoints", fmt::format("[{}, {}]", best.height, best.width),
                       fmt::format("it must be a multiple of the tower's {}", side));
  }
  return ImageTiles{best.height / side, best.width / side};
}

std::vector<std::int64_t> order_of_tokens(ImageExtents image, const ImageTiles& tiles, std::int64_t side) {
  const std::int64_t tile = side * side;
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < tile; ++i) order.push_back(i);
  // What of the grid is image: transformers' unpad_image, which rounds to seven digits before it cuts.
  std::int64_t height = tiles.rows * side;
  std::int64_t width = tiles.columns * side;
  const auto cut = [](double length) { return static_cast<std::int64_t>(std::round(length * 1e7) / 1e7); };
  const auto image_height = static_cast<double>(image.height);
  const auto image_width = static_cast<double>(image.width);
  std::int64_t top = 0;
  std::int64_t left = 0;
  if (image_width / image_height > static_cast<double>(width) / static_cast<double>(height)) {
    top = (height - cut(image_height * (static_cast<double>(width) / image_width))) / 2;
  } else {
    left = (width - cut(image_width * (static_cast<double>(height) / image_height))) / 2;
  }
  for (std::int64_t y = top; y < height - top; ++y) {
    for (std::int64_t x = left; x < width - left; ++x) {
      const std::int64_t which = 1 + (y / side) * tiles.columns + x / side;
      order.push_back(which * tile + (y % side) * side + x % side);
    }
    order.push_back(-1);
  }
  return order;
}

Result<Value> image_features(BuildContext& context, const Module& base, std::int64_t width) {
  ASSAY_TRY(const VisionSizes sizes, vision_sizes(context.config.part("vision_config")));
  if (context.config.architecture().varied<LlavaVariations>().tiles) return tiled_features(context, base, sizes, width);
  ASSAY_TRY(const Value pixels, context.inputs.take("pixel_values", {DType::kFloat32},
                                                    {"image_batch", sizes.channels, sizes.height, sizes.width}));
  ASSAY_TRY(const ProjectedImages projected, project_images(context, base, pixels, sizes, width));
  base.graph().metadata("assay.image_tokens", std::to_string(projected.tokens));
  return reshape(base, projected.rows, {-1, width});
}

void leave_images(BuildContext& context, const Module& base) {
  for (const char* input : {"pixel_values", "image_sizes"}) context.inputs.leave(input);
  for (const char* part : {"vision_tower", "multi_modal_projector"}) {
    base.parameters().unused_below((base / part).name_of(""));
  }
  base.parameters().unused(base.name_of("image_newline"));
}

}  // namespace assay::zoo
