// SPDX-License-Identifier: Apache-2.0
#include "bench/run/output_checks.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/run/compared_testing.hpp"
#include "bench/run/local_workers.hpp"
#include "bench/run/reference_set.hpp"
#include "bench/run/resumed.hpp"
#include "bench/run/run_testing.hpp"
#include "bench/run/witnesses.hpp"
#include "core/base/clock.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using testing::Checks;
using testing::ComparedLaunches;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kEncoder;
using testing::kGenerates;
using ::testing::Not;
using testing::numbers;
using testing::run_tasks;
using testing::services_in;
namespace fs = std::filesystem;

TEST_F(Checks, SayWhatWasCompared) {
  EXPECT_EQ(row_of(kEncoder).checked, "4 sets, 1 padded; again after sampling");
  EXPECT_EQ(row_of("WinKawaks/vit-tiny-patch16-224").checked, "4 sets; again after sampling");
  settings_.output_tokens = {8};
  const Record row = row_of(kGenerates);
  EXPECT_EQ(row.verification, Verification::kVerified) << row.message;
  EXPECT_THAT(row.checked,
              AllOf(HasSubstr("4 sets, 1 padded; logits after 0, 4, 7 tokens; again after sampling; 24 of 24 "
                              "token ids of "),
                    HasSubstr(" generations")));
  settings_.benchmark = false;
  EXPECT_EQ(row_of(kEncoder).checked, "4 sets, 1 padded");
}

TEST_F(Checks, FindAMaskThatIsIgnoredAtBatchOne) {
  settings_.engine_options = {{"ignored_input", "attention_mask"}};
  for (const char* name : {kEncoder, kGenerates}) {
    const Record row = row_of(name);
    EXPECT_EQ(row.verification, Verification::kWrong) << name;
    EXPECT_EQ(row.status, CellStatus::kWrong);
  }
}

TEST_F(Checks, FindStaleInputsOfAnySetThatIsTimed) {
  for (const char* set : {"1", "2", "3"}) {
    settings_.engine_options = {{"stale_set", set}};
    EXPECT_EQ(row_of(kEncoder).verification, Verification::kWrong) << set;
  }
}

TEST_F(Checks, FindACacheWhoseLastPlaceIsLost) {
  settings_.output_tokens = {12};  // one by the prompt's graph, eleven by that of the steps
  settings_.engine_options = {{"wrong_at_token", "11"}};
  const Record row = row_of(kGenerates);
  EXPECT_EQ(row.verification, Verification::kWrong) << row.checked;
  settings_.engine_options = {{"wrong_at_token", "12"}};
  EXPECT_EQ(row_of(kGenerates).verification, Verification::kVerified) << "never reached";
}

TEST_F(Checks, EachLaunchOfASlowCellComparesAnotherSet) {
  settings_.launches = 5;
  settings_.measure.iterations = 1;
  settings_.output_tokens = {3};
  const auto checked = [&](const std::vector<Task>& tasks) {
    std::vector<std::string> found;
    const auto executor = LocalExecutor::create(testing::test_run(), services_in(folder_.path(), registry_)).value();
    EXPECT_TRUE(executor->run(tasks, {.launched = [&](std::size_t, const Launch& launch) {
                                found.push_back(launch.row.checked.substr(0, launch.row.checked.find(';')));
                                EXPECT_EQ(launch.row.message.find("outputs of launches differ"), std::string::npos);
                              }}));
    return found;
  };
  EXPECT_THAT(checked(tasks_of(kGenerates)),
              ElementsAre("4 sets, 1 padded", "1 of 4 sets (set 1, padded)", "1 of 4 sets (set 2)",
                          "1 of 4 sets (set 3)", "1 of 4 sets (set 0)"));
}

TEST_F(Checks, FindInALaterLaunchASetThatHasBecomeStale) {
  settings_.launches = 3;
  settings_.measure.iterations = 1;
  // The engine has the padded set last: its set 1 is set 2.
  settings_.engine_options = {{"stale_set", "1"}, {"cost_ns", "110000000"}};
  std::vector<Launch> launches;
  const auto run = [&](ExecutorServices services) {
    launches.clear();
    const auto executor = LocalExecutor::create(testing::test_run(), std::move(services)).value();
    EXPECT_TRUE(executor->run(tasks_of(kEncoder),
                              {.launched = [&](std::size_t, const Launch& each) { launches.push_back(each); }}));
  };
  run(services_in(folder_.path(), registry_));
  ASSERT_FALSE(launches.empty());
  Launch first = launches.front();
  EXPECT_EQ(first.row.verification, Verification::kWrong) << "it compares all sets";
  first.row.verification = Verification::kVerified;
  first.row.status = CellStatus::kCompleted;
  first.resumed = true;
  ExecutorServices services = services_in(folder_.path(), registry_);
  services.resumed[resume_key(first.row)] = {first};
  run(services);
  ASSERT_EQ(launches.size(), 3U);
  EXPECT_EQ(launches[1].row.verification, Verification::kVerified) << launches[1].row.message;
  EXPECT_EQ(launches[2].row.verification, Verification::kWrong) << launches[2].row.checked;
  EXPECT_THAT(launches[2].row.message, HasSubstr(" of input set 2 is "));
}

