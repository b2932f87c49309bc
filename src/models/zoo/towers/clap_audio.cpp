// SPDX-License-Identifier: Apache-2.0
// transformers' modeling_clap.py: the audio tower, Swin over a spectrogram that is folded into a square image.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/towers/clap.hpp"
#include "models/zoo/vision/swin_stages.hpp"

namespace assay::zoo {
namespace {

constexpr float kClapEpsilon = 1e-5F;
constexpr std::int64_t kUsualFrames = 1001;  ///< ten seconds, as the checkpoints' feature extractor gives them
constexpr const char* kInput = "input_features";

// torch's bicubic interpolation along the frames with aligned corners (A = -0.75): four neighbours, weighted.
Value stretch(const Module& at, const Value& input, std::int64_t from, std::int64_t to) {
  constexpr float kA = -0.75F;
  const auto near = [](float x) { return ((kA + 2.0F) * x - (kA + 3.0F)) * x * x + 1.0F; };
  const auto far = [](float x) { return ((kA * x - 5.0F * kA) * x + 8.0F * kA) * x - 4.0F * kA; };
  const float step = to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1) : 0.0F;
  std::vector<std::int64_t> rows[4];
  std::vector<float> weights[4];
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = step * static_cast<float>(i);
    const auto floor = static_cast<std::int64_t>(std::floor(place));
    const float t = place - static_cast<float>(floor);
    const float by[4] = {far(t + 1.0F), near(t), near(1.0F - t), far(2.0F - t)};
    for (std::int64_t tap = 0; tap < 4; ++tap) {
      rows[tap].push_back(std::clamp<std::int64_t>(floor - 1 + tap, 0, from - 1));
      weights[tap].push_back(by[tap]);
    }
  }
  std::optional<Value> sum;
  for (std::size_t tap = 0; tap < 4; ++tap) {
    const Value taken = at.node("Gather", {input, constant_ids(at, fmt::format("frames.{}", tap), {to}, rows[tap])},
                                {{"axis", std::int64_t{2}}});
    const Value part = multiply(at, taken, constant(at, fmt::format("weights.{}", tap), {to, 1}, weights[tap]));
    sum = sum ? add(at, *sum, part) : part;
  }
  return *sum;
}

struct Spectrogram {
  Value features;
  std::int64_t frames = 0, mels = 0, side = 0, fold = 0;
};

Result<Spectrogram> take_spectrogram(const Config& config, Inputs& inputs, const std::string& batch) {
  Spectrogram sound;
  sound.mels = config.integer("num_mel_bins");
  sound.side = config.integer("spec_size");
  sound.fold = sound.side / sound.mels;
  if (sound.fold < 1 || sound.fold * sound.mels != sound.side) {
    return unsupported(config.path("num_mel_bins"), std::to_string(sound.mels),
                       fmt::format("{} = {} is not a multiple of it", config.path("spec_size"), sound.side));
  }
  const std::int64_t longest = sound.side * sound.fold;
  sound.frames = std::min(kUsualFrames, longest);
  if (const std::optional<Shape> asked = inputs.shape(kInput); asked && asked->size() == 4) {
    sound.frames = (*asked)[2];
  }
  if (sound.frames < 1 || sound.frames > longest) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} frames: expected 1 to {}", kInput, sound.frames, longest));
  }
  ASSAY_TRY(sound.features, inputs.take(kInput, {DType::kFloat32}, {batch, std::int64_t{1}, sound.frames, sound.mels}));
  return sound;
}

// [B, 1, side, side]: pieces of the time axis stand below each other, each with its frequencies.
Value fold(const Module& at, const Spectrogram& sound) {
  const std::int64_t longest = sound.side * sound.fold;
  Value normed = transpose(at, sound.features, {0, 3, 2, 1});
  normed = transpose(at, batch_norm(at / "batch_norm", normed, sound.mels), {0, 3, 2, 1});
  if (sound.frames < longest) normed = stretch(at / "resize", normed, sound.frames, longest);
  const Value pieces = reshape(at, normed, {0, sound.fold, longest / sound.fold, sound.mels});
  return reshape(at, transpose(at, pieces, {0, 1, 3, 2}), {0, 1, sound.side, sound.side});
}

