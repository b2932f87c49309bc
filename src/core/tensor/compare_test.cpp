// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
Tensor tensor(DType dtype, Shape shape, std::vector<T> values) {
  Tensor result = *Tensor::create(dtype, std::move(shape));
  std::copy(values.begin(), values.end(), result.as<T>().begin());
  return result;
}
Tensor floats(std::vector<float> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return tensor<float>(DType::kFloat32, {n}, std::move(values));
}
Comparison compared(const std::vector<float>& r, const std::vector<float>& c, Tolerance tolerance = {}) {
  return *compare(floats(r).view(), floats(c).view(), tolerance);
}

TEST(Compare, MeasuresTheDistance) {
  const Comparison c = compared({1, 2, 4, -8}, {1, 2.5F, 4, -8}, {.absolute = 0.25, .relative = 0.125});
  EXPECT_EQ(c.elements, 4);
  EXPECT_EQ(c.max_abs_error, 0.5);
  EXPECT_EQ(c.max_rel_error, 0.25);
  EXPECT_EQ(c.worst_ratio, 1.0);
  EXPECT_EQ(c.exceeding, 0) << "exactly at the limit passes";
  EXPECT_EQ(c.worst_index, 1);
  EXPECT_EQ(c.worst_reference, 2.0);
  EXPECT_EQ(c.worst_candidate, 2.5);
  EXPECT_EQ(c.agreement, 0.75);
  EXPECT_DOUBLE_EQ(c.nmse, 0.25 / 85.0);
  EXPECT_NEAR(c.cosine, 86.0 / std::sqrt(85.0 * 87.25), 1e-15);
  EXPECT_DOUBLE_EQ(c.reference_rms, std::sqrt(85.0 / 4));
  EXPECT_DOUBLE_EQ(c.reference_deviation, std::sqrt(85.0 / 4 - 0.0625));
  EXPECT_EQ(c.reference_min, -8.0);
  EXPECT_EQ(c.reference_max, 4.0);
}

TEST(Compare, NaNEqualsOnlyNaN) {
  const Comparison same = compared({kNaN, 1}, {kNaN, 1}, {.absolute = 1});
  EXPECT_EQ(same.exceeding, 0);
  EXPECT_EQ(same.agreement, 1.0);
  EXPECT_EQ(same.nan_reference, 1);
  const Comparison one_side = compared({0, 1}, {kNaN, 1}, {.absolute = 1e30, .relative = 1e30});
  EXPECT_EQ(one_side.exceeding, 1);
  EXPECT_EQ(one_side.max_abs_error, kInfinity);
  EXPECT_EQ(one_side.worst_ratio, kInfinity);
  EXPECT_EQ(one_side.nan_candidate, 1);
  EXPECT_EQ(one_side.cosine, 1.0) << "over the finite pairs";
}

TEST(Compare, InfinitiesMustAgreeInSign) {
  constexpr auto kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compared({kInf, 1}, {kInf, 1}, {.relative = 0.1}).exceeding, 0);
  EXPECT_EQ(compared({kInf, 1}, {-kInf, 1}, {.relative = 0.1}).exceeding, 1);
  EXPECT_EQ(compared({kInf, 1}, {3, 1}, {.relative = 0.1}).exceeding, 1);
  EXPECT_EQ(compared({3, 1}, {kInf, 1}, {.relative = 0.1}).inf_candidate, 1);
}

TEST(Compare, TellsZeroReferences) {
  const Comparison both = compared({0, 0}, {0, -0.0F});
  EXPECT_EQ(both.cosine, 1.0);
  EXPECT_EQ(both.nmse, 0.0);
  EXPECT_EQ(both.exceeding, 0);
  EXPECT_TRUE(both.reference_constant);
  const Comparison one = compared({0, 0}, {0, 1});
  EXPECT_EQ(one.cosine, 0.0);
  EXPECT_EQ(one.nmse, kInfinity);
  EXPECT_EQ(one.exceeding, 1);
}

TEST(Compare, SeesAConstantReference) {
  EXPECT_TRUE(compared({3, 3, 3}, {1, 2, 3}).reference_constant);
  EXPECT_TRUE(compared({kNaN, kNaN}, {1, 2}).reference_constant);
  EXPECT_FALSE(compared({3, 3, 3.0000002F}, {1, 2, 3}).reference_constant);
}

TEST(Compare, ComparesIntegersExactlyBeyondDoubles) {
  const auto a = tensor<std::int64_t>(DType::kInt64, {2}, {INT64_MAX, 5});
  const auto b = tensor<std::int64_t>(DType::kInt64, {2}, {INT64_MAX - 1, 5});
  const auto c = compare(a.view(), b.view(), {});
  EXPECT_EQ(c->agreement, 0.5);
  EXPECT_EQ(c->max_abs_error, 1.0);
  EXPECT_EQ(c->exceeding, 1);
}

TEST(Compare, ReadsEveryDType) {
  for (int i = 1; i <= static_cast<int>(DType::kInt2); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (bit_width(dtype) == 0) continue;
    const auto zero = Tensor::create(dtype, {3});
    const auto c = compare(zero->view(), zero->view(), {});
    if (dtype == DType::kComplex64 || dtype == DType::kComplex128)
      EXPECT_EQ(c.error().code, ErrorCode::kUnsupported);
    else
      EXPECT_EQ(c->agreement, 1.0) << to_string(dtype);
  }
}

TEST(Compare, SurvivesSquaresThatOverflow) {
  const auto a = tensor<double>(DType::kFloat64, {2}, {1e300, -1e300});
  const auto b = tensor<double>(DType::kFloat64, {2}, {1e300, -2e300});
  const auto c = compare(a.view(), b.view(), {});
  EXPECT_EQ(c->elements, 2);
  EXPECT_NEAR(c->cosine, 3 / std::sqrt(10.0), 1e-12);
  EXPECT_NEAR(c->reference_rms, 1e300, 1e287);
}

TEST(Compare, LeavesMaskedRowsOut) {
  const auto r = tensor<float>(DType::kFloat32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto c = tensor<float>(DType::kFloat32, {2, 2, 2}, {1, 2, 9, 9, 5, 6, 7, 8});
  const auto mask = tensor<std::int64_t>(DType::kInt64, {2, 2}, {1, 0, 1, 1});
  const auto found = compare(r.view(), c.view(), {}, mask.view());
  EXPECT_EQ(found->elements, 6);
  EXPECT_EQ(found->exceeding, 0);
  EXPECT_EQ(found->reference_max, 8.0);
  const auto none = tensor<std::int64_t>(DType::kInt64, {2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(compare(r.view(), c.view(), {}, none.view())->elements, 0);
}

TEST(Compare, SaysBothSidesOfAMismatch) {
  const auto a = floats({1, 2});
  const auto b = floats({1, 2, 3});
  const auto ids = tensor<std::int32_t>(DType::kInt32, {2}, {1, 2});
  EXPECT_THAT(compare(a.view(), b.view(), {}).error().message, HasSubstr("the shape [2], the candidate [3]"));
  EXPECT_THAT(compare(a.view(), ids.view(), {}).error().message, HasSubstr("is float32, the candidate int32"));
  EXPECT_THAT(compare(a.view(), a.view(), {}, b.view()).error().message,
              HasSubstr("[3] is not a leading block of [2]"));
  EXPECT_EQ(
      compare(Tensor::create(DType::kFloat32, {0})->view(), Tensor::create(DType::kFloat32, {0})->view(), {})->elements,
      0);
}

}  // namespace
}  // namespace assay
