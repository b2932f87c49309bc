// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/towers/llava.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/zoo/fake_checkpoint.hpp"

namespace assay::zoo {
namespace {
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::vector<ImageExtents> kResolutions = {{32, 64}, {64, 32}, {64, 64}, {96, 32}};

ImageTiles tiles(std::int64_t height, std::int64_t width) {
  return tile_image({height, width}, kResolutions, 32).value();
}

TEST(ImageTiles, KeepTheMostOfAnImageThenWasteTheLeast) {
  EXPECT_EQ(tiles(28, 58).rows, 1);
  EXPECT_EQ(tiles(28, 58).columns, 2);
  EXPECT_EQ(tiles(64, 55).count(), 5);  // 64 x 64
  EXPECT_EQ(tiles(300, 90).rows, 3);    // 96 x 32
  EXPECT_EQ(tiles(10, 10).count(), 3) << "all keep it whole: the first of those that waste the least";
}

TEST(ImageTiles, AGridThatTheTowerDoesNotFillIsRefused) {
  EXPECT_EQ(tile_image({10, 10}, {{48, 64}}, 32).error().message, "unsupported: image_grid_pinpoints = [48, 64]");
}

// Two tiles of 2 x 2 tokens beside each other, of an image half as high: the upper and the lower half line are padding.
TEST(ImageTiles, PaddingIsLeftOutAndEachLineEnds) {
  EXPECT_THAT(order_of_tokens({64, 64}, {1, 1}, 2), ElementsAre(0, 1, 2, 3, 4, 5, -1, 6, 7, -1));
  EXPECT_THAT(order_of_tokens({32, 64}, {1, 2}, 2), ElementsAre(0, 1, 2, 3, 4, 5, 8, 9, -1, 6, 7, 10, 11, -1));
  EXPECT_THAT(order_of_tokens({64, 16}, {1, 1}, 4), SizeIs(16 + 4 * 3)) << "one of four columns and one of padding";
}

class Llava : public ZooTest {};

TEST_F(Llava, ADecodeHoldsNoTower) {
  BuildRequest request;
  request.config = golden_config("llava_next");
  request.part = Part::kDecode;
  const Result<BuiltModel> decode = build(request, path("model.onnx"));
  ASSERT_TRUE(decode) << to_string(decode.error());
  EXPECT_THAT(decode->inputs, SizeIs(6));
  EXPECT_THAT(decode->inputs, ElementsAre("input_ids", "attention_mask", StartsWith("past_key_values.0."),
                                          StartsWith("past_key_values.0."), StartsWith("past_key_values.1."),
                                          StartsWith("past_key_values.1.")));
}

TEST_F(Llava, BoundSizesAreInTheModelsIdentity) {
  BuildRequest request;
  request.config = golden_config("llava_next");
  const auto hash_with = [&](std::int64_t height) {
    Tensor sizes = Tensor::create(DType::kInt64, {1, 2}).value();
    const std::vector<std::int64_t> extents{height, 64};
    std::copy_n(std::as_bytes(std::span(extents)).begin(), sizes.bytes().size(), sizes.bytes().begin());
    request.constants["image_sizes"] = std::move(sizes);
    request.input_shapes = {{"input_ids", {1, 60}}, {"pixel_values", {1, 5, 3, 32, 32}}};
    const Result<BuiltModel> built = build(request, path("model.onnx"));
    EXPECT_TRUE(built) << to_string(built.error());
    return built->config_hash;
  };
  EXPECT_NE(hash_with(64), hash_with(32));
}

TEST_F(Llava, RefusesWhatItCannotPlace) {
  const auto refusal = [&](const char* golden, const char* key, const Json& value) {
    Json config = golden_config(golden);
    config[key] = value;
    const Result<BuiltModel> built = build_seeded(config);
    return built ? std::string() : built.error().message;
  };
  EXPECT_THAT(refusal("llava", "vision_feature_layer", 4), HasSubstr("expected integers from -4 to 3"));
  EXPECT_THAT(refusal("llava", "vision_feature_layer", "last"), HasSubstr("expected integers from -4 to 3"));
  EXPECT_EQ(refusal("llava", "vision_feature_layer", 3), "");
  EXPECT_EQ(refusal("llava", "vision_feature_layer", {1, -1}), "");
  EXPECT_THAT(refusal("llava", "projector_hidden_act", "wave"), HasSubstr("projector_hidden_act = wave"));
  EXPECT_THAT(refusal("llava_next", "vision_feature_select_strategy", "full"), StartsWith("unsupported: "));
  EXPECT_THAT(refusal("llava_next", "image_grid_pinpoints", {{40, 64}}),
              "unsupported: image_grid_pinpoints = [40, 64]");
  EXPECT_THAT(refusal("llava_next", "image_grid_pinpoints", {{-1, 64}}), HasSubstr("expected pairs"));
  EXPECT_THAT(refusal("llava_next", "image_grid_pinpoints", {{1048576, 1048576}}), StartsWith("unsupported: "));
}

}  // namespace
}  // namespace assay::zoo
