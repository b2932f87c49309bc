// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/tensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace assay {
namespace {
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(DType, NamesGoBothWaysAndUnknownNumbersAreUndefined) {
  for (int i = 1; i <= static_cast<int>(DType::kInt2); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from(to_string(dtype)), dtype) << i;
  }
  EXPECT_EQ(dtype_from("float31"), std::nullopt);
  EXPECT_EQ(dtype_from("undefined"), std::nullopt);
  EXPECT_EQ(to_string(static_cast<DType>(-5)), "undefined");
  EXPECT_EQ(bit_width(static_cast<DType>(1000)), 0);
}

TEST(DType, KnowsWidthsAndKinds) {
  EXPECT_EQ(bit_width(DType::kComplex128), 128);
  EXPECT_EQ(bit_width(DType::kInt4), 4);
  EXPECT_TRUE(is_floating(DType::kBFloat16));
  EXPECT_TRUE(is_integer(DType::kUInt2));
  EXPECT_FALSE(is_integer(DType::kBool));
  EXPECT_FALSE(is_floating(DType::kComplex64));
}

TEST(Shape, CountsElementsAndBytes) {
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({kHuge, 0, kHuge}), 0);
  EXPECT_EQ(byte_size(DType::kFloat32, {2, 3}), 24U);
  EXPECT_EQ(byte_size(DType::kInt4, {3}), 2U);
  EXPECT_EQ(byte_size(DType::kUInt2, {5}), 2U);
}

TEST(Shape, RefusesWhatCannotBeCounted) {
  EXPECT_THAT(element_count({2, -1}).error().message, HasSubstr("[2, -1] has a negative extent"));
  EXPECT_EQ(element_count({kHuge, 4}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(byte_size(DType::kFloat64, {kHuge}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(byte_size(DType::kString, {1}).error().code, ErrorCode::kUnsupported);
}

TEST(Tensor, IsZeroedAndAligned) {
  const auto tensor = Tensor::create(DType::kInt32, {3, 5});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->as<std::int32_t>().size(), 15U);
  EXPECT_THAT(tensor->as<std::int32_t>(), Each(0));
  EXPECT_EQ(std::bit_cast<std::uintptr_t>(tensor->bytes().data()) % 64, 0U);
}

TEST(Tensor, RefusesMoreThanTheMachineHas) {
  const auto tensor = Tensor::create(DType::kFloat32, {std::int64_t{1} << 50});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(tensor.error().message, HasSubstr("4503599627370496 bytes"));
}

TEST(Tensor, CopiesAndRefusesAViewOfTheWrongSize) {
  auto tensor = Tensor::create(DType::kFloat32, {2});
  tensor->as<float>()[1] = 7.0F;
  const auto copy = Tensor::copy_of(tensor->view());
  EXPECT_EQ(copy->as<float>()[1], 7.0F);
  TensorView view = tensor->view();
  view.shape = {3};
  EXPECT_THAT(Tensor::copy_of(view).error().message, HasSubstr("has 12 bytes, not 8"));
}

TEST(Half, KnowsItsLandmarks) {
  EXPECT_EQ(float_to_half(1.0F), 0x3C00);
  EXPECT_EQ(float_to_half(65504.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(65519.99F), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(0x1p-24F), 0x0001);
  EXPECT_EQ(float_to_half(0x1p-25F), 0x0000) << "half way to the smallest, ties to even";
  EXPECT_EQ(float_to_half(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(float_to_half(-0.0F), 0x8000);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(std::bit_cast<float>(0x7F800001U)))));
}

TEST(Half, EveryPatternComesBack) {
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float wide = half_to_float(half), brain = bfloat16_to_float(half);
    ASSERT_TRUE(std::isnan(wide) || float_to_half(wide) == half) << bits;
    ASSERT_TRUE(std::isnan(brain) || float_to_bfloat16(brain) == half) << bits;
  }
}

TEST(Half, RoundsToNearestEven) {
  for (std::uint16_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = half_to_float(bits), high = half_to_float(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2.0F;
    ASSERT_EQ(float_to_half(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), bits) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9F)), bits + 1) << bits;
  }
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3F808000U)), 0x3F80);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3F808001U)), 0x3F81);
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7F800001U)))));
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7F80) << "rounds to infinity";
}

double element(DType dtype, std::initializer_list<unsigned> bytes, std::int64_t index = 0) {
  std::vector<std::byte> data;
  for (const unsigned b : bytes) data.push_back(static_cast<std::byte>(b));
  return element_as_double({dtype, {}, data}, index);
}

TEST(Element, ReadsEveryKind) {
  EXPECT_EQ(element(DType::kInt16, {0xFE, 0xFF}), -2.0);
  EXPECT_EQ(element(DType::kUInt64, {0, 0, 0, 0, 0, 0, 0, 0x80}), 0x1p63);
  EXPECT_EQ(element(DType::kBool, {7}), 1.0);
  EXPECT_EQ(element(DType::kFloat16, {0x00, 0xC0}), -2.0);
  EXPECT_EQ(element(DType::kBFloat16, {0x80, 0x3F}), 1.0);
  EXPECT_EQ(element(DType::kFloat64, {0, 0, 0, 0, 0, 0, 0xF0, 0x3F}), 1.0);
  EXPECT_TRUE(std::isnan(element(DType::kComplex64, {0, 0, 0, 0, 0, 0, 0, 0})));
}

TEST(Element, ReadsPackedIntegersLowestFirst) {
  EXPECT_EQ(element(DType::kInt4, {0x8F}, 0), -1.0);
  EXPECT_EQ(element(DType::kInt4, {0x8F}, 1), -8.0);
  EXPECT_EQ(element(DType::kUInt4, {0x8F}, 1), 8.0);
  EXPECT_EQ(element(DType::kUInt2, {0b11100100}, 3), 3.0);
  EXPECT_EQ(element(DType::kInt2, {0b11100100}, 2), -2.0);
}

TEST(Element, ReadsSmallFloats) {  // landmarks of the OCP 8-bit and MX specifications
  EXPECT_EQ(element(DType::kFloat8E4M3FN, {0x7E}), 448.0);
  EXPECT_TRUE(std::isnan(element(DType::kFloat8E4M3FN, {0xFF})));
  EXPECT_EQ(element(DType::kFloat8E4M3FN, {0x01}), 0x1p-9);
  EXPECT_EQ(element(DType::kFloat8E5M2, {0x7B}), 57344.0);
  EXPECT_EQ(element(DType::kFloat8E5M2, {0xFC}), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(element(DType::kFloat8E4M3FNUZ, {0x7F}), 240.0);
  EXPECT_EQ(element(DType::kFloat8E5M2FNUZ, {0x7F}), 57344.0);
  EXPECT_TRUE(std::isnan(element(DType::kFloat8E5M2FNUZ, {0x80})));
  EXPECT_EQ(element(DType::kFloat8E8M0, {127}), 1.0);
  EXPECT_EQ(element(DType::kFloat4E2M1, {0xF7}, 0), 6.0);
  EXPECT_EQ(element(DType::kFloat4E2M1, {0xF7}, 1), -6.0);
  EXPECT_EQ(element(DType::kFloat4E2M1, {0x01}, 0), 0.5);
}

}  // namespace
}  // namespace assay
