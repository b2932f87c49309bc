// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/verify/judge_testing.hpp"
#include "bench/verify/verify.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using testing::floats;
using ::testing::HasSubstr;
using testing::ids;
using testing::Judge;
using testing::kInfinity;
using testing::kNaN;
using testing::tensor;

TEST_F(Judge, VerifiesNumbersWithinTheLimit) {
  const Verdict v = judged(2e-6);
  EXPECT_EQ(v.verification, Verification::kVerified) << v.message;
  EXPECT_EQ(v.reference, "given");
  EXPECT_EQ(v.worst_output, "y");
  EXPECT_NEAR(*v.error_limit, 1e-5, 1e-6) << "the floor of float32 times a root mean square of 1";
  EXPECT_NEAR(*v.max_abs_error, 2e-6, 3e-7);
  EXPECT_NEAR(*v.rms_error, 2e-6 / std::sqrt(3), 2e-7);
  EXPECT_DOUBLE_EQ(*v.rms_limit, 2e-6);
  EXPECT_NEAR(*v.honest_error, 1e-7 / std::sqrt(3), 2e-8);
  EXPECT_NEAR(*v.cosine, 1.0, 1e-9);
  EXPECT_LE(*v.ratio, 1.0);
  EXPECT_EQ(v.message, "");
  EXPECT_FALSE(v.reason);
}

TEST_F(Judge, CallsNumbersBeyondTheLimitWrong) {
  const Verdict v = judged(1e-4);
  EXPECT_EQ(v.verification, Verification::kWrong);
  EXPECT_EQ(v.reason, ErrorCode::kMismatch);
  EXPECT_THAT(v.message, AllOf(HasSubstr("output 'y': "), HasSubstr("times the limit 2e-06")));
  EXPECT_GT(*v.ratio, 5.0);
}

TEST_F(Judge, LimitsAreRelativeToTheOutputsMagnitude) {
  for (const double scale : {1e-6, 1.0, 1e6}) {
    EXPECT_EQ(judged(2e-6, {}, scale).verification, Verification::kVerified) << scale;
    EXPECT_EQ(judged(1e-4, {}, scale).verification, Verification::kWrong) << scale;
  }
}

TEST_F(Judge, FollowsTheHonestError) {
  EXPECT_EQ(judged(2.5e-3, {}, 1.0, 1e-3).verification, Verification::kVerified);
  const Verdict v = judged(4e-3, {}, 1.0, 1e-3);
  EXPECT_EQ(v.verification, Verification::kWrong);
  EXPECT_NEAR(*v.rms_limit, kHonestFactor * 1e-3 / std::sqrt(3), 2e-4);
  // The floor of bfloat16 does not hide what is far from honest: nor does a large limit of another output.
  EXPECT_EQ(judged(0.35, {.precision = DType::kBFloat16}, 1.0, 0.01).verification, Verification::kWrong);
}

TEST_F(Judge, JudgesTheWorstRowAndTheLargestElement) {
  const auto with_row = [&](double error, std::size_t first, std::size_t count) {
    Tensor t = noise("a");
    for (std::size_t i = first; i < first + count; ++i) t.as<float>()[i] += static_cast<float>(error);
    return y(std::move(t));
  };
  VerifyOptions options;
  options.honest = honest({1e-3, -1e-3});
  const auto at = [&](double error, std::size_t count) {
    return *judge({{y(noise("a")), y(noise("b"))}, {with_row(error, 300, count), y(noise("b"))}}, options);
  };
  EXPECT_EQ(at(1e-3, 100).verification, Verification::kVerified);
  const Verdict row = at(3e-3, 100);  // one of 20 rows: 1e-3 of all
  EXPECT_EQ(row.verification, Verification::kWrong);
  EXPECT_THAT(row.message, HasSubstr("in the worst row"));
  EXPECT_LT(*row.rms_error, *row.rms_limit);
  const Verdict element = at(8e-3, 1);
  EXPECT_EQ(element.verification, Verification::kWrong);
  EXPECT_THAT(element.message, HasSubstr("element 300 of input set 0 is"));
  EXPECT_EQ(element.worst_element, "300 of set 0");
}

