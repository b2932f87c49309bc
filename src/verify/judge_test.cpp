// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/files.hpp"
#include "tensor/random.hpp"
#include "verify/verify.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
Tensor tensor(DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor result = *Tensor::create(dtype, std::move(shape));
  std::copy(values.begin(), values.end(), result.as<T>().begin());
  return result;
}
Tensor floats(const std::vector<float>& values) {
  return tensor<float>(DType::kFloat32, {static_cast<std::int64_t>(values.size())}, values);
}
Tensor ids(const std::vector<std::int64_t>& values) {
  return tensor<std::int64_t>(DType::kInt64, {static_cast<std::int64_t>(values.size())}, values);
}

class Judge : public ::testing::Test {
 protected:
  using Named = std::vector<std::pair<std::string, Tensor>>;

  std::filesystem::path write(const Named& tensors) {
    std::vector<NamedView> views;
    for (const auto& [name, t] : tensors) views.push_back({name, t.view()});
    auto path = folder_->path() / std::to_string(count_++);
    EXPECT_TRUE(write_safetensors(path, views));
    return path;
  }
  std::filesystem::path write(const std::string& name, Tensor value) {
    Named tensors;
    tensors.emplace_back(name, std::move(value));
    return write(tensors);
  }
  std::filesystem::path y(Tensor value) { return write("y", std::move(value)); }

  // 1,000 values of mean 0 and deviation 1, times `scale`, each moved by up to `error`.
  static Tensor noise(std::string_view seed, double error = 0.0, double scale = 1.0, double offset = 0.0) {
    Tensor t = *Tensor::create(DType::kFloat32, {10, 100});
    const CounterRandom values(1, seed), errors(2, "errors");
    for (std::size_t i = 0; i < 1000; ++i) {
      const double moved =
          static_cast<double>(values.normal(i)) + error * (2.0 * static_cast<double>(errors.uniform(i)) - 1.0);
      t.as<float>()[i] = static_cast<float>(scale * moved + offset);
    }
    return t;
  }
  static Tensor with(Tensor t, std::size_t index, float value) {
    t.as<float>()[index] = value;
    return t;
  }
  // Two sets of references and candidates; the reference moves by 1e-7 of its deviation under perturbation.
  Verdict judged(double error, const VerifyOptions& options = {}, double scale = 1.0, double movement = 1e-7) {
    return *judge({{y(noise("a", 0, scale)), y(noise("b", 0, scale))},
                   {y(noise("a", movement, scale)), y(noise("b", movement, scale))},
                   {y(noise("a", error, scale)), y(noise("b", error, scale))}},
                  options);
  }

  Result<TemporaryDirectory> folder_ = TemporaryDirectory::create();
  int count_ = 0;
};

TEST_F(Judge, VerifiesNumbersWithinTheLimit) {
  const Verdict v = judged(3e-6);
  EXPECT_EQ(v.verification, Verification::kVerified) << v.message;
  EXPECT_EQ(v.reference, "given");
  EXPECT_EQ(v.worst_output, "y");
  EXPECT_NEAR(*v.error_limit, 1e-5, 1e-6) << "the floor of float32 times a root mean square of 1";
  EXPECT_NEAR(*v.max_abs_error, 3e-6, 3e-7);
  EXPECT_NEAR(*v.cosine, 1.0, 1e-9);
  EXPECT_LE(*v.ratio, 1.0);
  EXPECT_EQ(v.message, "");
  EXPECT_FALSE(v.reason);
}

TEST_F(Judge, CallsNumbersBeyondTheLimitWrong) {
  const Verdict v = judged(1e-4);
  EXPECT_EQ(v.verification, Verification::kWrong);
  EXPECT_EQ(v.reason, ErrorCode::kMismatch);
  EXPECT_THAT(v.message, AllOf(HasSubstr("output 'y': element "), HasSubstr("times the limit 1")));
  EXPECT_GT(*v.ratio, 5.0);
}

TEST_F(Judge, LimitsAreRelativeToTheOutputsMagnitude) {
  for (const double scale : {1e-6, 1.0, 1e6}) {
    EXPECT_EQ(judged(3e-6, {}, scale).verification, Verification::kVerified) << scale;
    EXPECT_EQ(judged(1e-4, {}, scale).verification, Verification::kWrong) << scale;
  }
}

TEST_F(Judge, FollowsTheReferencesOwnMovement) {
  EXPECT_EQ(judged(1e-4, {}, 1.0, 1e-5).verification, Verification::kVerified);
  const Verdict v = judged(1e-3, {}, 1.0, 1e-5);
  EXPECT_EQ(v.verification, Verification::kWrong);
  EXPECT_NEAR(*v.error_limit, 2e-4, 2e-5);
}

TEST_F(Judge, SaysIllConditionedAndNeverCallsItWrong) {
  const Verdict v = judged(5.0, {}, 1.0, 0.2);
  EXPECT_EQ(v.verification, Verification::kIllConditioned);
  EXPECT_THAT(v.message, HasSubstr("the reference itself moves by 0."));
  EXPECT_FALSE(v.reason);
}

