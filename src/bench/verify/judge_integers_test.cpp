// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/verify/judge_testing.hpp"
#include "bench/verify/verify.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;
using testing::ids;
using testing::Judge;
using testing::tensor;

TEST_F(Judge, CountsIntegersOfAnUnknownHonestErrorAsUndecided) {
  const auto at = [&](std::int64_t differing, const VerifyOptions& options) {
    std::vector<std::int64_t> expected(100), actual(100), other(100);
    for (std::size_t i = 0; i < 100; ++i) {
      expected[i] = static_cast<std::int64_t>(i);
      other[i] = static_cast<std::int64_t>(2 * i);
      actual[i] = expected[i] + (static_cast<std::int64_t>(i) < differing ? 1 : 0);
    }
    return judge({{y(ids(expected)), y(ids(other))}, {y(ids(actual)), y(ids(other))}}, options)->verification;
  };
  EXPECT_EQ(at(10, {.quantised = true}), Verification::kUnverified);
  EXPECT_EQ(at(10, {}), Verification::kWrong);
  EXPECT_EQ(at(100, {.quantised = true}), Verification::kUnverified);
  EXPECT_EQ(at(1, {.quantised = true}), Verification::kVerified);
}

TEST_F(Judge, JudgesIntegersByAgreement) {
  std::vector<std::int64_t> expected(1000), other(1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    expected[i] = static_cast<std::int64_t>(i * 37 % 101);
    other[i] = static_cast<std::int64_t>(i * 11 % 103);
  }
  const auto changed = [&](std::size_t n) {
    std::vector<std::int64_t> values = expected;
    for (std::size_t i = 0; i < n; ++i) values[i * 4] += 50;
    return values;
  };
  const auto at = [&](std::size_t differing, std::size_t honest) {
    VerifyOptions options;
    options.honest =
        *measure_honest("perturbed", {y(ids(expected)), y(ids(other))}, {{y(ids(changed(honest))), y(ids(other))}}, {});
    return *judge({{y(ids(expected)), y(ids(other))}, {y(ids(changed(differing))), y(ids(other))}}, options);
  };
  EXPECT_EQ(at(2, 0).verification, Verification::kVerified);
  EXPECT_EQ(at(3, 0).verification, Verification::kWrong);
  EXPECT_THAT(at(3, 0).message, HasSubstr("0.15 % of 2000 elements differ, 0.1 % may"));
  EXPECT_EQ(at(29, 10).verification, Verification::kVerified) << "three times what honest runs change";
  EXPECT_EQ(at(0, 240).verification, Verification::kIllConditioned);
}

TEST_F(Judge, OneOfTwentyIntegersMayDifferAndALoneOneProvesNothing) {
  const auto run = [&](std::size_t n, std::size_t differing) {
    std::vector<std::int64_t> expected(n), actual(n);
    for (std::size_t i = 0; i < n; ++i) {
      expected[i] = static_cast<std::int64_t>(i);
      actual[i] = expected[i] + (i < differing ? 5 : 0);
    }
    return *judge({{y(ids(expected))}, {y(ids(actual))}}, {});
  };
  EXPECT_EQ(run(20, 1).verification, Verification::kVerified);
  EXPECT_EQ(run(20, 2).verification, Verification::kWrong);
  EXPECT_EQ(run(19, 0).verification, Verification::kVerified);
  EXPECT_EQ(run(19, 1).verification, Verification::kUnverified);
  EXPECT_THAT(run(19, 1).message, HasSubstr("one of 19 integers differs"));
  EXPECT_EQ(run(19, 2).verification, Verification::kWrong);
  EXPECT_EQ(run(1, 0).verification, Verification::kUnverified);
  EXPECT_EQ(run(1, 1).verification, Verification::kUnverified);
  EXPECT_THAT(run(1, 0).message, HasSubstr("a single integer proves nothing"));
}

TEST_F(Judge, ANearTieOfKnownLogitsIsNotWrong) {
  const auto both = [&](const std::vector<float>& logits, std::vector<std::int64_t> chosen) {
    Named tensors;
    tensors.emplace_back("logits", tensor<float>(DType::kFloat32, {3, 4}, logits));
    tensors.emplace_back("chosen", ids(chosen));
    return write(tensors);
  };
  const std::vector<float> reference{1, 2, 3, 4, /**/ 5, 5 - 1e-6F, 1, 0, /**/ 0, 9, 1, 2};
  std::vector<float> candidate = reference;
  candidate[4] -= 2e-6F;
  const auto at = [&](std::vector<std::int64_t> chosen) {
    return judge({{both(reference, {3, 0, 1})}, {both(candidate, std::move(chosen))}}, {})->verification;
  };
  EXPECT_EQ(at({3, 0, 1}), Verification::kVerified);
  EXPECT_EQ(at({3, 1, 1}), Verification::kVerified) << "5 and 5 - 1e-6";
  EXPECT_EQ(at({3, 2, 1}), Verification::kWrong) << "5 and 1";
  EXPECT_EQ(at({3, 0, 7}), Verification::kWrong) << "no logit";
}

TEST_F(Judge, LogitsThatAreRightAllowOnlyTheNearTiesOfTheirOwnLimit) {
  Named expected, actual;
  const std::vector<float> logits{1, 2, 3, 4, /**/ 5, 4, 1, 0, /**/ 0, 9, 1, 2};
  for (Named* tensors : {&expected, &actual})
    tensors->emplace_back("logits", tensor<float>(DType::kFloat32, {3, 4}, logits));
  expected.emplace_back("chosen", ids({3, 0, 1}));
  actual.emplace_back("chosen", ids({2, 1, 3}));  // an ArgMax that takes the second: 1 and 7 less
  const Verdict found = *judge({{write(expected)}, {write(actual)}}, {.quantised = true});
  EXPECT_EQ(found.verification, Verification::kWrong) << "the honest error is not known, the logits are right";
  const Verdict right = *judge({{write(expected)}, {write(expected)}}, {.quantised = true});
  EXPECT_EQ(right.verification, Verification::kVerified);
  const Verdict known = judged(2e-3, {.quantised = true, .honest = honest({1e-3, -1e-3}, 1.0, "quantised")});
  EXPECT_TRUE(known.limit_decides);
  const Verdict unknown = *judge({{y(noise("a")), y(noise("b"))}, {y(noise("a")), y(noise("b"))}}, {.quantised = true});
  EXPECT_EQ(unknown.verification, Verification::kVerified);
  EXPECT_FALSE(unknown.limit_decides);
  EXPECT_NEAR(*unknown.error_limit, 5e-3, 5e-4) << "that which shows that it is right, not 2.5";
}

}  // namespace
}  // namespace assay
