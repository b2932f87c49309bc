// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/generator.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/tensor/recipe.hpp"

extern "C" const assay_engine_table* assay_engine_get(const assay_host_api*);  // the null engine, linked in

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kRun = static_cast<std::uint8_t>(SampleKind::kRun);
constexpr auto kFirst = static_cast<std::uint8_t>(SampleKind::kFirstToken);
constexpr auto kToken = static_cast<std::uint8_t>(SampleKind::kToken);
constexpr std::int64_t kBatch = 2, kPrompt = 3;

LoadedProgram program(const std::string& inputs, const std::string& outputs, EngineOptions more = {}) {
  const auto plugin = EnginePlugin::from_entry(&assay_engine_get, "null").value();
  more.emplace_back("inputs", inputs);
  more.emplace_back("outputs", outputs);
  return LoadedEngine::create(plugin, "").value().load({.options = std::move(more)}).value();
}

/// A decoder that runs the prompt with an empty past.
LoadedProgram decoder(EngineOptions more = {}) {
  return program("input_ids:int64[batch,sequence];attention_mask:int64[batch,total];past:float32[batch,past]",
                 "logits:float32[batch,1,10];present:float32[batch,past+sequence]", std::move(more));
}

Generation generation(std::int64_t tokens) {
  Generation made;
  made.output_tokens = tokens;
  made.prompt_tokens = kPrompt;
  made.mask = "attention_mask";
  made.states = {{"present", "past", "present"}};
  return made;
}

Tensor integers(Shape shape, double high) {
  return make_input(
             {.name = "x", .dtype = DType::kInt64, .shape = std::move(shape), .fill = Fill::kInteger, .high = high}, 7,
             0)
      .value();
}

std::vector<std::vector<Tensor>> prompts(std::size_t sets) {
  std::vector<std::vector<Tensor>> made(sets);
  for (std::vector<Tensor>& set : made) {
    set.push_back(integers({kBatch, kPrompt}, 9));
    set.push_back(
        make_input(
            {.name = "m", .dtype = DType::kInt64, .shape = {kBatch, kPrompt}, .fill = Fill::kConstant, .low = 1.0}, 0,
            0)
            .value());
    set.push_back(Tensor::create(DType::kFloat32, {kBatch, 0}).value());
  }
  return made;
}

struct Room {
  explicit Room(std::size_t n) : kind(n), start(n), duration(n) {}
  std::vector<std::uint8_t> kind;
  std::vector<std::int64_t> start, duration;
  SampleColumns columns{kind.size(), 0, kind.data(), start.data(), duration.data()};
};

TEST(Generator, HasASampleForTheRunBeforeThoseOfItsTokens) {
  const LoadedProgram model = decoder({{"cost_ns", "20000"}});
  const auto sets = prompts(2);
  Generator generator = Generator::create(model, model, generation(3), sets).value();
  EXPECT_EQ(generator.samples_per_run(), 4U);
  Room room(8);
  const Status ran = generator.run_timed(2, 0, room.columns);
  ASSERT_TRUE(ran) << to_string(ran.error());
  ASSERT_EQ(room.columns.count, 8U);
  EXPECT_THAT(room.kind, ElementsAre(kRun, kFirst, kToken, kToken, kRun, kFirst, kToken, kToken));
  for (const std::size_t run : {0U, 4U}) {
    EXPECT_EQ(room.duration[run], room.duration[run + 1] + room.duration[run + 2] + room.duration[run + 3])
        << "from id to id, without a gap";
    EXPECT_EQ(room.start[run], room.start[run + 1]);
    EXPECT_EQ(room.start[run + 2], room.start[run + 1] + room.duration[run + 1]);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_GE(room.duration[run + i], 20'000);
  }
}

TEST(Generator, KeepsTheTokensOfAFailedGeneration) {
  const LoadedProgram model = decoder({{"fail_at_run", "6"}});
  const auto sets = prompts(1);
  Generator generator = Generator::create(model, model, generation(4), sets).value();
  Room room(10);
  const Status ran = generator.run_timed(2, 0, room.columns);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::kDeviceLost);
  ASSERT_EQ(room.columns.count, 6U);
  room.kind.resize(6);
  EXPECT_THAT(room.kind, ElementsAre(kRun, kFirst, kToken, kToken, kToken, kFirst));
}

