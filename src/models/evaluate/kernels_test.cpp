// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "models/evaluate/kernels_testing.hpp"

namespace assay::evaluate {
namespace {
using testing::compute;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::first_of;
using testing::floats;
using ::testing::HasSubstr;
using testing::integers_of;
using testing::list;
using testing::longs;
using testing::number;
using testing::numbers;
using ::testing::Pointwise;
using testing::reals_of;
using testing::text;

const Integers kTwo{2}, kZero{0}, kOne{1};

TEST(Kernels, RepeatAxesOfOneElement) {
  const Value column = floats({2, 1}, {10, 20}), row = floats({3}, {1, 2, 3});
  const Value sum = first_of(compute("Add", 14, {&column, &row}));
  EXPECT_EQ(sum.shape(), (Shape{2, 3}));
  EXPECT_THAT(reals_of(sum), ElementsAre(11, 12, 13, 21, 22, 23));
  const Value two = floats({2}, {1, 2});
  EXPECT_THAT(compute("Add", 14, {&two, &row}).error().message, HasSubstr("do not fit together"));
}

TEST(Kernels, WrapIntegersToTheirType) {
  const Value a(DType::kInt8, {2}, Integers{127, -128}), one(DType::kInt8, {1}, Integers{1});
  EXPECT_THAT(integers_of(first_of(compute("Add", 14, {&a, &one}))), ElementsAre(-128, -127));
  EXPECT_THAT(integers_of(first_of(compute("Mul", 14, {&a, &a}))), ElementsAre(1, 0));
  const Value b(DType::kUInt8, {1}, Integers{0}), c(DType::kUInt8, {1}, Integers{1});
  EXPECT_THAT(integers_of(first_of(compute("Sub", 14, {&b, &c}))), ElementsAre(255));
}

TEST(Kernels, ShiftBitsOutOfTheType) {
  const Value x(DType::kInt8, {4}, Integers{-2, -2, 3, 3}), by(DType::kInt8, {4}, Integers{1, 8, -1, 1});
  EXPECT_THAT(integers_of(first_of(compute("BitShift", 26, {&x, &by}, {text("direction", "RIGHT")}))),
              ElementsAre(-1, -1, 0, 1));
  EXPECT_THAT(integers_of(first_of(compute("BitShift", 26, {&x, &by}, {text("direction", "LEFT")}))),
              ElementsAre(-4, 0, 0, 6));
}

// Before operator set 13 all axes from the stated one on counted as one.
TEST(Kernels, SoftmaxFollowsItsOperatorSet) {
  const Value x = floats({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(reals_of(first_of(compute("Softmax", 11, {&x}, {number("axis", 1)}))),
              ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(reals_of(first_of(compute("Softmax", 13, {&x}, {number("axis", 1)}))), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

// Limits, axes and bounds were attributes first and inputs later.
TEST(Kernels, ReadWhatBecameAnInput) {
  const Value x = floats({4}, {-2, 0, 1, 5}), low = floats({}, {-1}), high = floats({}, {2});
  EXPECT_THAT(reals_of(first_of(compute("Clip", 6, {&x}, {{"min", -1.0F}, {"max", 2.0F}}))), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(reals_of(first_of(compute("Clip", 11, {&x, &low, &high}))), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(reals_of(first_of(compute("Clip", 11, {&x, nullptr, &high}))), ElementsAre(-2, 0, 1, 2));
  const Value starts = list({1}), ends = list({3});
  const Integers from{1}, to{3};
  EXPECT_THAT(reals_of(first_of(compute("Slice", 1, {&x}, {numbers("starts", from), numbers("ends", to)}))),
              ElementsAre(0, 1));
  EXPECT_THAT(reals_of(first_of(compute("Slice", 10, {&x, &starts, &ends}))), ElementsAre(0, 1));
  const Value y = floats({2, 2}, {1, 2, 3, 4}), axis = list({0});
  EXPECT_THAT(reals_of(first_of(compute("ReduceSum", 11, {&y}, {numbers("axes", kZero), number("keepdims", 0)}))),
              ElementsAre(4, 6));
  EXPECT_THAT(reals_of(first_of(compute("ReduceSum", 13, {&y, &axis}, {number("keepdims", 0)}))), ElementsAre(4, 6));
  EXPECT_THAT(reals_of(first_of(compute("ReduceSum", 13, {&y}, {number("keepdims", 0)}))), ElementsAre(10));
}

TEST(Kernels, QuantiseHalvesToEvenAndLimit) {
  const Value x = floats({5}, {0.5, 1.5, -0.5, 300, -300}), scale = floats({}, {1}),
              zero(DType::kInt8, {}, Integers{0});
  EXPECT_THAT(integers_of(first_of(compute("QuantizeLinear", 21, {&x, &scale, &zero}))),
              ElementsAre(0, 2, 0, 127, -128));
  const Value blocks = floats({2}, {1, 10}), levels(DType::kInt8, {4}, Integers{1, 2, 3, 4});
  const Value y =
      first_of(compute("DequantizeLinear", 21, {&levels, &blocks}, {number("axis", 0), number("block_size", 2)}));
  EXPECT_THAT(reals_of(y), ElementsAre(1, 2, 30, 40));
}

// One head, two tokens: the first sees itself only, the second both with equal shares.
TEST(Kernels, AttentionOfEarlierTokens) {
  const Value q = floats({1, 1, 2, 1}, {0, 0}), v = floats({1, 1, 2, 1}, {1, 3});
  EXPECT_THAT(reals_of(first_of(compute("Attention", 23, {&q, &q, &v}, {number("is_causal", 1)}))), ElementsAre(1, 2));
  const Value hides(DType::kBool, {2, 2}, Integers{0, 0, 1, 1});
  EXPECT_THAT(reals_of(first_of(compute("Attention", 23, {&q, &q, &v, &hides}))), ElementsAre(0, 2))
      << "a query that sees no key";
}

TEST(Kernels, FourierTransformAndItsInverse) {
  const Value x = floats({1, 6, 1}, {1, -2, 3, 0.5, 4, -1}), axis = longs({}, {1});
  const Value there = first_of(compute("DFT", 20, {&x, nullptr, &axis}, {number("onesided", 1)}));
  EXPECT_EQ(there.shape(), (Shape{1, 4, 2}));
  const Value length = longs({}, {6});
  const Value back =
      first_of(compute("DFT", 20, {&there, &length, &axis}, {number("onesided", 1), number("inverse", 1)}));
  EXPECT_EQ(back.shape(), (Shape{1, 6, 1}));
  EXPECT_THAT(reals_of(back), Pointwise(DoubleNear(1e-12), reals_of(x)));
}

TEST(Kernels, RecurrentStateStaysAtTheEndOfASequence) {
  // h' = x + h, of two sequences with 1 and 2 steps.
  const Value x = floats({2, 2, 1}, {1, 10, 2, 20}), w = floats({1, 1, 1}, {1}),
              lengths(DType::kInt32, {2}, Integers{1, 2});
  const Outputs y =
      compute("RNN", 14, {&x, &w, &w, nullptr, &lengths}, {{"activations", std::vector<std::string_view>{"Affine"}}});
  EXPECT_THAT(reals_of(first_of(y)), ElementsAre(1, 10, 0, 30));
  EXPECT_THAT(reals_of((*y)[1]), ElementsAre(1, 30));
}

TEST(Kernels, FourBitWeightsOfBlocks) {
  // Rows of 16 numbers: levels 0 … 15 minus 8, times 0.5.
  Integers bytes;
  for (std::int64_t i = 0; i < 8; ++i) bytes.push_back(2 * i + (2 * i + 1) * 16);
  const Value a = floats({1, 16}, Reals(16, 1.0)), b(DType::kUInt8, {1, 1, 8}, std::move(bytes)),
              scales = floats({1}, {0.5});
  const Value y = first_of(compute("MatMulNBits", 1, {&a, &b, &scales},
                                   {number("K", 16), number("N", 1), number("bits", 4), number("block_size", 16)},
                                   "com.microsoft"));
  EXPECT_EQ(y.shape(), (Shape{1, 1}));
  EXPECT_THAT(reals_of(y), ElementsAre(-4)) << "0.5 · (−8 − 7 … + 7)";
}

TEST(Kernels, GiveTheSameNumbersOnAnyNumberOfThreads) {
  std::mt19937 random(7);
  const auto filled = [&](Shape shape) {
    Reals all(static_cast<std::size_t>(count_of(shape)));
    for (double& x : all) x = std::ldexp(static_cast<double>(random()), -31) - 1;
    return floats(std::move(shape), std::move(all));
  };
  const Value a = filled({300, 200}), b = filled({200, 600}), image = filled({1, 8, 64, 64}),
              kernel = filled({16, 8, 3, 3}), heads = filled({2, 8, 64, 32});
  const auto same = [](std::string_view op, const std::vector<const Value*>& operands) {
    const Value one = first_of(compute(op, 23, operands, {}, "", 1)),
                four = first_of(compute(op, 23, operands, {}, "", 4));
    EXPECT_EQ(reals_of(one), reals_of(four)) << op;
  };
  same("MatMul", {&a, &b});
  same("Conv", {&image, &kernel});
  same("Attention", {&heads, &heads, &heads});
}

}  // namespace
}  // namespace assay::evaluate
