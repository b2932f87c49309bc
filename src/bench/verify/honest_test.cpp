// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/honest.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

HonestErrors errors_of(double rms) {
  HonestOutput output;
  output.name = "y";
  output.moves = output.rms = output.row = output.element = rms;
  return {.method = "perturbed", .runs = 2, .outputs = {output}};
}

TEST(Honest, TheReferencesOwnErrorCountsIfItIsLarger) {
  const HonestErrors together = with_reference_error(errors_of(5e-6), errors_of(2e-5));
  EXPECT_EQ(together.method, "perturbed");
  EXPECT_EQ(together.find("y")->rms, 2e-5);
  EXPECT_EQ(together.find("y")->element, 2e-5);
  EXPECT_EQ(with_reference_error(errors_of(5e-6), errors_of(1e-7)).find("y")->rms, 5e-6);
}

TEST(Honest, AReferenceThatIsFarOffIsNoExampleOfHonestArithmetic) {
  EXPECT_EQ(with_reference_error(errors_of(5e-6), errors_of(5e-5)).find("y")->rms, 5e-5);
  EXPECT_EQ(with_reference_error(errors_of(5e-6), errors_of(6e-5)).find("y")->rms, 5e-6);
  EXPECT_EQ(with_reference_error(errors_of(0), errors_of(9e-6)).find("y")->rms, 9e-6)
      << "ten times the least error that is assumed";
  EXPECT_EQ(with_reference_error(errors_of(0), errors_of(0.3)).find("y")->rms, 0);
}

TEST(Honest, OutputsWithoutPerturbedRunsGetNoErrorFromTheReference) {
  EXPECT_EQ(with_reference_error({.method = "perturbed", .runs = 2, .outputs = {}}, errors_of(1e-7)).find("y"),
            nullptr);
}

}  // namespace
}  // namespace assay
