// SPDX-License-Identifier: Apache-2.0
#include "verify/honest.hpp"

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

TEST(Honest, AReferenceThatIsFarOffIsAnOutlierAndDoesNotMoveTheLimitFar) {
  EXPECT_DOUBLE_EQ(with_reference_error(errors_of(5e-6), errors_of(0.3)).find("y")->rms, 5e-5);
  EXPECT_DOUBLE_EQ(with_reference_error(errors_of(0), errors_of(0.3)).find("y")->rms, 1e-5)
      << "of the least error that is assumed";
  EXPECT_DOUBLE_EQ(with_reference_error(std::nullopt, errors_of(0.3)).find("y")->rms, 1e-5);
}

}  // namespace
}  // namespace assay