TEST(Generator, RunsTheSameTokensTeacherForcedOnEveryEngine) {
  const LoadedProgram model = decoder();
  const auto sets = prompts(2);
  Generator generator = Generator::create(model, model, generation(32), sets).value();
  double prompt_ms = -1;
  const Tensor first = generator.run_teacher_forced(0, 5, prompt_ms).value();
  EXPECT_EQ(first.shape(), (Shape{kBatch, 3, 10})) << "after 0, 16 and 31 tokens";
  EXPECT_GE(prompt_ms, 0);
  const Tensor again = generator.run_teacher_forced(1, 5, prompt_ms).value();
  EXPECT_TRUE(std::ranges::equal(first.bytes(), again.bytes())) << "both sets have the same prompt";
  const Tensor other = generator.run_teacher_forced(0, 6, prompt_ms).value();
  EXPECT_FALSE(std::ranges::equal(first.bytes(), other.bytes())) << "the tokens depend on the seed";
  // The result of a step depends on the length of its past, so the test detects a state that is not passed on.
  const auto row = first.as<float>();
  EXPECT_NE(row[10], row[20]);
  Generator shorter = Generator::create(model, model, generation(2), sets).value();
  EXPECT_EQ(shorter.run_teacher_forced(0, 5, prompt_ms).value().shape(), (Shape{kBatch, 2, 10}));
}

