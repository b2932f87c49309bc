// SPDX-License-Identifier: Apache-2.0
// Numbers at the edges: NaN, infinities, integers that no double has, places between elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/evaluate/kernels_testing.hpp"

namespace assay::evaluate {
namespace {
using testing::compute;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::first_of;
using testing::floats;
using testing::integers_of;
using ::testing::IsNan;
using testing::list;
using testing::longs;
using testing::number;
using testing::numbers;
using ::testing::Pointwise;
using testing::reals_of;
using testing::text;

const double kNan = std::nan(""), kInfinity = std::numeric_limits<double>::infinity();

Value unsigned_longs(Integers bits) {
  const auto count = static_cast<std::int64_t>(bits.size());
  return {DType::kUInt64, {count}, std::move(bits)};
}

TEST(KernelNumbers, CeluOfNanIsNan) {
  const Value x = floats({2}, {kNan, 2});
  EXPECT_THAT(reals_of(first_of(compute("Celu", 12, {&x}))), ElementsAre(IsNan(), 2));
}

TEST(KernelNumbers, PowersOfIntegersAreExact) {
  const Value x = list({3, 2, 0, -1, 1, 2, -3}), by = list({39, 64, -1, -3, -7, -1, 3});
  EXPECT_THAT(integers_of(first_of(compute("Pow", 15, {&x, &by}))),
              ElementsAre(4052555153018976267, 0, 0, -1, 1, 0, -27));
  const Value bytes(DType::kUInt8, {2}, Integers{3, 16}), two(DType::kInt32, {}, Integers{6});
  EXPECT_THAT(integers_of(first_of(compute("Pow", 15, {&bytes, &two}))), ElementsAre(729 - 512, 0));
  const Value base(DType::kInt32, {3}, Integers{2, 4, 3}), reals = floats({3}, {0.5, -1, 2});
  EXPECT_THAT(integers_of(first_of(compute("Pow", 15, {&base, &reals}))), ElementsAre(1, 0, 9));
}

TEST(KernelNumbers, AMaximumOfPaddingOnly) {
  const Integers kernel{1}, pads{1, 1};
  const Value x = floats({1, 1, 1}, {-5}), bytes(DType::kInt8, {1, 1, 1}, Integers{-5});
  const auto pool = [&](const Value& of) {
    return compute("MaxPool", 12, {&of}, {numbers("kernel_shape", kernel), numbers("pads", pads)});
  };
  EXPECT_THAT(reals_of(first_of(pool(x))), ElementsAre(-kInfinity, -5, -kInfinity));
  EXPECT_THAT(integers_of(first_of(pool(bytes))), ElementsAre(-128, -5, -128));
  EXPECT_THAT(integers_of(pool(x).value()[1]), ElementsAre(-1, 0, -1));
}

TEST(KernelNumbers, UnsignedIntegersOf64BitsAreOrderedByTheirValue) {
  const Value x = unsigned_longs({1, -1, 2}), two = list({2}), places = list({0, 1, 2}),
              ones = unsigned_longs({5, 5, 5});
  EXPECT_THAT(integers_of(first_of(compute("ArgMax", 13, {&x}))), ElementsAre(1));
  EXPECT_THAT(integers_of(first_of(compute("ArgMin", 13, {&x}))), ElementsAre(0));
  EXPECT_THAT(integers_of(first_of(compute("TopK", 11, {&x, &two}))), ElementsAre(-1, 2));
  EXPECT_THAT(integers_of(first_of(compute("ScatterElements", 18, {&x, &places, &ones}, {text("reduction", "max")}))),
              ElementsAre(5, -1, 5));
  EXPECT_THAT(integers_of(first_of(compute("ScatterElements", 18, {&x, &places, &ones}, {text("reduction", "min")}))),
              ElementsAre(1, 5, 2));
  EXPECT_THAT(integers_of(first_of(compute("Max", 13, {&x, &ones}))), ElementsAre(5, -1, 5));
  EXPECT_THAT(integers_of(first_of(compute("ReduceMax", 18, {&x}))), ElementsAre(-1));
  EXPECT_THAT(integers_of(first_of(compute("Unique", 11, {&x}))), ElementsAre(1, 2, -1));
  EXPECT_THAT(integers_of(first_of(compute("Abs", 13, {&x}))), ElementsAre(1, -1, 2));
  EXPECT_THAT(integers_of(first_of(compute("Sign", 13, {&x}))), ElementsAre(1, 1, 1));
  EXPECT_THAT(integers_of(first_of(compute("Mod", 13, {&ones, &x}))), ElementsAre(0, 5, 1));
  EXPECT_THAT(integers_of(first_of(compute("Less", 13, {&x, &ones}))), ElementsAre(1, 0, 1));
}

TEST(KernelNumbers, DifferentIntegersThatNoDoubleHas) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Value x = list({large, large - 1, large});
  EXPECT_THAT(integers_of(first_of(compute("Unique", 11, {&x}))), ElementsAre(large - 1, large));
  const Value from = longs({}, {large}), to = longs({}, {large + 3}), by = longs({}, {2});
  EXPECT_THAT(integers_of(first_of(compute("Range", 11, {&from, &to, &by}))), ElementsAre(large, large + 2));
}

// One rule, that of NumPy, for all minima and maxima, wherever the NaN is.
TEST(KernelNumbers, NanIsTheExtremeOfWhatHasOne) {
  const Value first = floats({3}, {kNan, 1, 2}), last = floats({3}, {1, 2, kNan}), one = floats({3}, {1, 1, 1}),
              places = list({0, 1, 2});
  for (const Value* const x : {&first, &last})
    for (const std::string_view op : {"ReduceMax", "ReduceMin", "ReduceLogSumExp"})
      EXPECT_THAT(reals_of(first_of(compute(op, 18, {x}))), ElementsAre(IsNan())) << op;
  for (const std::string_view op : {"Max", "Min"}) {
    EXPECT_THAT(reals_of(first_of(compute(op, 13, {&first, &one}))), ElementsAre(IsNan(), 1, ::testing::_)) << op;
    EXPECT_THAT(reals_of(first_of(compute(op, 13, {&one, &first}))), ElementsAre(IsNan(), 1, ::testing::_)) << op;
  }
  for (const std::string_view how : {"max", "min"}) {
    EXPECT_THAT(reals_of(first_of(compute("ScatterElements", 18, {&first, &places, &one}, {text("reduction", how)}))),
                ElementsAre(IsNan(), 1, ::testing::_));
    EXPECT_THAT(reals_of(first_of(compute("ScatterElements", 18, {&one, &places, &first}, {text("reduction", how)}))),
                ElementsAre(IsNan(), 1, ::testing::_));
  }
  EXPECT_THAT(integers_of(first_of(compute("ArgMax", 13, {&first}))), ElementsAre(0));
  EXPECT_THAT(integers_of(first_of(compute("ArgMax", 13, {&last}))), ElementsAre(2));
  const Value image = floats({1, 1, 3}, {1, kNan, 2});
  EXPECT_THAT(reals_of(first_of(compute("GlobalMaxPool", 1, {&image}))), ElementsAre(IsNan()));
}

TEST(KernelNumbers, LogarithmOfASumOfNanOnly) {
  const Value x = floats({2}, {kNan, kNan}), infinite = floats({2}, {-kInfinity, -kInfinity});
  EXPECT_THAT(reals_of(first_of(compute("ReduceLogSumExp", 18, {&x}))), ElementsAre(IsNan()));
  EXPECT_THAT(reals_of(first_of(compute("ReduceLogSumExp", 18, {&infinite}))), ElementsAre(-kInfinity));
}

TEST(KernelNumbers, ScoresOfNanAreNotHidden) {
  const Value q = floats({1, 1, 1, 1}, {kNan}), v = floats({1, 1, 1, 1}, {3});
  EXPECT_THAT(reals_of(first_of(compute("Attention", 23, {&q, &v, &v}))), ElementsAre(IsNan()));
}

TEST(KernelNumbers, AScaleThatDiffersFromRowToRow) {
  const Value x = floats({2, 2}, {1, 3, 1, 3}), rows = floats({2, 1}, {1, 10}), each = floats({2, 2}, {1, 2, 3, 4}),
              bias = floats({2, 1}, {0.5, 0});
  const std::vector<graph::Attribute> exact{{"epsilon", 0.0F}};
  EXPECT_THAT(reals_of(first_of(compute("LayerNormalization", 17, {&x, &rows, &bias}, exact))),
              ElementsAre(-0.5, 1.5, -10, 10));
  EXPECT_THAT(reals_of(first_of(compute("LayerNormalization", 17, {&x, &each}, exact))), ElementsAre(-1, 2, -3, 4));
  const Value ones = floats({2, 2}, {1, 1, 2, 2});
  EXPECT_THAT(reals_of(first_of(compute("RMSNormalization", 23, {&ones, &rows}, exact))), ElementsAre(1, 1, 10, 10));
}

Value resized(const Value& x, double scale, std::vector<graph::Attribute> attributes) {
  const Value scales = floats({1}, {scale});
  const Integers axes{0};
  attributes.push_back(numbers("axes", axes));
  return first_of(compute("Resize", 19, {&x, nullptr, &scales}, std::move(attributes)));
}

// 8 / 1.6F is 5 in float32, and a little less than 5 in float64.
TEST(KernelNumbers, ResizeComputesPlacesInFloat32) {
  const Value x = floats({6}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(reals_of(resized(x, static_cast<double>(1.6F),
                               {text("mode", "nearest"), text("coordinate_transformation_mode", "asymmetric"),
                                text("nearest_mode", "floor")})),
              ElementsAre(0, 0, 1, 1, 2, 3, 3, 4, 5));
}

TEST(KernelNumbers, ResizeInEachCoordinateMode) {
  const Value x = floats({4}, {0, 1, 2, 3});
  const auto places = [&](std::string_view coordinates, double scale) {
    return reals_of(resized(x, scale, {text("mode", "linear"), text("coordinate_transformation_mode", coordinates)}));
  };
  EXPECT_THAT(places("asymmetric", 2), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5, 3, 3));
  EXPECT_THAT(places("half_pixel", 2), ElementsAre(0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3));
  EXPECT_THAT(places("half_pixel", 0.5), ElementsAre(0.5, 2.5));
  EXPECT_THAT(places("half_pixel_symmetric", 0.5), ElementsAre(0.5, 2.5));
  EXPECT_THAT(places("half_pixel_symmetric", 0.6), Pointwise(DoubleNear(1e-6), Reals{0.5 + 1.0 / 6, 2.5 - 1.0 / 6}));
  EXPECT_THAT(places("pytorch_half_pixel", 0.25), ElementsAre(0));
  EXPECT_THAT(places("half_pixel", 0.25), ElementsAre(1.5));
  EXPECT_THAT(places("align_corners", 1.75), Pointwise(DoubleNear(1e-6), Reals{0, 0.5, 1, 1.5, 2, 2.5, 3}));
}

TEST(KernelNumbers, ResizeOfARegion) {
  const Value x = floats({5}, {0, 1, 2, 3, 4}), region = floats({2}, {0.5, 1.25}), sizes = list({4});
  const Integers axes{0};
  const Value y = first_of(compute("Resize", 19, {&x, &region, nullptr, &sizes},
                                   {text("mode", "linear"),
                                    numbers("axes", axes),
                                    {"extrapolation_value", 9.0F},
                                    text("coordinate_transformation_mode", "tf_crop_and_resize")}));
  EXPECT_THAT(reals_of(y), ElementsAre(2, 3, 4, 9));
}

}  // namespace
}  // namespace assay::evaluate