/// The first launch compares four sets, the second one set 1 alone.
class LaunchesOfASlowCell : public ComparedLaunches {
 protected:
  /// `moved`: each number, from that of the reference.
  template <class T>
  [[nodiscard]] Record launch(int number, const std::function<T(T, std::size_t)>& moved) {
    const Compared found = compared(number, {name_, [&](std::size_t set) {
                                               Tensor tensor = right_(set);
                                               std::size_t i = 0;
                                               for (T& value : tensor.as<T>()) value = moved(value, i++);
                                               return tensor;
                                             }});
    EXPECT_EQ(found.row.checked, number == 1 ? "4 sets, 1 padded" : "1 of 4 sets (set 1, padded)");
    return found.row;
  }
  /// Limits are the floors, if the errors are small.
  void know_honest_errors(double error, const std::string& method = "perturbed") {
    HonestOutput honest;
    honest.name = name_;
    honest.rms = honest.row = honest.element = error;
    reference_.honest = HonestErrors{.method = method, .runs = 2, .outputs = {honest}};
  }
};

TEST_F(LaunchesOfASlowCell, HaveEqualVerdictsAndNumbersForEqualErrors) {
  trust("y", numbers);
  know_honest_errors(1e-8);
  for (const int number : {1, 2}) {
    const auto at = [&](float error) {
      return launch<float>(number, [&](float x, std::size_t) { return x * (1 + error); });
    };
    const Record below = at(1.8e-6F), above = at(2.2e-6F), far = at(2.1e-4F);
    EXPECT_EQ(below.verification, Verification::kVerified) << number << ": " << below.message;
    EXPECT_NEAR(below.rms_error.value_or(0), 1.8e-6, 1e-7) << number;
    EXPECT_EQ(above.verification, Verification::kUnverified) << number << ": the limit is 2e-6, and it is disputed";
    EXPECT_NEAR(above.rms_error.value_or(0), 2.2e-6, 1e-7) << number;
    EXPECT_EQ(far.verification, Verification::kWrong) << number << ": more than a hundred times the limit";
    EXPECT_NEAR(far.rms_error.value_or(0), 2.1e-4, 1e-6) << number;
  }
}

TEST_F(LaunchesOfASlowCell, FindZerosThatLimitsAllow) {
  trust("y", numbers);
  know_honest_errors(0.4);
  for (const int number : {1, 2}) {
    const Record row = launch<float>(number, [](float, std::size_t) { return 0.F; });
    EXPECT_EQ(row.verification, Verification::kWrong) << number;
    EXPECT_THAT(row.message, HasSubstr("correlates with the reference by 0,"));
  }
}

TEST_F(LaunchesOfASlowCell, FindOtherLargestLogits) {
  trust("logits", [](std::size_t set) {
    Tensor tensor = Tensor::create(DType::kFloat32, {1, 40, 8}).value();
    for (std::size_t i = 0; i < 320; ++i) tensor.as<float>()[i] = static_cast<float>((i + set) % 8);
    return tensor;
  });
  know_honest_errors(0.4, "quantised");
  local_.task.reference.quantised = true;
  for (const int number : {1, 2}) {
    const Record row =
        launch<float>(number, [](float x, std::size_t i) { return i < 128 && x == 6.F ? 7.1F : x; });  // 16 of 40 rows
    EXPECT_EQ(row.verification, Verification::kWrong) << number;
    EXPECT_NEAR(row.top1_agreement.value_or(0), 0.6, 1e-9) << number;
  }
}

TEST_F(LaunchesOfASlowCell, AllowOneOfTwentyIntegersThatWereCompared) {
  trust("ids", [](std::size_t set) {
    Tensor tensor = Tensor::create(DType::kInt64, {1, 8}).value();
    for (std::size_t i = 0; i < 8; ++i) tensor.as<std::int64_t>()[i] = static_cast<std::int64_t>(10 * i + set);
    return tensor;
  });
  const Record row = launch<std::int64_t>(2, [](std::int64_t x, std::size_t i) { return i == 3 ? x + 1 : x; });
  EXPECT_EQ(row.verification, Verification::kUnverified);
  EXPECT_THAT(row.message, HasSubstr("one of 8 integers differs: too few"));
}