TEST(Generator, ReturnsLogitsAtTheFirstAMiddleAndTheLastToken) {
  EXPECT_THAT(compared_tokens(32), ElementsAre(0, 16, 31));
  EXPECT_THAT(compared_tokens(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(compared_tokens(2), ElementsAre(0, 1));
  EXPECT_THAT(compared_tokens(1), ElementsAre(0));
  const auto sets = prompts(1);
  const LoadedProgram right = decoder();
  Generator generator = Generator::create(right, right, generation(32), sets).value();
  double prompt_ms = 0;
  const Tensor expected = generator.run_teacher_forced(0, 5, prompt_ms).value();
  // A cache whose last place is lost: only the last token shows it.
  const LoadedProgram lossy = decoder({{"wrong_at_token", "32"}});
  Generator faulty = Generator::create(lossy, lossy, generation(32), sets).value();
  const Tensor found = faulty.run_teacher_forced(0, 5, prompt_ms).value();
  for (const std::size_t row : {0U, 30U}) {
    const auto right_row = expected.as<float>().subspan(row, 30), wrong_row = found.as<float>().subspan(row, 30);
    EXPECT_TRUE(std::ranges::equal(right_row.first(20), wrong_row.first(20)));
    EXPECT_NE(right_row[20], wrong_row[20]);
  }
}

TEST(Generator, StepsSeeThePaddingOfThePrompt) {
  const LoadedProgram model =
      program("input_ids:int64[batch,sequence];attention_mask:int64[batch,total];past:float32[batch,past]",
              "logits:float32[batch,1,40];present:float32[batch,past+sequence]");  // wide enough to see every column
  auto sets = prompts(2);
  sets[1][0] = integers({kBatch, kPrompt}, 9);
  for (const std::size_t at : {2U, 4U, 5U}) sets[1][1].as<std::int64_t>()[at] = 0;
  Generator generator = Generator::create(model, model, generation(4), sets).value();
  double prompt_ms = 0;
  const Tensor full = generator.run_teacher_forced(0, 5, prompt_ms).value();
  const Tensor padded = generator.run_teacher_forced(1, 5, prompt_ms).value();
  const Tensor again = generator.run_teacher_forced(0, 5, prompt_ms).value();
  EXPECT_TRUE(std::ranges::equal(full.bytes(), again.bytes())) << "the padding of one set is not that of the next";
  for (std::size_t token = 1; token < 3; ++token)
    EXPECT_NE(full.as<float>()[token * 40 + 2], padded.as<float>()[token * 40 + 2]) << token;
  const LoadedProgram deaf = decoder({{"ignored_input", "attention_mask"}});
  Generator ignores = Generator::create(deaf, deaf, generation(4), sets).value();
  const Tensor ignored = ignores.run_teacher_forced(1, 5, prompt_ms).value();
  EXPECT_TRUE(std::ranges::equal(ignored.bytes(), ignores.run_teacher_forced(0, 5, prompt_ms).value().bytes()));

  sets[1][1] = integers({kBatch, 2}, 0);
  EXPECT_THAT(Generator::create(model, model, generation(4), sets).error().message, HasSubstr("'attention_mask' is"));
}

TEST(Generator, KeepsTheTimedTokensAndFindsTheLargestLogits) {
  const LoadedProgram model = decoder();
  const auto sets = prompts(3);
  Generator generator = Generator::create(model, model, generation(3), sets).value();
  generator.limit_timed_sets(2);
  Room room(16);
  ASSERT_TRUE(generator.run_timed(4, 0, room.columns));
  EXPECT_EQ(generator.timed_tokens().generations(), 4);
  ASSERT_EQ(generator.timed_tokens().of(0).size(), 1U) << "generations of one set are the same";
  EXPECT_EQ(generator.timed_tokens().of(1).size(), 1U);
  EXPECT_TRUE(generator.timed_tokens().of(2).empty()) << "not timed";
  const Generator::Largest greedy = generator.run_greedy(0).value();
  ASSERT_EQ(greedy.ids.shape(), (Shape{kBatch, 3, 10})) << "no more than there are";
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(greedy.ids.as<std::int64_t>()[i * 10], generator.timed_tokens().of(0)[0][i]);
    EXPECT_TRUE(std::ranges::is_sorted(greedy.logits.as<float>().subspan(i * 10, 10), std::greater<>{}));
  }
  // Forced tokens: first the greedy ones, then others.
  std::vector<std::int64_t> ids = generator.timed_tokens().of(0)[0];
  const auto forced = [&] {
    return generator.run_forced(0, {DType::kInt64, {kBatch, 3}, std::as_bytes(std::span(ids))});
  };
  const Generator::Largest same = forced().value();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(same.forced.as<float>()[i], greedy.logits.as<float>()[i * 10]);
  EXPECT_TRUE(std::ranges::equal(same.logits.bytes(), greedy.logits.bytes()));
  ids[0] = (ids[0] + 1) % 10;
  const Generator::Largest other = forced().value();
  EXPECT_EQ(other.ids.as<std::int64_t>()[0], greedy.ids.as<std::int64_t>()[0]) << "the prompt is the same";
  EXPECT_LE(other.forced.as<float>()[0], other.logits.as<float>()[0]);
  EXPECT_FALSE(std::ranges::equal(other.logits.bytes(), greedy.logits.bytes())) << "what follows is another text";
  ids[0] = 10;
  EXPECT_EQ(forced().error().code, ErrorCode::kMismatch) << "outside of the vocabulary";
  EXPECT_FALSE(generator.run_forced(0, {DType::kInt64, {kBatch, 2}, std::as_bytes(std::span(ids).first(4))}));
  // An engine that is right for a while.
  const LoadedProgram leaky = decoder({{"wrong_after_run", "5"}, {"ignored_input", "input_ids"}});
  Generator drifts = Generator::create(leaky, leaky, generation(3), sets).value();
  ASSERT_TRUE(drifts.run_timed(4, 0, room.columns));
  EXPECT_GE(drifts.timed_tokens().of(0).size(), 1U);
}

TEST(Generator, CreatesThePositionsAndTheStaticCaches) {
  const LoadedProgram model = program(
      "input_ids:int64[batch,sequence];cache_position:int64[sequence];attention_mask:int64[batch,cache];"
      "past:float32[batch,2,cache,4]",
      "logits:float32[batch,1,10];present:float32[batch,2,cache,4]");
  Generation made = generation(4);
  made.mask = "";
  made.cache_tokens = kPrompt + 3;
  made.positions = "cache_position";
  EXPECT_TRUE(made.makes("past"));
  EXPECT_FALSE(made.makes("attention_mask"));
  std::vector<std::vector<Tensor>> sets(2);
  for (std::vector<Tensor>& set : sets) {
    set.push_back(integers({kBatch, kPrompt}, 9));
    set.emplace_back();
    set.push_back(integers({kBatch, made.cache_tokens}, 1));
    set.emplace_back();
  }
  ASSERT_TRUE(model.shares_memory()) << "the null engine does not support it, and the graph is used twice";
  Result<Generator> generator = Generator::create(model, model, made, sets);
  ASSERT_TRUE(generator) << to_string(generator.error());
  double prompt_ms = 0;
  const Tensor first = generator->run_teacher_forced(0, 5, prompt_ms).value();
  EXPECT_EQ(first.shape(), (Shape{kBatch, 3, 10}));
  Room room(5);
  ASSERT_TRUE(generator->run_timed(1, 1, room.columns));
  EXPECT_THAT(room.kind, ElementsAre(kRun, kFirst, kToken, kToken, kToken));
  const Tensor again = generator->run_teacher_forced(1, 5, prompt_ms).value();
  EXPECT_TRUE(std::ranges::equal(first.bytes(), again.bytes())) << "each generation starts again";

  made.positions = "places";
  EXPECT_FALSE(Generator::create(model, model, made, sets)) << "there is no such input";
  const LoadedProgram step = decoder();
  EXPECT_EQ(Generator::create(model, step, made, sets).error().code, ErrorCode::kMismatch) << "other inputs";
}

TEST(Generator, RunsTwoProgramsOfFixedShapesAsOneOfOpenOnes) {
  static constexpr std::int64_t kCache = kPrompt + 3;
  const auto of_tokens = [](const std::string& tokens) {
    return program(fmt::format("input_ids:int64[2,{0}];cache_position:int64[{0}];past:float32[2,{1}]", tokens, kCache),
                   fmt::format("logits:float32[2,1,10];present:float32[2,{}]", kCache));
  };
  const LoadedProgram open =
      program("input_ids:int64[batch,sequence];cache_position:int64[sequence];past:float32[batch,cache]",
              "logits:float32[batch,1,10];present:float32[batch,cache]");
  const LoadedProgram prompt = of_tokens(std::to_string(kPrompt)), step = of_tokens("1");
  Generation made = generation(4);
  made.mask.clear();
  made.cache_tokens = kCache;
  made.positions = "cache_position";
  std::vector<std::vector<Tensor>> sets(1);
  sets[0].push_back(integers({kBatch, kPrompt}, 9));
  sets[0].resize(3);
  Result<Generator> fixed = Generator::create(prompt, step, made, sets);
  ASSERT_TRUE(fixed) << to_string(fixed.error());
  Result<Generator> one = Generator::create(open, open, made, sets);
  ASSERT_TRUE(one) << to_string(one.error());
  double prompt_ms = 0;
  const Tensor from_two = fixed->run_teacher_forced(0, 5, prompt_ms).value();
  const Tensor from_one = one->run_teacher_forced(0, 5, prompt_ms).value();
  EXPECT_TRUE(std::ranges::equal(from_two.bytes(), from_one.bytes()));
  Room room(5);
  ASSERT_TRUE(fixed->run_timed(1, 0, room.columns));
  EXPECT_THAT(room.kind, ElementsAre(kRun, kFirst, kToken, kToken, kToken));
}

TEST(Generator, BeginsAStaticCacheWithTheStateOfAPromptThatHasNone) {
  static constexpr std::int64_t kCache = 4;
  const auto prompt_of = [](std::int64_t tokens) {
    return program("input_ids:int64[batch,sequence];decoder_input_ids:int64[batch,1]",
                   fmt::format("logits:float32[batch,1,10];self:float32[batch,{}]", tokens));
  };
  const LoadedProgram step =
      program(fmt::format("decoder_input_ids:int64[2,1];cache_position:int64[1];self_past:float32[2,{}]", kCache),
              fmt::format("logits:float32[2,1,10];self:float32[2,{}]", kCache));
  Generation made;
  made.output_tokens = 4;
  made.prompt_tokens = 1;
  made.tokens = "decoder_input_ids";
  made.states = {{"self", "self_past", "self"}};
  made.cache_tokens = kCache;
  made.positions = "cache_position";
  std::vector<std::vector<Tensor>> sets(1);
  sets[0].push_back(integers({kBatch, kPrompt}, 9));
  sets[0].push_back(integers({kBatch, 1}, 9));
  const LoadedProgram prompt = prompt_of(1);
  Result<Generator> generator = Generator::create(prompt, step, made, sets);
  ASSERT_TRUE(generator) << to_string(generator.error());
  Room room(5);
  const Status ran = generator->run_timed(1, 0, room.columns);
  ASSERT_TRUE(ran) << to_string(ran.error());
  EXPECT_EQ(room.columns.count, 5U);

  const LoadedProgram longer = prompt_of(kCache + 1);
  Result<Generator> refused = Generator::create(longer, step, made, sets);
  ASSERT_TRUE(refused) << to_string(refused.error());
  const Status failed = refused->run_timed(1, 0, room.columns);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("does not begin the cache float32 [2, 4]"));
}

