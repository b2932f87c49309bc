// SPDX-License-Identifier: Apache-2.0
// transformers' SpeechT5HifiGan: a spectrogram made longer by transposed convolutions, each followed by the mean of
// several stacks of dilated convolutions.
#include <fmt/format.h>

#include "models/zoo/audio/audio.hpp"
#include "models/zoo/audio/audio_skeletons.hpp"
#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {
namespace {

constexpr std::int64_t kMostDilations = 64;

struct HifiganSizes {
  std::int64_t bands, channels;
  Integers rates, rate_kernels, kernels;
  std::vector<Integers> dilations;  ///< one list for each stack
  float slope;
};

Result<HifiganSizes> read_hifigan_sizes(const Config& config) {
  HifiganSizes sizes{config.integer("model_in_dim"),           config.integer("upsample_initial_channel"),
                     config.integers("upsample_rates"),        config.integers("upsample_kernel_sizes"),
                     config.integers("resblock_kernel_sizes"), {},
                     config.number("leaky_relu_slope")};
  const Json& lists = config.json("resblock_dilation_sizes");
  const auto wrong = [&](const std::string& expected) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("resblock_dilation_sizes = {}: expected {}", lists.dump(), expected));
  };
  if (!lists.is_array() || lists.size() != sizes.kernels.size())
    return wrong("as many lists as resblock_kernel_sizes has entries");
  for (const Json& list : lists) {
    if (!list.is_array() || list.empty() || list.size() > kMostDilations) return wrong("lists of integers");
    Integers dilations;
    for (const Json& item : list) {
      if (!item.is_number_integer() || item < 1 || item > 65536) return wrong("integers from 1 to 65536");
      dilations.push_back(item);
    }
    sizes.dilations.push_back(std::move(dilations));
  }
  if (sizes.rates.size() != sizes.rate_kernels.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("upsample_rates has {} entries, upsample_kernel_sizes {}: they must be as many",
                            sizes.rates.size(), sizes.rate_kernels.size()));
  }
  for (std::size_t i = 0; i < sizes.rates.size(); ++i) {
    if (sizes.rate_kernels[i] < sizes.rates[i]) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("upsample_kernel_sizes has {}, below its rate {}",
                                                           sizes.rate_kernels[i], sizes.rates[i]));
    }
  }
  if (sizes.channels >> sizes.rates.size() < 1) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("upsample_initial_channel = {} cannot be halved {} times",
                                                         sizes.channels, sizes.rates.size()));
  }
  for (const std::int64_t kernel : sizes.kernels) {
    if (kernel % 2 == 0) return unsupported("resblock_kernel_sizes", std::to_string(kernel));
  }
  return sizes;
}

Value leaky(const Module& at, const Value& input, float slope) {
  return at.node("LeakyRelu", {input}, {{"alpha", slope}});
}

Value convolve_sound(const Module& at, const Value& input, std::int64_t in, std::int64_t out, std::int64_t kernel,
                     std::int64_t dilation) {
  const std::int64_t padding = (kernel - 1) * dilation / 2;
  return convolution_1d(at, input,
                        {.in = in,
                         .out = out,
                         .kernel = kernel,
                         .dilation = dilation,
                         .padding_left = padding,
                         .padding_right = padding});
}

// torch.nn.ConvTranspose1d: weight [in, out, kernel], bias [out].
Value lengthen(const Module& at, const Value& input, std::int64_t in, std::int64_t out, std::int64_t kernel,
               std::int64_t rate) {
  const std::int64_t padding = (kernel - rate) / 2;
  return at.node(
      "ConvTranspose",
      {input, at.parameter("weight", {in, out, kernel}, Role::kWeight), at.parameter("bias", {out}, Role::kBias)},
      {{"kernel_shape", Integers{kernel}}, {"strides", Integers{rate}}, {"pads", Integers(2, padding)}});
}

Value residual_stack(const Module& at, const Value& input, std::int64_t channels, std::int64_t kernel,
                     const Integers& dilations, float slope) {
  Value hidden = input;
  for (std::size_t i = 0; i < dilations.size(); ++i) {
    const Module first = at / fmt::format("convs1.{}", i);
    const Module second = at / fmt::format("convs2.{}", i);
    Value step = convolve_sound(first, leaky(first, hidden, slope), channels, channels, kernel, dilations[i]);
    step = convolve_sound(second, leaky(second, step, slope), channels, channels, kernel, 1);
    hidden = at.node("Add", {step, hidden});
  }
  return hidden;
}

}  // namespace

Status build_hifigan_vocoder(BuildContext& context) {
  const Config& config = context.config;
  GraphBuilder& graph = context.graph();
  const Module& model = context.model;
  ASSAY_TRY(const HifiganSizes sizes, read_hifigan_sizes(config));
  ASSAY_TRY(Value hidden, context.inputs.take("spectrogram", {DType::kFloat32}, {"batch", "sequence", sizes.bands}));
  const Value mean = model.parameter("mean", {sizes.bands}, Role::kMean);
  const Value scale = model.parameter("scale", {sizes.bands}, Role::kVariance);
  if (config.flag("normalize_before")) hidden = model.node("Div", {model.node("Sub", {hidden, mean}), scale});
  hidden = convolve_sound(model / "conv_pre", channels_last(model, hidden), sizes.bands, sizes.channels, 7, 1);

  std::int64_t channels = sizes.channels;
  const std::size_t stacks = sizes.kernels.size();
  for (std::size_t i = 0; i < sizes.rates.size(); ++i) {
    const Module up = model / fmt::format("upsampler.{}", i);
    hidden =
        lengthen(up, leaky(up, hidden, sizes.slope), channels, channels / 2, sizes.rate_kernels[i], sizes.rates[i]);
    channels /= 2;
    std::optional<Value> sum;
    for (std::size_t j = 0; j < stacks; ++j) {
      const Module stack = model / fmt::format("resblocks.{}", i * stacks + j);
      const Value one = residual_stack(stack, hidden, channels, sizes.kernels[j], sizes.dilations[j], sizes.slope);
      sum = sum ? stack.node("Add", {*sum, one}) : one;
    }
    hidden = up.node("Div", {*sum, graph.number(static_cast<float>(stacks))});
  }
  const Module post = model / "conv_post";
  hidden = convolve_sound(post, leaky(post, hidden, 0.01F), channels, 1, 7, 1);  // the slope is torch's own here
  hidden = post.node("Squeeze", {post.node("Tanh", {hidden}), graph.integers({1})});
  graph.output("output", hidden, {"batch", "samples"});
  return {};
}

}  // namespace assay::zoo