TEST_F(Judge, NamesTheElementWithTheLargestErrorAndNotTheFirst) {
  Tensor wrong = noise("b", 1e-7);
  wrong.as<float>()[777] = 9.0F;
  const Verdict v = *judge({{y(noise("a")), y(noise("b"))}, {y(noise("a", 1e-7)), y(std::move(wrong))}}, {});
  EXPECT_EQ(v.verification, Verification::kWrong);
  EXPECT_THAT(v.message, HasSubstr("element 777 of input set 1 is 9 instead of"));
  EXPECT_EQ(v.worst_element, "777 of set 1");
  EXPECT_NEAR(*v.max_abs_error, 9.0, 4.0);
}

TEST_F(Judge, SaysIllConditionedOnlyWithinTheLimit) {
  const Verdict v = judged(0.25, {}, 1.0, 0.2);
  EXPECT_EQ(v.verification, Verification::kIllConditioned) << v.message;
  EXPECT_THAT(v.message, HasSubstr("more than a tenth of its deviation"));
  EXPECT_FALSE(v.reason);
  EXPECT_EQ(judged(5.0, {}, 1.0, 0.2).verification, Verification::kWrong) << "beyond the limit comes first";
}

TEST_F(Judge, CallsUncorrelatedOutputsWrongIfHonestRunsCorrelate) {
  VerifyOptions options;
  const auto loosen = [&] {
    HonestOutput& y = options.honest->outputs[0];
    y.rms = y.row = y.element = 2;  // zeros are within
  };
  options.honest = honest({0.5, -0.5});
  ASSERT_GT(options.honest->outputs[0].correlation, 0.8);
  ASSERT_LT(options.honest->outputs[0].correlation, kHonestCorrelation);
  loosen();
  const auto at = [&](Tensor a, Tensor b) {
    return *judge({{y(noise("a")), y(noise("b"))}, {y(std::move(a)), y(std::move(b))}}, options);
  };
  const auto zeros = [] { return *Tensor::create(DType::kFloat32, {10, 100}); };
  EXPECT_EQ(at(zeros(), zeros()).verification, Verification::kIllConditioned)
      << "honest runs do not correlate above 0.9";
  options.honest = honest({0.4, 0.41});
  ASSERT_GT(options.honest->outputs[0].correlation, kHonestCorrelation);
  loosen();
  const Verdict zero = at(zeros(), zeros());
  EXPECT_EQ(zero.verification, Verification::kWrong);
  EXPECT_THAT(zero.message, HasSubstr("correlates with the reference by 0"));
  EXPECT_EQ(at(noise("c"), noise("d")).verification, Verification::kWrong);
  EXPECT_EQ(at(noise("a", 0.3), noise("b", 0.3)).verification, Verification::kIllConditioned);
}

TEST_F(Judge, TakesWideLimitsIfTheHonestErrorIsUnknown) {
  const auto at = [&](double error) {
    return judge({{y(noise("a")), y(noise("b"))}, {y(noise("a", error)), y(noise("b", error))}}, {})->verification;
  };
  EXPECT_EQ(at(9e-5), Verification::kVerified);
  EXPECT_EQ(at(3e-4), Verification::kWrong);
}

TEST_F(Judge, KnowsLowerPrecisions) {
  EXPECT_EQ(judged(7e-4, {.precision = DType::kFloat16}).verification, Verification::kVerified);
  EXPECT_EQ(judged(5e-2, {.precision = DType::kFloat16}).verification, Verification::kWrong);
  EXPECT_EQ(judged(6e-3, {.precision = DType::kBFloat16}).verification, Verification::kVerified);
  EXPECT_EQ(judge({{y(noise("a"))}, {y(noise("a"))}}, {.precision = DType::kFloat8E5M2}).error().code,
            ErrorCode::kUnsupported);
}

