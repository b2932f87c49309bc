// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/ulp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace assay {
namespace {
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

std::vector<float> perturbed(std::vector<float> values, DType precision, std::uint64_t seed = 1) {
  perturb_by_one_ulp(DType::kFloat32, std::as_writable_bytes(std::span(values)), precision, CounterRandom(seed, "x"));
  return values;
}

std::vector<float> rounded(std::vector<float> values, DType precision) {
  round_to_precision(DType::kFloat32, std::as_writable_bytes(std::span(values)), precision);
  return values;
}

TEST(PerturbByOneUlp, StepsAreThoseOfThePrecision) {
  const std::vector<float> threes(64, 3.0F);
  EXPECT_THAT(perturbed(threes, DType::kFloat32), Each(AnyOf(3.0F + 0x1p-22F, 3.0F - 0x1p-22F)));
  EXPECT_THAT(perturbed(threes, DType::kFloat16), Each(AnyOf(3.0F + 0x1p-9F, 3.0F - 0x1p-9F)));
  EXPECT_THAT(perturbed(threes, DType::kBFloat16), Each(AnyOf(3.0F + 0x1p-6F, 3.0F - 0x1p-6F)));
}

TEST(PerturbByOneUlp, NeverStepsFinerThanTheElementsOwnType) {
  EXPECT_THAT(perturbed(std::vector<float>(64, 3.0F), DType::kFloat64), Each(AnyOf(3.0F + 0x1p-22F, 3.0F - 0x1p-22F)));
  EXPECT_EQ(perturbed_by_one_ulp(DType::kFloat16, 0x3E00, true, DType::kFloat32), 0x3E01);
  EXPECT_EQ(perturbed_by_one_ulp(DType::kFloat16, 0x3E00, true, DType::kBFloat16), 0x3E08);
  EXPECT_EQ(perturbed_by_one_ulp(DType::kBFloat16, 0x4040, false, DType::kFloat16), 0x403F);
}

TEST(PerturbByOneUlp, BelowTheSmallestNormalNumberTheStepStaysThatOfThePrecision) {
  // A float16 cannot hold 1e-6 to three digits: its neighbours are 2^-24 away.
  EXPECT_THAT(perturbed({1e-6F}, DType::kFloat16), ElementsAre(AnyOf(1e-6F + 0x1p-24F, 1e-6F - 0x1p-24F)));
}

TEST(PerturbByOneUlp, ZerosInfinitiesAndNanStayAndNothingBecomesInfinite) {
  const std::vector<float> after =
      perturbed({0.0F, -0.0F, kInfinite, -kInfinite, std::nanf(""), kLargest, -kLargest}, DType::kBFloat16);
  EXPECT_EQ(after[0], 0.0F);
  EXPECT_FALSE(std::signbit(after[0]));
  EXPECT_TRUE(std::signbit(after[1]));
  EXPECT_EQ(after[2], kInfinite);
  EXPECT_EQ(after[3], -kInfinite);
  EXPECT_TRUE(std::isnan(after[4]));
  EXPECT_LT(after[5], kLargest);
  EXPECT_GT(after[6], -kLargest);
}

TEST(PerturbByOneUlp, DirectionsAreTheStreamsWhereverItBegins) {
  const std::vector<float> whole = perturbed(std::vector<float>(64, 1.5F), DType::kFloat32);
  EXPECT_THAT(whole, ::testing::Contains(std::nextafter(1.5F, 2.0F)));
  EXPECT_THAT(whole, ::testing::Contains(std::nextafter(1.5F, 1.0F)));
  std::vector<float> tail(24, 1.5F);
  perturb_by_one_ulp(DType::kFloat32, std::as_writable_bytes(std::span(tail)), DType::kFloat32, CounterRandom(1, "x"),
                     40);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), whole.begin() + 40));
  EXPECT_NE(perturbed(std::vector<float>(64, 1.5F), DType::kFloat32, 2), whole);
}

TEST(PerturbByOneUlp, LeavesOtherTypesAlone) {
  std::vector<std::int64_t> ids{1, 2, 3};
  perturb_by_one_ulp(DType::kInt64, std::as_writable_bytes(std::span(ids)), DType::kBFloat16, CounterRandom(1, "ids"));
  round_to_precision(DType::kInt64, std::as_writable_bytes(std::span(ids)), DType::kBFloat16);
  EXPECT_THAT(ids, ElementsAre(1, 2, 3));
  EXPECT_FALSE(has_ulp(DType::kInt64));
  EXPECT_FALSE(has_ulp(DType::kFloat8E4M3FN));
}

TEST(RoundToPrecision, TakesTheNearestNumberTiesToEven) {
  EXPECT_THAT(rounded({1.0F + 0x1p-8F, 1.0F + 3 * 0x1p-8F, -1.01F}, DType::kBFloat16),
              ElementsAre(1.0F, 1.0F + 0x1p-6F, -1.0078125F));
  EXPECT_THAT(rounded({1.0F + 0x1p-11F, 1.0F + 3 * 0x1p-11F, 0.1F}, DType::kFloat16),
              ElementsAre(1.0F, 1.0F + 0x1p-9F, 0.0999755859375F));
  EXPECT_THAT(rounded({0.1F, kLargest}, DType::kFloat32), ElementsAre(0.1F, kLargest));
}

TEST(RoundToPrecision, WhatWouldBecomeInfiniteStays) {
  EXPECT_THAT(rounded({1e5F, -kLargest, kInfinite}, DType::kFloat16), ElementsAre(1e5F, -kLargest, kInfinite));
  EXPECT_EQ(rounded({-kLargest}, DType::kBFloat16).front(), -kLargest);
  EXPECT_TRUE(std::isnan(rounded({std::nanf("")}, DType::kFloat16).front()));
}

TEST(RoundToPrecision, RoundsHalvesAndDoublesInTheirOwnType) {
  std::vector<std::uint16_t> halves{float_to_half(1.0F + 0x1p-9F), float_to_half(0.5F)};
  round_to_precision(DType::kFloat16, std::as_writable_bytes(std::span(halves)), DType::kBFloat16);
  EXPECT_THAT(halves, ElementsAre(float_to_half(1.0F), float_to_half(0.5F)));
  std::vector<double> doubles{1.0 + 0x1p-30, 0.1};
  round_to_precision(DType::kFloat64, std::as_writable_bytes(std::span(doubles)), DType::kFloat32);
  EXPECT_THAT(doubles, ElementsAre(1.0, static_cast<double>(0.1F)));
}

}  // namespace
}  // namespace assay