TEST_F(LaunchesOfASlowCell, JudgeOneNumberBySizesOverAllSets) {
  trust("logits", [](std::size_t set) {
    Tensor tensor = Tensor::create(DType::kFloat32, {1, 1}).value();
    tensor.as<float>()[0] = std::vector<float>{10, 1e-6F, -8, 9}.at(set);
    return tensor;
  });
  know_honest_errors(1e-8);
  const double limit = 2e-6 * std::sqrt((100.0 + 64.0 + 81.0) / 4);
  const auto second = [&](double error) {
    return launch<float>(2, [&](float x, std::size_t) { return x + static_cast<float>(error); });
  };
  const Record below = second(0.95 * limit), above = second(1.05 * limit), far = second(105 * limit);
  EXPECT_EQ(below.verification, Verification::kVerified) << below.message << ": ten times the number of this set";
  EXPECT_EQ(above.verification, Verification::kUnverified) << "disputed";
  EXPECT_NEAR(above.rms_error.value_or(0), 1.05 * 2e-6, 1e-8);
  EXPECT_EQ(above.worst_element, "0 of set 1");
  EXPECT_EQ(far.verification, Verification::kWrong);
}

TEST_F(LaunchesOfASlowCell, KnowFromAllSetsWhetherTheOutputProvesAnything) {
  trust("ids", [](std::size_t set) {
    Tensor tensor = Tensor::create(DType::kInt64, {1, 32}).value();
    std::ranges::fill(tensor.as<std::int64_t>(), static_cast<std::int64_t>(set));
    return tensor;
  });
  const auto equal = [](std::int64_t x, std::size_t) { return x; };
  for (const int number : {1, 2})
    EXPECT_EQ(launch<std::int64_t>(number, equal).verification, Verification::kVerified) << "constant, but in each set";
  reference_.outputs.clear();
  trust("y", [](std::size_t) { return numbers(0); });
  for (const int number : {1, 2})
    EXPECT_EQ(launch<float>(number, [](float x, std::size_t) { return x; }).verification, Verification::kDegenerate);
}

TEST_F(ComparedLaunches, AFastFirstLaunchHasTheOutputsOfEachSetThatASlowOneRunsAlone) {
  trust("y", numbers);
  const Compared first = compared(1, {"y", numbers, 95});
  for (const int number : {2, 3, 4, 5}) {
    const Compared later = compared(number, {"y", numbers, 105});
    ASSERT_EQ(later.fingerprint.size(), 1U) << later.row.checked;
    const std::string set = later.fingerprint.begin().key();
    ASSERT_TRUE(first.fingerprint.contains(set)) << set;
    EXPECT_EQ(first.fingerprint[set], later.fingerprint[set]);
  }
}

/// Five tokens of a generation, forced through the reference of the null engine.
class Forcing : public Checks {
 protected:
  Forcing() {
    settings_.output_tokens = {5};
    cells_.push_back({tasks_of(kGenerates).at(0)});
    services_.timer = &timer_;
    references_.make(cells_);
  }
  [[nodiscard]] Result<std::vector<fs::path>> force(const Deadline& deadline) {
    std::vector<TimedIds> ids(1);
    ids[0].ids = Tensor::create(DType::kInt64, {1, 5}).value();
    std::ranges::fill(ids[0].ids.as<std::int64_t>(), 1);
    return references_.force(cells_[0], ids, deadline);
  }

  SteadyClock clock_;
  WorkTimer timer_{clock_};
  ExecutorServices services_ = services_in(folder_.path(), registry_);
  std::vector<LocalTask> cells_;
  ArtefactStore artefacts_{{&registry_, folder_.path() / "models"}};
  ReferenceMaker maker_{registry_, artefacts_, folder_.path() / "references", {}};
  LocalWorkers workers_{registry_, folder_.path(), {std::uint64_t{1} << 32, true, {}}};
  ReferenceSet references_{services_, maker_, workers_};
};

TEST_F(Forcing, CountsAsWorkOnReferences) {
  const double before = timer_.spent().on(Work::kReferences);
  const Result<std::vector<fs::path>> files = force(Deadline(std::chrono::minutes(1)));
  ASSERT_TRUE(files) << to_string(files.error());
  EXPECT_THAT(*files, ::testing::SizeIs(1));
  EXPECT_GT(timer_.spent().on(Work::kReferences), before);
}