TEST_F(Judge, JudgesQuantisedModelsByTheirOwnErrorsAndTheirLargestLogits) {
  // 1,000 rows of ten logits.
  const auto logits = [&](std::string_view seed, double error, std::uint64_t of) {
    Tensor t = *Tensor::create(DType::kFloat32, {1000, 10});
    const CounterRandom values(1, seed), errors(of, "errors");
    for (std::size_t i = 0; i < 10000; ++i)
      t.as<float>()[i] = values.normal(i) + static_cast<float>(error) * (2.0F * errors.uniform(i) - 1.0F);
    return write("logits", std::move(t));
  };
  VerifyOptions options{.quantised = true};
  options.honest =
      *measure_honest("quantised", {logits("a", 0, 1), logits("b", 0, 1)},
                      {{logits("a", 0.05, 2), logits("b", 0.05, 2)}, {logits("a", 0.05, 3), logits("b", 0.05, 3)}}, {});
  const auto at = [&](double error) {
    return *judge({{logits("a", 0, 1), logits("b", 0, 1)}, {logits("a", error, 4), logits("b", error, 4)}}, options);
  };
  const Verdict fine = at(0.07);
  EXPECT_EQ(fine.verification, Verification::kVerified) << fine.message;
  EXPECT_GT(*fine.top1_agreement, 0.9);
  EXPECT_LT(*fine.top1_agreement, 1.0);
  EXPECT_EQ(at(0.4).verification, Verification::kWrong);
  // Errors within the limit that choose other tokens: a constant for the places of the largest.
  options.honest->outputs[0].rms = options.honest->outputs[0].row = options.honest->outputs[0].element = 10;
  const Verdict other = at(2);
  EXPECT_EQ(other.verification, Verification::kWrong);
  EXPECT_THAT(other.message, HasSubstr("% of the largest logits are other ones"));
}

TEST_F(Judge, IsUndecidedWhereTheHonestErrorOfTheArithmeticIsNotKnown) {
  const auto at = [&](double error, const VerifyOptions& options) {
    return *judge({{y(noise("a")), y(noise("b"))}, {y(noise("a", error)), y(noise("b", error))}}, options);
  };
  struct Case {
    VerifyOptions options;
    double right, undecided, wrong;
  };
  const VerifyOptions quantised{.quantised = true}, low{.precision = DType::kBFloat16};
  // Perturbed weights neither round results nor quantise: their errors are a lower bound.
  VerifyOptions perturbed = quantised, perturbed_low = low;
  perturbed.honest = honest({1e-7, -1e-7});
  perturbed_low.honest = honest({0.02, -0.02});
  for (const auto& [options, right, undecided, wrong] :
       {Case{quantised, 1e-3, 0.05, 2.0}, Case{perturbed, 1e-3, 0.05, 2.0}, Case{low, 5e-3, 0.1, 0.6},
        Case{perturbed_low, 0.05, 0.1, 0.6}}) {
    EXPECT_EQ(at(right, options).verification, Verification::kVerified) << at(right, options).message;
    const Verdict middle = at(undecided, options);
    EXPECT_EQ(middle.verification, Verification::kUnverified);
    EXPECT_THAT(middle.message, AllOf(HasSubstr("output 'y': the error's root mean square is "),
                                      HasSubstr("and the error of honest arithmetic is not known")));
    EXPECT_FALSE(middle.reason);
    EXPECT_EQ(at(wrong, options).verification, Verification::kWrong);
  }
  // In float32 the rounding of the last operator is a good guess.
  EXPECT_EQ(at(5e-5, {}).verification, Verification::kVerified);
  EXPECT_EQ(at(1e-3, {}).verification, Verification::kWrong);
  // The honest error of this arithmetic decides.
  perturbed.honest->method = "quantised";
  EXPECT_EQ(at(0.05, perturbed).verification, Verification::kWrong);
}

TEST_F(Judge, AnUndecidedOutputLeavesTheCellUnverified) {
  HonestErrors errors = honest({0.01, -0.01}, 1.0, "rounded");
  const VerifyOptions options{.precision = DType::kBFloat16, .honest = errors};  // of 'y' only
  const auto both = [&](double error) {
    Named named;
    named.emplace_back("y", noise("a", error));
    named.emplace_back("z", noise("b", error));
    return write(named);
  };
  EXPECT_EQ(judge({{both(0)}, {both(1e-3)}}, options)->verification, Verification::kVerified);
  const Verdict found = *judge({{both(0)}, {both(0.015)}}, options);
  EXPECT_EQ(found.verification, Verification::kUnverified);
  EXPECT_THAT(found.message, HasSubstr("output 'z'"));
  EXPECT_EQ(found.worst_output, "z") << "the error over the limit of 'y', which is right, is larger";
  EXPECT_FALSE(found.honest_error) << "the numbers are of 'z', too";
}

