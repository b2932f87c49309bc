// SPDX-License-Identifier: Apache-2.0
// timm's resnet.py with its plain stem.
#include <fmt/format.h>

#include <map>

#include "core/base/text.hpp"
#include "models/zoo/layers/blocks.hpp"
#include "models/zoo/vision/backbones.hpp"

namespace assay::zoo {
namespace {

struct Plan {
  std::vector<std::int64_t> depths, widths;  ///< one for each of four stages; widths: before a bottleneck's expansion
  std::int64_t stem = 64;
  bool bottleneck = true;
};

constexpr std::int64_t kExpansion = 4;

const std::map<std::string, Plan>& plans() {
  static const std::map<std::string, Plan> all = {
      {"resnet18", {{2, 2, 2, 2}, {64, 128, 256, 512}, 64, false}},
      {"resnet34", {{3, 4, 6, 3}, {64, 128, 256, 512}, 64, false}},
      {"resnet50", {{3, 4, 6, 3}, {64, 128, 256, 512}, 64, true}},
      {"resnet101", {{3, 4, 23, 3}, {64, 128, 256, 512}, 64, true}},
      {"resnet152", {{3, 8, 36, 3}, {64, 128, 256, 512}, 64, true}},
  };
  return all;
}

// A narrowed network keeps its name: what counts are the tensors.
Plan from_tensors(const Module& base, Plan plan) {
  const auto shape = [&](const std::string& name) { return base.stored_shape(name + ".weight"); };
  if (const std::optional<Shape> stem = shape("conv1"); stem && stem->size() == 4) plan.stem = stem->front();
  for (std::size_t stage = 0; stage < plan.depths.size(); ++stage) {
    const auto block = [&](std::int64_t i) { return fmt::format("layer{}.{}.conv1", stage + 1, i); };
    const std::optional<Shape> first = shape(block(0));
    if (!first || first->size() != 4) return plan;
    plan.widths[stage] = first->front();
    std::int64_t depth = 1;
    while (shape(block(depth))) ++depth;
    plan.depths[stage] = depth;
  }
  return plan;
}

Value convolve_timm_resnet(const Module& at, const std::string& conv, const std::string& norm, const Value& input,
                           std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  const Value convolved = convolution(at.at(conv), input, {in, out, kernel, kernel, stride, stride, kernel / 2, false});
  return batch_norm(at.at(norm), convolved, out);
}

Value block(const Module& at, const Value& input, std::int64_t in, std::int64_t width, std::int64_t stride,
            bool bottleneck) {
  const std::int64_t out = bottleneck ? width * kExpansion : width;
  const auto relu = [&](const Value& x) { return at.node("Relu", {x}); };
  Value hidden;
  if (bottleneck) {
    hidden = relu(convolve_timm_resnet(at, "conv1", "bn1", input, in, width, 1, 1));
    hidden = relu(convolve_timm_resnet(at, "conv2", "bn2", hidden, width, width, 3, stride));
    hidden = convolve_timm_resnet(at, "conv3", "bn3", hidden, width, out, 1, 1);
  } else {
    hidden = relu(convolve_timm_resnet(at, "conv1", "bn1", input, in, width, 3, stride));
    hidden = convolve_timm_resnet(at, "conv2", "bn2", hidden, width, out, 3, 1);
  }
  const bool projected = in != out || stride != 1;
  const Value shortcut =
      projected ? convolve_timm_resnet(at, "downsample.0", "downsample.1", input, in, out, 1, stride) : input;
  return relu(at.node("Add", {hidden, shortcut}));
}

}  // namespace

Result<std::vector<FeatureMap>> timm_resnet_features(const Module& base, const std::string& name,
                                                     const std::string& key, const FeatureMap& pixels) {
  const auto known = plans().find(name.substr(0, name.find('.')));  // "resnet50.a1_in1k": the weights' tag
  if (known == plans().end()) return unsupported(key, sanitise(name), "built are resnet18 to resnet152");
  const Plan plan = from_tensors(base, known->second);
  const auto halved = [](std::int64_t extent) { return (extent - 1) / 2 + 1; };
  Value hidden = convolve_timm_resnet(base, "conv1", "bn1", pixels.value, pixels.channels, plan.stem, 7, 2);
  hidden = (base / "act1").node("Relu", {hidden});
  hidden = (base / "maxpool")
               .node("MaxPool", {hidden},
                     {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers(4, 1)}});
  FeatureMap map{hidden, plan.stem, halved(halved(pixels.height)), halved(halved(pixels.width))};
  std::vector<FeatureMap> maps;
  for (std::size_t stage = 0; stage < plan.depths.size(); ++stage) {
    const std::int64_t stride = stage == 0 ? 1 : 2;
    for (std::int64_t i = 0; i < plan.depths[stage]; ++i) {
      const Module at = base.at(fmt::format("layer{}", stage + 1)) / std::to_string(i);
      map.value = block(at, map.value, map.channels, plan.widths[stage], i == 0 ? stride : 1, plan.bottleneck);
      map.channels = plan.bottleneck ? plan.widths[stage] * kExpansion : plan.widths[stage];
    }
    if (stride == 2) {
      map.height = halved(map.height);
      map.width = halved(map.width);
    }
    maps.push_back(map);
  }
  return maps;
}

}  // namespace assay::zoo
