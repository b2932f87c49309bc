// SPDX-License-Identifier: Apache-2.0
#include "zoo/vision/backbones.hpp"

#include <fmt/format.h>

#include "zoo/layers/blocks.hpp"

namespace assay::zoo {

void give_class_logits(BuildContext& context, const Module& classifier, const Value& pooled, std::int64_t width) {
  const std::int64_t labels = context.config.label_count();
  const Value logits = labels == 0 ? pooled : linear_rank2(classifier, pooled, {width, labels});
  context.graph().output("logits", logits, {"batch", labels == 0 ? width : labels});
}

Result<FeatureMap> take_image(BuildContext& context, std::int64_t channels, const std::string& batch) {
  constexpr const char* kName = "pixel_values";
  std::int64_t height = context.config.architecture().description["image_size"];
  std::int64_t width = height;
  if (const std::optional<Shape> asked = context.inputs.shape(kName); asked && asked->size() == 4) {
    height = (*asked)[2];
    width = (*asked)[3];
    if (height < 1 || width < 1) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("input {} has shape {}", kName, to_string(*asked)));
    }
  }
  ASSAY_TRY(const Value pixels, context.inputs.take(kName, {DType::kFloat32}, {batch, channels, height, width}));
  return FeatureMap{pixels, channels, height, width};
}

}  // namespace assay::zoo
