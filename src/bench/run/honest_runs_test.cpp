// SPDX-License-Identifier: Apache-2.0
#include "bench/run/honest_runs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {
using ::testing::HasSubstr;

TEST(HonestRuns, TheBatchIsReducedToOneExceptOfFiles) {
  const std::vector<InputRecipe> recipes{{.name = "input_ids", .dtype = DType::kInt64, .shape = {8, 128}},
                                         {.name = "table", .dtype = DType::kFloat32, .shape = {128, 8}},
                                         {.name = "scalar", .dtype = DType::kFloat32, .shape = {}}};
  const std::vector<InputRecipe> one = at_batch_one(recipes, 8);
  EXPECT_EQ(one[0].shape, (Shape{1, 128}));
  EXPECT_EQ(one[1].shape, (Shape{128, 8}));
  EXPECT_EQ(one[2].shape, Shape{});
  std::vector<InputRecipe> files = recipes;
  files[0].fill = Fill::kFile;
  EXPECT_EQ(at_batch_one(files, 8)[0].shape, (Shape{8, 128}));
}

TEST(HonestRuns, TheArtefactIsThatOfTheMethod) {
  ArtefactSpec half;
  half.zoo = ZooBuild{};
  half.zoo->precision = "float16";
  ArtefactSpec reference = half;
  reference.zoo->precision = "float32";
  reference.zoo->weights_rounded_to = DType::kFloat16;
  const HonestMethod rounded{.kind = HonestMethod::Kind::kRounded, .precision = DType::kFloat16};
  EXPECT_EQ(rounded.artefact(half, reference, 2).zoo->precision, "float16")
      << "with the types of the candidate's graph";
  EXPECT_EQ(rounded.artefact(half, reference, 2).honest->seed, 2U);
  const HonestMethod perturbed{.kind = HonestMethod::Kind::kPerturbed, .precision = DType::kFloat32};
  EXPECT_EQ(perturbed.artefact(half, reference, 0).zoo->precision, "float32");
  EXPECT_NE(perturbed.artefact(half, reference, 0).perturbation->seed,
            perturbed.artefact(half, reference, 1).perturbation->seed);
  EXPECT_FALSE(perturbed.artefact(half, reference, 0).honest);
  const HonestMethod quantised{.kind = HonestMethod::Kind::kQuantised};
  EXPECT_TRUE(quantised.artefact(half, reference, 0).perturbation && quantised.artefact(half, reference, 0).honest);
}

TEST(HonestRuns, ACpuWithoutVnniSaturates) {
  EXPECT_THAT(saturation_hint({"avx", "avx2", "avx512f"}), HasSubstr("no VNNI"));
  EXPECT_EQ(saturation_hint({"avx", "avx2", "avx512f", "avx512_vnni"}), "");
  EXPECT_EQ(saturation_hint({"avx2", "avx_vnni"}), "");
  EXPECT_EQ(saturation_hint({"asimd", "asimddp"}), "");
}

}  // namespace
}  // namespace assay
