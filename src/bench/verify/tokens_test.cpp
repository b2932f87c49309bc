// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/files.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;

/// Two sequences of three tokens; the largest logits of each place are 5, 4.9 and 1 for the tokens 7, 8 and 9.
class Tokens : public ::testing::Test {
 protected:
  Tokens() {
    Tensor ids = Tensor::create(DType::kInt64, {2, 3, 3}).value(),
           logits = Tensor::create(DType::kFloat32, {2, 3, 3}).value();
    for (std::size_t i = 0; i < 18; ++i) {
      ids.as<std::int64_t>()[i] = 7 + static_cast<std::int64_t>(i % 3);
      logits.as<float>()[i] = std::array{5.0F, 4.9F, 1.0F}[i % 3];
    }
    const std::array<NamedView, 2> named{{{"ids", ids.view()}, {"logits", logits.view()}}};
    EXPECT_TRUE(write_safetensors(file_, named, {}, Persistence::kScratch));
  }
  [[nodiscard]] TokenCheck check(const std::vector<std::int64_t>& ids, double margin) const {
    return check_tokens(file_, {DType::kInt64, {2, 3}, std::as_bytes(std::span(ids))}, margin).value();
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  std::filesystem::path file_ = folder_.path() / "largest.safetensors";
};

TEST_F(Tokens, TheReferencesOwnAreAllCompared) {
  const TokenCheck same = check({7, 7, 7, 7, 7, 7}, 0);
  EXPECT_EQ(same.message, "");
  EXPECT_EQ(same.tokens, 6);
  EXPECT_EQ(same.compared, 6);
}

TEST_F(Tokens, ASequenceMayLeaveWhereTwoLogitsAreNearlyEqual) {
  const TokenCheck near = check({7, 8, 3, 7, 7, 7}, 0.2);
  EXPECT_EQ(near.message, "");
  EXPECT_EQ(near.compared, 5) << "what follows in the first sequence is another text";
  EXPECT_THAT(
      check({7, 8, 3, 7, 7, 7}, 0.05).message,
      HasSubstr("token 2 of sequence 1 is 8 instead of 7: the reference's logit of it is 0.1 less, 0.05 may be"));
}

TEST_F(Tokens, ATokenThatTheReferenceWouldNotChooseIsWrong) {
  EXPECT_THAT(check({7, 7, 7, 7, 7, 9}, 0.2).message, HasSubstr("token 3 of sequence 2 is 9 instead of 7"));
  EXPECT_THAT(check({1, 7, 7, 7, 7, 7}, 0.2).message, HasSubstr("at least 4 less"));
}

TEST_F(Tokens, ForcedOnesAreAllComparedWithTheBestOfTheirPlace) {
  Tensor forced = Tensor::create(DType::kFloat32, {2, 3}).value();
  std::ranges::fill(forced.as<float>(), 5.0F);
  const SafetensorsFile greedy = SafetensorsFile::open(file_).value();
  const std::vector<std::int64_t> ids{7, 8, 3, 7, 7, 7};
  const auto check = [&] {
    const std::array<NamedView, 3> named{{{"ids", greedy.tensor("ids").value()},
                                          {"logits", greedy.tensor("logits").value()},
                                          {"forced", forced.view()}}};
    const std::filesystem::path file = folder_.path() / "forced.safetensors";
    EXPECT_TRUE(write_safetensors(file, named, {}, Persistence::kScratch));
    return check_forced_tokens(file, {DType::kInt64, {2, 3}, std::as_bytes(std::span(ids))}, 0.2).value();
  };
  forced.as<float>()[1] = 4.9F;
  EXPECT_EQ(check().message, "");
  EXPECT_EQ(check().compared, 6);
  forced.as<float>()[2] = 1.0F;
  EXPECT_EQ(check().message,
            "token 3 of sequence 1 is 3; after the same tokens the reference's logit of it is 4 less than that of 7, "
            "0.2 may be");
}

TEST_F(Tokens, OfAnotherShapeAreAnError) {
  const std::vector<std::int64_t> ids(4);
  const auto found = check_tokens(file_, {DType::kInt64, {2, 2}, std::as_bytes(std::span(ids))}, 0);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kMismatch);
}

}  // namespace
}  // namespace assay
