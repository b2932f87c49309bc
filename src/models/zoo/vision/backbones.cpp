// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/vision/backbones.hpp"

#include <fmt/format.h>

namespace assay::zoo {

Result<FeatureMap> take_image(BuildContext& context, std::int64_t channels, const std::string& batch) {
  constexpr const char* kName = "pixel_values";
  std::int64_t height = context.config.architecture().image_size;
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
