// SPDX-License-Identifier: Apache-2.0
#include "bench/run/timed_ids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;
namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;

constexpr std::size_t kTokens = 16, kVocabulary = 11;
constexpr std::size_t kNearTie = 2;  ///< the place where two tokens are nearly equal
constexpr double kMargin = 0.1;

/// A model whose next token depends on all tokens before.
std::int64_t best_after(const Ids& text) {
  std::int64_t sum = 3;
  for (std::size_t i = 0; i < text.size(); ++i) sum += static_cast<std::int64_t>(i % 7 + 2) * (text[i] + 1);
  return sum % static_cast<std::int64_t>(kVocabulary);
}
float logit(const Ids& text, std::int64_t token) {
  const std::int64_t best = best_after(text);
  if (token == best) return 5.0F;
  const bool second = token == (best + 1) % static_cast<std::int64_t>(kVocabulary);
  return second && text.size() == kNearTie ? 4.95F : second ? 2.0F : 0.0F;
}

/// What a runtime generates that chooses the other one of two nearly equal tokens, and loses the newest place of its
/// cache from a token on.
Ids generated(bool other, std::size_t loses_from = kTokens) {
  Ids text;
  while (text.size() < kTokens) {
    Ids seen = text;
    if (text.size() >= loses_from) seen.back() = 0;
    const bool second = other && text.size() == kNearTie;
    text.push_back((best_after(seen) + (second ? 1 : 0)) % static_cast<std::int64_t>(kVocabulary));
  }
  return text;
}

class TimedIdsOfGenerations : public ::testing::Test {
 protected:
  /// The two largest logits of each place of a text, and those of the text itself.
  fs::path judged(const Ids& text, const std::string& name) const {
    Tensor ids = Tensor::create(DType::kInt64, {1, kTokens, 2}).value();
    Tensor logits = Tensor::create(DType::kFloat32, {1, kTokens, 2}).value();
    Tensor forced = Tensor::create(DType::kFloat32, {1, kTokens}).value();
    Ids before;
    for (std::size_t i = 0; i < kTokens; ++i) {
      const std::int64_t best = best_after(before);
      for (const std::int64_t rank : {0, 1}) {
        const std::int64_t token = (best + rank) % static_cast<std::int64_t>(kVocabulary);
        const std::size_t at = i * 2 + static_cast<std::size_t>(rank);
        ids.as<std::int64_t>()[at] = token;
        logits.as<float>()[at] = logit(before, token);
      }
      forced.as<float>()[i] = logit(before, text[i]);
      before.push_back(text[i]);
    }
    const std::array<NamedView, 3> named{{{"ids", ids.view()}, {"logits", logits.view()}, {"forced", forced.view()}}};
    fs::path file = folder_.path() / name;
    EXPECT_TRUE(write_safetensors(file, named, {}, Persistence::kScratch));
    return file;
  }
  [[nodiscard]] TimedIdsCheck compare(const std::vector<Ids>& texts) const {
    std::vector<NamedView> named;
    for (std::size_t i = 0; i < texts.size(); ++i)
      named.push_back({"0/0/" + std::to_string(i), {DType::kInt64, {1, kTokens}, std::as_bytes(std::span(texts[i]))}});
    const fs::path file = folder_.path() / "tokens";
    EXPECT_TRUE(write_safetensors(file, named, {}, Persistence::kScratch));
    return TimedIdsCheck::compare(file, {judged(generated(false), "largest")}, kMargin).value();
  }
  [[nodiscard]] ForceIds force() {
    return [this](std::span<const TimedIds> generations) -> Result<std::vector<fs::path>> {
      std::vector<fs::path> files;
      for (const TimedIds& generation : generations) {
        EXPECT_EQ(generation.set, 0U);
        const auto ids = generation.ids.as<std::int64_t>();
        files.push_back(judged(Ids(ids.begin(), ids.end()), "forced" + std::to_string(forced_++)));
      }
      return files;
    };
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  int forced_ = 0;
};

TEST_F(TimedIdsOfGenerations, NeedNoRunOfTheReferenceIfTheyAreItsOwn) {
  const TimedIdsCheck check = compare({generated(false)});
  EXPECT_FALSE(check.expects_force());
  EXPECT_EQ(check.message(), "");
  EXPECT_EQ(check.text(), "16 of 16 token ids");
}

TEST_F(TimedIdsOfGenerations, AreForcedThroughTheReferenceWhereTheyLeaveIt) {
  TimedIdsCheck check = compare({generated(false), generated(true)});
  ASSERT_TRUE(check.expects_force());
  EXPECT_EQ(check.text(), "19 of 32 token ids");
  ASSERT_TRUE(check.force(force()));
  EXPECT_EQ(check.message(), "");
  EXPECT_EQ(check.text(), "32 of 32 token ids (1 generation forced through the reference)");
  EXPECT_EQ(forced_, 1);
  EXPECT_FALSE(check.expects_force());
}

TEST_F(TimedIdsOfGenerations, ShowACacheThatLosesAPlaceAfterTheyLeft) {
  TimedIdsCheck check = compare({generated(true, 10)});
  EXPECT_EQ(check.message(), "") << "until the third token nothing is wrong";
  ASSERT_TRUE(check.expects_force());
  ASSERT_TRUE(check.force(force()));
  EXPECT_THAT(check.message(), HasSubstr("timed generation of input set 0: token 11 of sequence 1 is "));
}

TEST_F(TimedIdsOfGenerations, ThatCannotBeForcedWereComparedUntilTheyLeft) {
  TimedIdsCheck check = compare({generated(true)});
  const Status done = check.force(
      [](std::span<const TimedIds>) -> Result<std::vector<fs::path>> { return fail(ErrorCode::kTimeout, "too late"); });
  EXPECT_FALSE(done);
  EXPECT_EQ(check.message(), "");
  EXPECT_EQ(check.text(), "3 of 16 token ids");
}

TEST_F(TimedIdsOfGenerations, ThatCannotBeForcedLeaveTheRowUnverifiedOrEndTheAttempt) {
  const auto row_after = [&](ErrorCode code, bool& ended) {
    Record row;
    row.verification = Verification::kVerified;
    TimedIdsCheck check = compare({generated(true)});
    ended = !force_ids(
        check, [&](std::span<const TimedIds>) -> Result<std::vector<fs::path>> { return fail(code, "why"); }, row);
    return row;
  };
  bool ended = false;
  const Record late = row_after(ErrorCode::kTimeout, ended);
  EXPECT_FALSE(ended);
  EXPECT_EQ(late.verification, Verification::kUnverified);
  EXPECT_EQ(late.message, "not all token ids were compared: why");
  (void)row_after(ErrorCode::kCancelled, ended);
  EXPECT_TRUE(ended) << "else an interrupted launch would count as a complete one";
}

TEST_F(TimedIdsOfGenerations, BeyondALimitThatDoesNotDecideAreUnverified) {
  for (const bool decides : {true, false}) {
    Record row;
    row.verification = Verification::kVerified;
    TimedIdsCheck check = compare({generated(true, 10)});
    ASSERT_TRUE(force_ids(check, force(), row));
    set_ids(check, decides, 1, row);
    EXPECT_EQ(row.verification, decides ? Verification::kWrong : Verification::kUnverified);
    EXPECT_THAT(row.message, HasSubstr("timed generation of input set 0: token 11 of sequence 1 is "));
    EXPECT_EQ(row.message.find("the error of honest arithmetic is not known") != std::string::npos, !decides);
  }
}

}  // namespace
}  // namespace assay