TEST_F(Judge, GivenOutputsMayHaveBeenComputedElsewhere) {
  EXPECT_EQ(judged(5e-5).verification, Verification::kWrong);
  EXPECT_EQ(judged(5e-5, {.given = true}).verification, Verification::kVerified);
  EXPECT_EQ(judged(1e-3, {.given = true}).verification, Verification::kWrong);
  VerifyOptions quantised{.quantised = true, .given = true};
  quantised.honest = honest({0.02, -0.02}, 1.0, "quantised");
  EXPECT_EQ(judged(0.05, quantised).verification, Verification::kVerified);
  EXPECT_EQ(judged(0.1, quantised).verification, Verification::kWrong) << "the honest error says enough";
}

TEST_F(Judge, ComparesHalfOutputsWithAFloat32Reference) {
  const Tensor reference = noise("a");
  Tensor half = *Tensor::create(DType::kFloat16, reference.shape());
  for (std::size_t i = 0; i < 1000; ++i) half.as<std::uint16_t>()[i] = float_to_half(reference.as<float>()[i]);
  const auto path = y(std::move(half));
  const OutputFiles files{{y(noise("a"))}, {path}};
  EXPECT_EQ(judge(files, {.precision = DType::kFloat16})->verification, Verification::kVerified);
  const Verdict strict = *judge(files, {});
  EXPECT_EQ(strict.verification, Verification::kWrong);
  EXPECT_THAT(strict.message, HasSubstr("is float16, not float32"));
}

TEST_F(Judge, PutsShapeDTypeAndMissingOutputsFirst) {
  const auto wrong = [&](const std::filesystem::path& candidate) {
    const Verdict v = *judge({{y(floats({3, 3, 3}))}, {candidate}}, {});  // a degenerate reference
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
    return judge({{y(std::move(reference))}, {y(std::move(candidate))}}, {})->verification;
  };
  EXPECT_EQ(at(with(noise("a"), 5, kNaN), with(noise("a"), 5, kNaN)), Verification::kVerified);
  EXPECT_EQ(at(with(noise("a"), 5, kNaN), noise("a")), Verification::kWrong);
  EXPECT_EQ(at(with(noise("a"), 5, kNaN), with(noise("a"), 6, kNaN)), Verification::kWrong);
  EXPECT_EQ(at(with(noise("a"), 5, kInfinity), with(noise("a"), 5, kInfinity)), Verification::kVerified);
  EXPECT_EQ(at(with(noise("a"), 5, kInfinity), with(noise("a"), 5, -kInfinity)), Verification::kWrong);
}

TEST_F(Judge, CallsAConstantReferenceDegenerateWhateverTheCandidate) {
  const Verdict v = *judge({{y(floats({0.1F, 0.1F, 0.1F}))}, {y(floats({5, 6, 7}))}}, {});
  EXPECT_EQ(v.verification, Verification::kDegenerate);
  EXPECT_THAT(v.message, HasSubstr("the reference is constant and proves nothing"));
  EXPECT_FALSE(v.reason);
  EXPECT_EQ(judge({{y(floats({0.1F, 0.1000001F, 0.1F}))}, {y(floats({5, 6, 7}))}}, {})->verification,
            Verification::kDegenerate)
      << "equal but for rounding";
  EXPECT_EQ(judge({{y(floats({kNaN, kNaN}))}, {y(floats({kNaN, kNaN}))}}, {})->verification, Verification::kDegenerate);
}

TEST_F(Judge, CallsAReferenceDegenerateThatIgnoresItsInputs) {
  const Verdict v = *judge({{y(noise("a")), y(noise("a"))}, {y(noise("a")), y(noise("a"))}}, {});
  EXPECT_EQ(v.verification, Verification::kDegenerate);
  EXPECT_THAT(v.message, HasSubstr("does not change with its inputs"));
}

TEST_F(Judge, JudgesASingleElementByHowItChanges) {
  VerifyOptions options;
  options.honest = *measure_honest("perturbed", {y(floats({0.5F})), y(floats({0.7F}))},
                                   {{y(floats({0.5000001F})), y(floats({0.7000001F}))}}, {});
  const auto at = [&](float second) {
    return judge({{y(floats({0.5F})), y(floats({0.7F}))}, {y(floats({0.5F})), y(floats({second}))}}, options)
        ->verification;
  };
  EXPECT_EQ(at(0.7F), Verification::kVerified);
  EXPECT_EQ(at(0.71F), Verification::kWrong);
}