TEST_F(Forcing, EndsWithTheAttempt) {
  const Result<std::vector<fs::path>> files = force(Deadline(std::chrono::nanoseconds(1)));
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kTimeout) << to_string(files.error());
}

TEST_F(Checks, CountAsVerificationOnlyIfSomethingIsVerified) {
  const SteadyClock clock;
  for (const bool verify : {true, false}) {
    settings_.verify = verify;
    WorkTimer timer(clock);
    ExecutorServices services = services_in(folder_.path(), registry_);
    services.timer = &timer;
    EXPECT_EQ(run_tasks(tasks_of(kEncoder), services).at(0).status, CellStatus::kCompleted);
    EXPECT_EQ(timer.spent().on(Work::kVerification) > 0, verify);
    EXPECT_GT(timer.spent().on(Work::kSampling), 0);
    EXPECT_GT(timer.spent().on(Work::kOther), 0);
  }
}

TEST_F(Checks, FindAStateThatLeaksFromRunToRun) {
  settings_.engine_options = {{"wrong_after_run", "6"}};  // four are compared, six measured
  const Record row = row_of(kEncoder);
  EXPECT_EQ(row.verification, Verification::kWrong);
  EXPECT_THAT(row.message, HasSubstr("the outputs are no longer right after sampling: "));
  settings_.streams = {2};
  settings_.engine_options = {};
  const Record right = row_of(kEncoder);
  EXPECT_EQ(right.verification, Verification::kVerified) << right.message;
}

/// Outputs of two sets, as a cell of this engine would leave them.
class Witnessing : public Checks {
 protected:
  [[nodiscard]] OutputsOfSets outputs(const std::string& name, float value, const std::vector<std::size_t>& sets) {
    OutputsOfSets made;
    for (const std::size_t set : sets) {
      Tensor tensor = Tensor::create(DType::kFloat32, {4, 16}).value();
      for (std::size_t i = 0; i < 64; ++i) tensor.as<float>()[i] = value + static_cast<float>((i * 7 + set * 3) % 11);
      const fs::path file = folder_.path() / (name + std::to_string(set) + ".safetensors");
      const NamedView named{"y", tensor.view()};
      EXPECT_TRUE(write_safetensors(file, std::span(&named, 1), {}, Persistence::kScratch));
      made.sets.push_back(set);
      made.files.push_back(file);
    }
    return made;
  }
  [[nodiscard]] Record add(const std::string& engine, Verification verification, float value,
                           const std::vector<std::size_t>& sets = {0, 1}, std::optional<std::size_t> worst = {}) {
    local_.task.row.engine = engine;
    Record row = local_.task.row;
    row.reference = reference_.name;
    row.verification = verification;
    row.message = "output 'y' is wrong";
    OutputsOfSets made = outputs(engine, value, sets);
    made.worst = worst;
    witnesses_.add(local_, reference_, made, row);
    return row;
  }

  Witnessing() { reference_.name = "onnxruntime-noopt"; }

  LocalTask local_{tasks_of(kEncoder).at(0)};
  Reference reference_;
  Witnesses witnesses_{registry_, folder_.path() / "witnesses"};
};

TEST_F(Witnessing, NamesOtherEnginesWithTheSameOutputsAndTheGolden) {
  EXPECT_EQ(add("onnxruntime", Verification::kVerified, 0).agreed_by, "golden BertModel");
  EXPECT_EQ(add("toy", Verification::kVerified, 0).agreed_by, "golden BertModel, onnxruntime");
  EXPECT_EQ(add("other", Verification::kVerified, 3).agreed_by, "golden BertModel, onnxruntime")
      << "as the reference, which the row agrees with";
  EXPECT_EQ(add("onnxruntime", Verification::kVerified, 0).agreed_by, "golden BertModel, toy");
  local_.task.row.model_class = "AnotherClass";
  EXPECT_EQ(add("onnxruntime", Verification::kVerified, 0).agreed_by, "toy");
  witnesses_.clear();
  EXPECT_EQ(add("onnxruntime", Verification::kVerified, 0).agreed_by, "");
  local_.task.arithmetic = DType::kFloat16;
  EXPECT_EQ(add("toy", Verification::kVerified, 0).agreed_by, "onnxruntime") << "only the reference";
}

TEST_F(Witnessing, PointAtAReferenceThatStandsAlone) {
  EXPECT_EQ(add("first", Verification::kWrong, 5).message, "output 'y' is wrong");
  EXPECT_THAT(add("second", Verification::kWrong, 5).message,
              HasSubstr("; first computed the same as this cell, which points at the reference"));
  EXPECT_EQ(add("third", Verification::kVerified, 0).agreed_by, "golden BertModel, onnxruntime");
  EXPECT_EQ(add("second", Verification::kWrong, 5).message, "output 'y' is wrong") << "not all others agree";
}

