// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/verify/judge_testing.hpp"
#include "bench/verify/verify.hpp"

namespace assay {
namespace {
using testing::floats;
using ::testing::HasSubstr;
using testing::ids;
using testing::kNaN;
using testing::tensor;
using Golden = testing::Judge;

TEST_F(Golden, PassesWithinItsTolerance) {
  const Tolerance tolerance{.absolute = 0.01, .relative = 0.1};
  const Verdict pass = *check_golden(y(floats({1, 10})), y(floats({1.1F, 11})), tolerance, {});
  EXPECT_EQ(pass.verification, Verification::kVerified) << pass.message;
  EXPECT_EQ(pass.reference, "golden");
  EXPECT_NEAR(*pass.ratio, 1.0 / 1.01, 1e-6);
  const Verdict fails = *check_golden(y(floats({1, 10})), y(floats({1.2F, 11})), tolerance, {});
  EXPECT_EQ(fails.verification, Verification::kWrong);
  EXPECT_THAT(fails.message, HasSubstr("element 0 is 1.2 instead of 1"));
  EXPECT_NEAR(*fails.error_limit, 0.11, 1e-9);
}

TEST_F(Golden, AsksForEveryOutputAndForAtLeastOne) {
  const auto both = write([&] {
    Named tensors;
    tensors.emplace_back("y", floats({1}));
    tensors.emplace_back("more", floats({1}));
    return tensors;
  }());
  EXPECT_EQ(check_golden(y(floats({1})), both, {1, 0}, {})->verification, Verification::kVerified);
  EXPECT_EQ(check_golden(both, y(floats({1})), {1, 0}, {})->verification, Verification::kWrong);
  const auto nothing = write(Named{});
  EXPECT_THAT(check_golden(nothing, both, {1, 0}, {})->message, HasSubstr("no output was compared"));
  EXPECT_EQ(check_golden(nothing, both, {1, 0}, {})->verification, Verification::kWrong);
  EXPECT_EQ(check_golden(y(floats({})), y(floats({})), {1, 0}, {})->verification, Verification::kWrong);
}

TEST_F(Golden, IsStrictAboutShapeDTypeAndNaN) {
  EXPECT_EQ(check_golden(y(floats({1})), y(ids({1})), {1, 0}, {})->verification, Verification::kWrong);
  EXPECT_EQ(check_golden(y(floats({1})), y(floats({1, 1})), {1, 0}, {})->verification, Verification::kWrong);
  EXPECT_EQ(check_golden(y(floats({1})), y(floats({kNaN})), {1e9, 1e9}, {})->verification, Verification::kWrong);
  EXPECT_EQ(check_golden(y(floats({2, 2})), y(floats({2, 2})), {1e-5, 0}, {})->verification, Verification::kVerified)
      << "a golden may be constant";
}

TEST_F(Golden, LeavesMaskedPositionsOut) {
  const Tensor mask = tensor<std::int64_t>(DType::kInt64, {1, 2}, {1, 0});
  const std::vector<NamedView> inputs{{"attention_mask", mask.view()}};
  const auto state = [&](float last) {
    return write("last_hidden_state", tensor<float>(DType::kFloat32, {1, 2, 1}, {1, last}));
  };
  EXPECT_EQ(check_golden(state(5), state(9), {1e-5, 0}, inputs)->verification, Verification::kVerified);
  EXPECT_EQ(check_golden(state(5), state(9), {1e-5, 0}, {})->verification, Verification::kWrong);
}

}  // namespace
}  // namespace assay