TEST_F(Judge, DegenerateComesBeforeIllConditioned) {
  VerifyOptions options;
  options.honest = *measure_honest("perturbed", {y(floats({1, 1}))}, {{y(floats({9, 1}))}}, {});
  EXPECT_EQ(judge({{y(floats({1, 1}))}, {y(floats({1, 1}))}}, options)->verification, Verification::kDegenerate);
}

TEST_F(Judge, NamesSetsByTheirNumbers) {
  const Verdict found = *judge({{y(noise("a"))}, {y(noise("a", 1e-2))}}, {.sets = {2}});
  EXPECT_THAT(found.message, HasSubstr(" of input set 2 is "));
  EXPECT_EQ(found.worst_set, 2U);
  EXPECT_THAT(found.worst_element, HasSubstr(" of set 2"));
}

TEST_F(Judge, MessageAndNumbersAreOfTheSameOutput) {
  const auto both = [&](double a, double b) {
    Named tensors;
    tensors.emplace_back("a", noise("a", a));
    tensors.emplace_back("b", noise("b", b));
    return write(tensors);
  };
  const Verdict v = *judge({{both(0, 0)}, {both(1e-2, 0.5)}}, {});
  EXPECT_EQ(v.verification, Verification::kWrong);
  EXPECT_EQ(v.worst_output, "b");
  EXPECT_THAT(v.message, HasSubstr("output 'b'"));
  EXPECT_NEAR(*v.max_abs_error, 0.5, 0.05);
}

TEST_F(Judge, HonestErrorsAreAValueThatIsKept) {
  const HonestErrors errors = honest({1e-3, -2e-3});
  const Result<HonestErrors> again = honest_from_json(to_json(errors));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(errors));
  EXPECT_NEAR(errors.outputs[0].moves, 2e-3 / std::sqrt(3), 1e-4);
  EXPECT_GE(errors.outputs[0].rms, errors.outputs[0].moves);
  EXPECT_LT(errors.outputs[0].rms, 1.1 * errors.outputs[0].moves) << "of 4,000 errors";
  EXPECT_FALSE(honest_from_json(Json::object()));
  const HonestErrors few =
      *measure_honest("perturbed", {y(floats({1, 2}))}, {{y(floats({1.001F, 2}))}, {y(floats({1, 2.001F}))}}, {});
  EXPECT_GT(few.outputs[0].rms, 2 * few.outputs[0].moves) << "four errors may be small by chance";
}

TEST_F(Judge, HasOneVerdictForSeveralOutputs) {
  const auto both = [&](Tensor a, Tensor b) {
    Named tensors;
    tensors.emplace_back("a", std::move(a));
    tensors.emplace_back("b", std::move(b));
    return write(tensors);
  };
  const auto at = [&](Tensor a, Tensor b) {
    return *judge({{both(noise("a"), floats({2, 2}))}, {both(std::move(a), std::move(b))}}, {});
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
  EXPECT_EQ(judge({{state(5)}, {state(77)}}, options)->verification, Verification::kVerified);
  EXPECT_EQ(judge({{state(5)}, {state(kNaN)}}, options)->verification, Verification::kVerified);
  EXPECT_EQ(judge({{state(5)}, {state(77)}}, {})->verification, Verification::kWrong);
}

TEST_F(Judge, RefusesSetsThatDoNotMatch) {
  EXPECT_EQ(judge({}, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(judge({{y(noise("a"))}, {}}, {}).error().message, HasSubstr("1 reference and 0 candidate files"));
  EXPECT_EQ(judge({{"/none"}, {"/none"}}, {}).error().code, ErrorCode::kNotFound);
}

TEST(Floors, AreOrderedByPrecision) {
  for (std::size_t i = 1; i + 1 < floors().size(); ++i) {
    EXPECT_GE(floors()[i].rms, floors()[i - 1].rms);
    EXPECT_GE(floors()[i].element, floors()[i - 1].element);
  }
}

}  // namespace
}  // namespace assay