Result<TokenGrid> embed(const Module& at, const Config& config, const Value& image, std::int64_t side) {
  const auto [patch_height, patch_width] = config.pair("patch_size");
  const auto [stride_height, stride_width] = config.pair("patch_stride");
  const std::int64_t hidden = config.integer("patch_embeds_hidden_size");
  const std::int64_t pad_height = (patch_height - stride_height) / 2;
  const std::int64_t pad_width = (patch_width - stride_width) / 2;
  if (patch_height < stride_height || patch_width < stride_width) {
    return unsupported(config.path("patch_stride"), fmt::format("{} x {}", stride_height, stride_width));
  }
  const auto extent = [&](std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    return side + 2 * pad < kernel ? 0 : (side + 2 * pad - kernel) / stride + 1;
  };
  const std::int64_t height = extent(patch_height, stride_height, pad_height);
  const std::int64_t width = extent(patch_width, stride_width, pad_width);
  if (height != side / stride_height || width != side / stride_width || height < 1 || width < 1) {
    return unsupported(config.path("patch_size"), fmt::format("{} x {}", patch_height, patch_width));
  }
  const Module projection = at / "proj";
  const Value grid =
      at.node("Conv",
              {image, projection.parameter("weight", {hidden, 1, patch_height, patch_width}, Role::kWeight),
               projection.parameter("bias", {hidden}, Role::kBias)},
              {{"kernel_shape", std::vector<std::int64_t>{patch_height, patch_width}},
               {"strides", std::vector<std::int64_t>{stride_height, stride_width}},
               {"pads", std::vector<std::int64_t>{pad_height, pad_width, pad_height, pad_width}}});
  Value tokens = transpose(at, reshape(at, grid, {0, hidden, height * width}), {0, 2, 1});
  if (config.flag("enable_patch_layer_norm")) tokens = layer_norm(at / "norm", tokens, hidden, kClapEpsilon);
  return TokenGrid{tokens, height, width, hidden};
}

}  // namespace

Result<Tower> clap_audio_tower(const Module& base, const Config& config, Inputs& inputs, const std::string& batch) {
  const Module at = base / "audio_encoder";
  const std::vector<std::int64_t> depths = config.integers("depths");
  const std::vector<std::int64_t> heads = config.integers("num_attention_heads");
  if (depths.size() != heads.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} stages, {} has {}: they must be as many", config.path("depths"), depths.size(),
                            config.path("num_attention_heads"), heads.size()));
  }
  ASSAY_TRY(const Spectrogram sound, take_spectrogram(config, inputs, batch));
  ASSAY_TRY(TokenGrid grid, embed(at / "patch_embed", config, fold(at, sound), sound.side));
  const SwinSizes sizes = swin_sizes(config);
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const bool merge = i + 1 < depths.size();
    // transformers counts on halves without a rest.
    if (merge && (grid.height % 2 != 0 || grid.width % 2 != 0)) {
      return unsupported(config.path("depths"), fmt::format("{} stages", depths.size()));
    }
    ASSAY_TRY(grid, swin_stage(at / fmt::format("layers.{}", i), grid, depths[i], heads[i], sizes, merge));
  }
  if (config.integer("hidden_size") != grid.channels) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} = {}, the last stage has {} channels", config.path("hidden_size"),
                            config.integer("hidden_size"), grid.channels));
  }
  const Value hidden = layer_norm(at / "norm", grid.tokens, grid.channels, kClapEpsilon);
  return Tower{hidden, grid.height * grid.width, grid.channels, mean(at, hidden, {1}), grid.channels};
}

}  // namespace assay::zoo