TEST_F(Judge, TakesTenFloorsWhereTheMovementIsUnknown) {
  const auto at = [&](double error) {
    return judge({{y(noise("a")), y(noise("b"))}, {}, {y(noise("a", error)), y(noise("b", error))}}, {})->verification;
  };
  EXPECT_EQ(at(9e-5), Verification::kVerified);
  EXPECT_EQ(at(2e-4), Verification::kWrong);
}

TEST_F(Judge, KnowsLowerPrecisions) {
  EXPECT_EQ(judged(5e-3, {.precision = DType::kFloat16}).verification, Verification::kVerified);
  EXPECT_EQ(judged(5e-2, {.precision = DType::kFloat16}).verification, Verification::kWrong);
  EXPECT_EQ(judged(3e-2, {.precision = DType::kBFloat16}).verification, Verification::kVerified);
  EXPECT_EQ(judge({{y(noise("a"))}, {}, {y(noise("a"))}}, {.precision = DType::kFloat8E5M2}).error().code,
            ErrorCode::kUnsupported);
}

TEST_F(Judge, ComparesHalfOutputsWithAFloat32Reference) {
  const Tensor reference = noise("a");
  Tensor half = *Tensor::create(DType::kFloat16, reference.shape());
  for (std::size_t i = 0; i < 1000; ++i) half.as<std::uint16_t>()[i] = float_to_half(reference.as<float>()[i]);
  const auto path = y(std::move(half));
  const OutputFiles files{{y(noise("a"))}, {}, {path}};
  EXPECT_EQ(judge(files, {.precision = DType::kFloat16})->verification, Verification::kVerified);
  const Verdict strict = *judge(files, {});
  EXPECT_EQ(strict.verification, Verification::kWrong);
  EXPECT_THAT(strict.message, HasSubstr("is float16, not float32"));
}

TEST_F(Judge, PutsShapeDTypeAndMissingOutputsFirst) {
  const auto wrong = [&](const std::filesystem::path& candidate) {
    const Verdict v = *judge({{y(floats({3, 3, 3}))}, {}, {candidate}}, {});  // a degenerate reference
    EXPECT_EQ(v.verification, Verification::kWrong);
    EXPECT_EQ(v.worst_output, "y");
    return v.message;
  };
  EXPECT_THAT(wrong(y(floats({3, 3}))), HasSubstr("has the shape [2], not [3]"));
  EXPECT_THAT(wrong(y(ids({3, 3, 3}))), HasSubstr("is int64, not float32"));
  EXPECT_THAT(wrong(write("z", floats({3, 3, 3}))), HasSubstr("'y': is missing"));
  EXPECT_THAT(wrong(y(floats({3, kNaN, 3}))), HasSubstr("1 NaN and 0 infinite elements, the reference has 0 and 0"));
}

TEST_F(Judge, NaNEqualsOnlyNaN) {
  const auto at = [&](Tensor reference, Tensor candidate) {
    return judge({{y(std::move(reference))}, {}, {y(std::move(candidate))}}, {})->verification;
  };
  EXPECT_EQ(at(with(noise("a"), 5, kNaN), with(noise("a"), 5, kNaN)), Verification::kVerified);
  EXPECT_EQ(at(with(noise("a"), 5, kNaN), noise("a")), Verification::kWrong);
  EXPECT_EQ(at(with(noise("a"), 5, kNaN), with(noise("a"), 6, kNaN)), Verification::kWrong);
  EXPECT_EQ(at(with(noise("a"), 5, kInfinity), with(noise("a"), 5, kInfinity)), Verification::kVerified);
  EXPECT_EQ(at(with(noise("a"), 5, kInfinity), with(noise("a"), 5, -kInfinity)), Verification::kWrong);
}

TEST_F(Judge, CallsAConstantReferenceDegenerateWhateverTheCandidate) {
  const Verdict v = *judge({{y(floats({0.1F, 0.1F, 0.1F}))}, {}, {y(floats({5, 6, 7}))}}, {});
  EXPECT_EQ(v.verification, Verification::kDegenerate);
  EXPECT_THAT(v.message, HasSubstr("the reference is constant and proves nothing"));
  EXPECT_FALSE(v.reason);
  EXPECT_EQ(judge({{y(floats({0.1F, 0.1000001F, 0.1F}))}, {}, {y(floats({5, 6, 7}))}}, {})->verification,
            Verification::kDegenerate)
      << "equal but for rounding";
  EXPECT_EQ(judge({{y(floats({kNaN, kNaN}))}, {}, {y(floats({kNaN, kNaN}))}}, {})->verification,
            Verification::kDegenerate);
  EXPECT_EQ(judge({{y(floats({1, 1}))}, {}, {y(floats({1, 1}))}}, {.tolerance = Tolerance{1e-3, 1e-3}})->verification,
            Verification::kDegenerate)
      << "a given tolerance proves no more";
}