TEST(Generator, PassesThePromptsStatesToAProgramOfTheSteps) {
  const auto prompts_program = [](EngineOptions more = {}) {
    return program("input_ids:int64[batch,sequence];mask:int64[batch,sequence];decoder_input_ids:int64[batch,decoder]",
                   "logits:float32[batch,1,10];self:float32[batch,decoder];cross:float32[batch,sequence]",
                   std::move(more));
  };
  const LoadedProgram prompt = prompts_program();
  const LoadedProgram step = program(
      "decoder_input_ids:int64[batch,decoder];mask:int64[batch,sequence];self_past:float32[batch,past];"
      "cross_past:float32[batch,sequence]",
      "logits:float32[batch,1,10];self:float32[batch,past+decoder]");
  Generation made;
  made.output_tokens = 3;
  made.prompt_tokens = 1;
  made.tokens = "decoder_input_ids";
  made.states = {{"self", "self_past", "self"}, {"cross", "cross_past", ""}};
  std::vector<std::vector<Tensor>> sets(1);
  sets[0].push_back(integers({kBatch, kPrompt}, 9));
  sets[0].push_back(integers({kBatch, kPrompt}, 1));
  sets[0].push_back(integers({kBatch, 1}, 9));
  Result<Generator> generator = Generator::create(prompt, step, made, sets);
  ASSERT_TRUE(generator) << to_string(generator.error());
  Room room(8);
  const Status ran = generator->run_timed(2, 0, room.columns);
  ASSERT_TRUE(ran) << to_string(ran.error());
  EXPECT_EQ(room.columns.count, 8U);
  double prompt_ms = 0;
  EXPECT_TRUE(generator->run_teacher_forced(0, 1, prompt_ms));

  // The prompt of a set runs once for its forced and its greedy tokens.
  const LoadedProgram once = prompts_program({{"fail_at_run", "2"}});
  Generator both = Generator::create(once, step, made, sets).value();
  ASSERT_TRUE(both.run_teacher_forced(0, 1, prompt_ms));
  const Result<Generator::Largest> greedy = both.run_greedy(0);
  ASSERT_TRUE(greedy) << to_string(greedy.error());
  Generator fresh = Generator::create(prompt, step, made, sets).value();
  EXPECT_TRUE(std::ranges::equal(greedy->ids.bytes(), fresh.run_greedy(0)->ids.bytes()));
  EXPECT_TRUE(std::ranges::equal(greedy->logits.bytes(), fresh.run_greedy(0)->logits.bytes()));
  EXPECT_FALSE(both.run_timed(1, 0, room.columns)) << "each timed generation runs its prompt";
}

TEST(Generator, NamesMissingInputsAndOutputs) {
  const LoadedProgram model = decoder();
  const auto sets = prompts(1);
  Generation made = generation(3);
  made.states = {{"present.7", "past", "present"}};
  EXPECT_THAT(Generator::create(model, model, made, sets).error().message, HasSubstr("output 'present.7'"));
  made = generation(3);
  made.tokens = "decoder_input_ids";
  EXPECT_THAT(Generator::create(model, model, made, sets).error().message, HasSubstr("input 'decoder_input_ids'"));
}

TEST(Generator, RefusesLogitsOfAllPositions) {
  const LoadedProgram model =
      program("input_ids:int64[batch,sequence];attention_mask:int64[batch,total];past:float32[batch,past]",
              "logits:float32[batch,sequence,10];present:float32[batch,past+sequence]");
  const auto sets = prompts(1);
  Generator generator = Generator::create(model, model, generation(3), sets).value();
  Room room(4);
  const Status ran = generator.run_timed(1, 0, room.columns);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("logits of the last position are floats [2, 1, n]"));
  EXPECT_EQ(room.columns.count, 0U);
}

}  // namespace
}  // namespace assay