TEST_F(Witnessing, PointAtTheReferenceOnlyByTheSetThatIsWrong) {
  (void)add("first", Verification::kVerified, 5, {0});  // a launch that compared one set
  EXPECT_EQ(add("second", Verification::kWrong, 5, {0, 1}, 1).message, "output 'y' is wrong")
      << "the first one did not run the set that is wrong";
  EXPECT_THAT(add("second", Verification::kWrong, 5, {0, 1}, 0).message, HasSubstr("points at the reference"));
}

TEST_F(Witnessing, KeepTheLaunchWithMoreSets) {
  (void)add("first", Verification::kWrong, 5);
  (void)add("first", Verification::kWrong, 5, {2});
  EXPECT_THAT(add("second", Verification::kWrong, 5, {0, 1}, 1).message, HasSubstr("points at the reference"));
}

/// The outputs of launches as they are compared and then kept. The same numbers are wrong in every engine.
class WitnessedLaunches : public ComparedLaunches {
 protected:
  WitnessedLaunches() { trust("y", numbers); }
  /// The message of a launch whose outputs are wrong in these sets; a run takes this long.
  [[nodiscard]] std::string message(const std::string& engine, int number, double run_ms,
                                    const std::vector<std::size_t>& wrong) {
    local_.task.row.engine = engine;
    Compared found = compared(number, {"y",
                                       [&](std::size_t set) {
                                         Tensor tensor = numbers(set);
                                         const auto place = std::ranges::find(wrong, set);
                                         if (place != wrong.end())  // most of all in the first
                                           tensor.as<float>()[5] = 9.F - static_cast<float>(place - wrong.begin());
                                         return tensor;
                                       },
                                       run_ms});
    witnesses_->add(local_, reference_, found.outputs, found.row);
    return found.row.message;
  }
  [[nodiscard]] auto points_at_the_reference() const {
    return HasSubstr("first computed the same as this cell, which points at the reference");
  }

  static constexpr double kFast = 1, kSlow = 200;
  std::optional<Witnesses> witnesses_{std::in_place, registry_, folder_.path() / "witnesses"};
};

TEST_F(WitnessedLaunches, PointAtTheReferenceWhicheverSetIsWrong) {
  for (const double run_ms : {kFast, kSlow}) {
    for (std::size_t set = 0; set < 4; ++set) {
      witnesses_->clear();
      EXPECT_THAT(message("first", 1, run_ms, {set}), Not(HasSubstr("reference")));
      EXPECT_THAT(message("second", 1, run_ms, {set}), points_at_the_reference()) << set;
      // Each begins with another set; a slow one compares no other.
      for (const int number : {2, 3, 4}) (void)message("first", number, run_ms, {set});
      EXPECT_THAT(message("second", 1, run_ms, {set}), points_at_the_reference()) << set << " after four launches";
    }
  }
}

TEST_F(WitnessedLaunches, PointAtTheReferenceByASetThatIsWrongBesidesTheWorst) {
  (void)message("first", 2, kSlow, {2, 1});  // set 1 alone
  EXPECT_THAT(message("second", 1, kSlow, {2, 1}), points_at_the_reference());
  EXPECT_THAT(message("second", 1, kSlow, {2}), Not(HasSubstr("points"))) << "right in set 1, as first is not";
  witnesses_->clear();
  (void)message("first", 2, kSlow, {2});
  EXPECT_THAT(message("second", 1, kSlow, {2}), Not(HasSubstr("points"))) << "set 1 is right in both";
}

TEST_F(WitnessedLaunches, KeepTheWorstSetIfThereIsNoRoomForAll) {
  witnesses_.emplace(registry_, folder_.path() / "witnesses", fs::file_size(reference_.outputs[0]));
  (void)message("first", 1, kFast, {2, 1});
  EXPECT_THAT(message("second", 1, kFast, {2}), points_at_the_reference());
  EXPECT_THAT(message("third", 1, kFast, {1}), Not(HasSubstr("points")));
}

TEST_F(Witnessing, NameTheKernelsThatAreKnown) {
  Record row = add("null", Verification::kVerified, 0);
  EXPECT_EQ(row.kernels, "") << "it computes no model";
  const EngineEntry* ours = own_engine(kReferenceEngine);
  ASSERT_NE(ours, nullptr);
  EXPECT_FALSE(ours->kernels.empty());
}

}  // namespace
}  // namespace assay
