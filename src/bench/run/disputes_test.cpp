// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "bench/run/compared_testing.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using testing::Answers;
using testing::ComparedLaunches;
using ::testing::HasSubstr;
using testing::numbers;
namespace fs = std::filesystem;

/// Outputs that are off by 1e-5, five times the limit, and what others say of them.
class Disputes : public ComparedLaunches {
 protected:
  Disputes() {
    trust("y", numbers);
    HonestOutput honest;
    honest.name = "y";
    honest.rms = honest.row = honest.element = 1e-8;
    reference_.honest = HonestErrors{.method = "perturbed", .runs = 2, .outputs = {honest}};
  }
  static Output off_by(float share) {
    return [share](std::size_t set) {
      Tensor tensor = numbers(set);
      for (float& x : tensor.as<float>()) x *= 1 + share;
      return tensor;
    };
  }
  [[nodiscard]] Opinion opinion(const std::string& engine, bool exact, float off) {
    Opinion found{.name = exact ? engine + "-float64" : engine, .engine = engine, .exact = exact};
    Answers answers("y", off_by(off));
    for (std::size_t set = 0; set < 4; ++set) {
      found.outputs.push_back(folder_.path() / fmt::format("{}{}.safetensors", engine, set));
      EXPECT_TRUE(answers.infer({set, found.outputs.back()}, {}));
    }
    found.honest = reference_.honest;
    return found;
  }
  static Opinion silent() {
    return {.name = "exact-float64", .engine = "exact", .exact = true, .why_none = "the operator X is not evaluated"};
  }
  /// A launch whose outputs are off by this share; others are asked when they are disputed.
  [[nodiscard]] Record launch(float off, std::vector<Opinion> opinions) {
    Record row = local_.task.row;
    row.launch_number = 1;
    OutputChecks checks(local_, row, reference_, folder_.path());
    Answers worker("y", off_by(off));
    EXPECT_TRUE(checks.before(worker, Deadline(std::chrono::minutes(1))));
    was_disputed_ = checks.is_disputed();
    if (!was_disputed_) return row;
    EXPECT_EQ(row.verification, Verification::kUnverified) << "until it is decided";
    EXPECT_TRUE(checks.after(worker, {}, Deadline(std::chrono::minutes(1))));
    EXPECT_TRUE(checks.decide(opinions));
    EXPECT_FALSE(checks.is_disputed());
    reference_.opinions = std::move(opinions);
    return row;
  }
  bool was_disputed_ = false;
};

TEST_F(Disputes, AreDecidedByExactArithmeticForTheCandidate) {
  const Record row = launch(1e-5F, {opinion("exact", true, 1.02e-5F)});
  EXPECT_TRUE(was_disputed_);
  EXPECT_EQ(row.verification, Verification::kVerified);
  EXPECT_EQ(row.reference, "exact-float64");
  EXPECT_NEAR(row.rms_error.value_or(1), 2e-7, 1e-7);
  EXPECT_THAT(row.message, HasSubstr("exact-float64 decided, because the outputs are 5"));
  EXPECT_THAT(row.checked, HasSubstr("; again after sampling"));
}

TEST_F(Disputes, AreDecidedByExactArithmeticAgainstTheCandidate) {
  const Record row = launch(1e-5F, {opinion("exact", true, 0)});
  EXPECT_EQ(row.verification, Verification::kWrong);
  EXPECT_EQ(row.reference, "exact-float64");
  EXPECT_THAT(row.message, AllOf(HasSubstr("times the limit"), HasSubstr("exact-float64 decided")));
}

TEST_F(Disputes, AreDecidedAtOnceOnceSomebodyWasAsked) {
  (void)launch(1e-5F, {opinion("exact", true, 1e-5F)});
  const Record row = launch(1e-5F, {});
  EXPECT_FALSE(was_disputed_);
  EXPECT_EQ(row.verification, Verification::kVerified) << row.message;
  EXPECT_EQ(row.reference, "exact-float64");
  const Record close = launch(1e-6F, {});
  EXPECT_EQ(close.reference, "onnxruntime-noopt") << "nothing to decide";
}

TEST_F(Disputes, AreNotOpenedForLargeErrors) {
  const Record row = launch(1e-3F, {});
  EXPECT_FALSE(was_disputed_) << "five hundred times the limit";
  EXPECT_EQ(row.verification, Verification::kWrong);
}

