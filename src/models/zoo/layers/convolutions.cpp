// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/convolutions.hpp"

#include <vector>

namespace assay::zoo {

Value grouped_convolution(const Module& at, const Value& input, const Convolution& shape, std::int64_t groups) {
  std::vector<Value> inputs = {
      input,
      at.parameter("weight", {shape.out, shape.in / groups, shape.kernel_height, shape.kernel_width}, Role::kWeight)};
  if (shape.bias) inputs.push_back(at.parameter("bias", {shape.out}, Role::kBias));
  return at.node("Conv", inputs,
                 {{"group", groups},
                  {"kernel_shape", Integers{shape.kernel_height, shape.kernel_width}},
                  {"strides", Integers{shape.stride_height, shape.stride_width}},
                  {"pads", Integers(4, shape.padding)}});
}

}  // namespace assay::zoo