TEST_F(Judge, CallsAReferenceDegenerateThatIgnoresItsInputs) {
  const Verdict v = *judge({{y(noise("a")), y(noise("a"))}, {}, {y(noise("a")), y(noise("a"))}}, {});
  EXPECT_EQ(v.verification, Verification::kDegenerate);
  EXPECT_THAT(v.message, HasSubstr("does not change with its inputs"));
}

TEST_F(Judge, JudgesASingleElementByHowItChanges) {
  const OutputFiles files{{y(floats({0.5F})), y(floats({0.7F}))},
                          {y(floats({0.5000001F})), y(floats({0.7000001F}))},
                          {y(floats({0.5F})), y(floats({0.7F}))}};
  EXPECT_EQ(judge(files, {})->verification, Verification::kVerified);
}

TEST_F(Judge, DegenerateComesBeforeIllConditioned) {
  EXPECT_EQ(judge({{y(floats({1, 1}))}, {y(floats({9, 1}))}, {y(floats({1, 1}))}}, {})->verification,
            Verification::kDegenerate);
}

TEST_F(Judge, JudgesIntegersByAgreement) {
  std::vector<std::int64_t> expected(1000), other(1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    expected[i] = static_cast<std::int64_t>(i * 37 % 101);
    other[i] = static_cast<std::int64_t>(i * 11 % 103);
  }
  const auto changed = [&](std::size_t n) {
    std::vector<std::int64_t> values = expected;
    for (std::size_t i = 0; i < n; ++i) values[i * 7] += 50;
    return values;
  };
  const auto at = [&](std::size_t differing, std::size_t moved) {
    return *judge({{y(ids(expected)), y(ids(other))},
                   {y(ids(changed(moved))), y(ids(other))},
                   {y(ids(changed(differing))), y(ids(other))}},
                  {});
  };
  EXPECT_EQ(at(1, 0).verification, Verification::kVerified);
  EXPECT_EQ(at(2, 0).verification, Verification::kWrong);
  EXPECT_THAT(at(2, 0).message, HasSubstr("0.2 % of 1000 elements differ, 0.1 % may"));
  EXPECT_EQ(at(40, 2).verification, Verification::kVerified) << "20 times what the reference itself changes";
  EXPECT_EQ(at(0, 120).verification, Verification::kIllConditioned);
}

TEST_F(Judge, HasOneVerdictForSeveralOutputs) {
  const auto both = [&](Tensor a, Tensor b) {
    Named tensors;
    tensors.emplace_back("a", std::move(a));
    tensors.emplace_back("b", std::move(b));
    return write(tensors);
  };
  const auto at = [&](Tensor a, Tensor b) {
    return *judge({{both(noise("a"), floats({2, 2}))}, {}, {both(std::move(a), std::move(b))}}, {});
  };
  const Verdict fine = at(noise("a"), floats({2, 2}));
  EXPECT_EQ(fine.verification, Verification::kVerified);
  EXPECT_THAT(fine.message, HasSubstr("'b': the reference is constant"))
      << "named, though the other output proves enough";
  EXPECT_EQ(at(noise("a", 1e-2), floats({2, 2})).worst_output, "a");
  EXPECT_EQ(at(noise("a", 1e-2), floats({2, 2})).verification, Verification::kWrong);
  const Verdict constant_wrong = at(noise("a"), floats({2, 3}));
  EXPECT_EQ(constant_wrong.verification, Verification::kWrong) << "the cell is not degenerate, so its constants count";
  EXPECT_EQ(constant_wrong.worst_output, "b");
  EXPECT_EQ(constant_wrong.outputs.size(), 2U);
}

TEST_F(Judge, DoesNotCountMaskedPositions) {
  const Tensor mask = tensor<std::int64_t>(DType::kInt64, {1, 3}, {1, 1, 0});
  const auto state = [&](float masked) {
    return y(tensor<float>(DType::kFloat32, {1, 3, 2}, {1, 2, 3, 4, masked, masked}));
  };
  VerifyOptions options{.inputs = {{{"attention_mask", mask.view()}}}};
  EXPECT_EQ(judge({{state(5)}, {}, {state(77)}}, options)->verification, Verification::kVerified);
  EXPECT_EQ(judge({{state(5)}, {}, {state(kNaN)}}, options)->verification, Verification::kVerified);
  EXPECT_EQ(judge({{state(5)}, {}, {state(77)}}, {})->verification, Verification::kWrong);
}

TEST_F(Judge, RefusesSetsThatDoNotMatch) {
  EXPECT_EQ(judge({}, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(judge({{y(noise("a"))}, {}, {}}, {}).error().message,
              HasSubstr("1 reference, 0 perturbed and 0 candidate files"));
  EXPECT_EQ(judge({{"/none"}, {}, {"/none"}}, {}).error().code, ErrorCode::kNotFound);
}

using Golden = Judge;

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

TEST(Floors, AreOrderedByPrecision) {
  for (std::size_t i = 1; i < floors().size(); ++i) EXPECT_GE(floors()[i].relative, floors()[i - 1].relative);
}

}  // namespace
}  // namespace assay