TEST_F(Disputes, AreNotOpenedWhereOutputsCameWithTheModel) {
  local_.task.reference.given_outputs = reference_.outputs.front();
  const Record row = launch(3e-4F, {});
  EXPECT_FALSE(was_disputed_);
  EXPECT_EQ(row.verification, Verification::kWrong);
}

TEST_F(Disputes, AreNotOpenedForModelsThatComputeInFloat64) {
  local_.task.arithmetic = DType::kFloat64;
  const Record row = launch(1e-5F, {});
  EXPECT_FALSE(was_disputed_);
  EXPECT_EQ(row.verification, Verification::kWrong);
}

TEST_F(Disputes, AreIllConditionedIfOnlyAnotherRuntimeAgrees) {
  const Record row = launch(1e-5F, {silent(), opinion("other", false, 1e-5F)});
  EXPECT_EQ(row.verification, Verification::kIllConditioned);
  EXPECT_EQ(row.reference, "onnxruntime-noopt");
  EXPECT_THAT(row.message, HasSubstr("and other agree with each other, not with the reference: "));
}

TEST_F(Disputes, AreIllConditionedIfNobodyCanDecide) {
  const Record row =
      launch(1e-5F, {silent(), opinion("other", false, 0), opinion(local_.task.row.engine, false, 1e-5F)});
  EXPECT_EQ(row.verification, Verification::kIllConditioned) << "never wrong without exact numbers";
  EXPECT_THAT(row.message,
              AllOf(HasSubstr("disputed: it is not known who errs: "),
                    HasSubstr("; float64 could not decide: exact-float64: the operator X is not evaluated")));
}

TEST_F(Disputes, AreNotDecidedByTheEngineThatIsJudged) {
  const Record row = launch(1e-5F, {opinion(local_.task.row.engine, true, 1e-5F)});
  EXPECT_EQ(row.verification, Verification::kIllConditioned);
  EXPECT_THAT(row.message, HasSubstr("no other engine computes exactly"));
}

TEST_F(Disputes, AreNotDecidedByExactOutputsFarFromBoth) {
  const Record row = launch(1e-5F, {opinion("exact", true, 1e-2F)});
  EXPECT_EQ(row.verification, Verification::kIllConditioned) << "the model decides by rounding";
  EXPECT_THAT(row.message, HasSubstr("exact-float64 differs from onnxruntime-noopt by more than 100 times the limit"));
}

TEST_F(Disputes, FindOutputsThatAreWrongOnlyAfterSampling) {
  Record row = local_.task.row;
  row.launch_number = 1;
  OutputChecks checks(local_, row, reference_, folder_.path());
  Answers before("y", off_by(1e-5F)), after("y", off_by(1e-3F));
  ASSERT_TRUE(checks.before(before, Deadline(std::chrono::minutes(1))));
  ASSERT_TRUE(checks.after(after, {}, Deadline(std::chrono::minutes(1))));
  ASSERT_TRUE(checks.decide({opinion("exact", true, 1e-5F)}));
  EXPECT_EQ(row.verification, Verification::kWrong);
  EXPECT_THAT(row.message, HasSubstr("the outputs are no longer right after sampling: "));
}

TEST_F(Disputes, AreOpenedByOutputsAfterSamplingToo) {
  for (const auto& [exact, expected] :
       {std::pair(1e-5F, Verification::kVerified), std::pair(0.F, Verification::kWrong)}) {
    Record row = local_.task.row;
    row.launch_number = 1;
    OutputChecks checks(local_, row, reference_, folder_.path());
    Answers before("y", off_by(0)), after("y", off_by(1e-5F));
    ASSERT_TRUE(checks.before(before, Deadline(std::chrono::minutes(1))));
    EXPECT_FALSE(checks.is_disputed());
    ASSERT_TRUE(checks.after(after, {}, Deadline(std::chrono::minutes(1))));
    EXPECT_TRUE(checks.is_disputed());
    ASSERT_TRUE(checks.decide({opinion("exact", true, exact)}));
    EXPECT_EQ(row.verification, expected) << row.message;
  }
}

}  // namespace
}  // namespace assay
