// SPDX-License-Identifier: Apache-2.0
#include "bench/run/plan_within_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "bench/plan/plan_testing.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct Planned {
  std::vector<Task> tasks;  ///< the tasks of the only model
  std::vector<std::string> notes;
};

/// Three shapes in three launches each on two targets; 0.3 s and 1 s for the weights of each load.
Planned plan(std::optional<std::chrono::nanoseconds> budget) {
  Target fixes = testing::target_on("fixes"), opens = testing::target_on("opens"), plain = testing::target_on("plain");
  fixes.found.entry.fixed_extents = "free_dimensions";
  opens.found.entry.open_extents = {{"static_shapes", "false"}};
  PreparedModel model = testing::text_model();
  model.identity.parameter_count = 175'000'000;
  RunSettings settings;
  settings.batch_sizes = {1, 4, 8};
  settings.launches = 3;
  settings.budget = budget;
  Planned planned;
  planned.tasks =
      plan_within_budget(std::span(&model, 1), {fixes, opens, plain}, settings, testing::run_info(), planned.notes)
          .at(0);
  return planned;
}

std::vector<std::string> shapes_of(const Planned& planned) {
  std::vector<std::string> shapes;
  for (const Task& task : planned.tasks) shapes.push_back(task.engine + " " + std::string(to_string(task.row.shapes)));
  return shapes;
}

TEST(PlanWithinBudget, KeepsStaticShapesIfTheirLoadsAreASmallPartOfIt) {
  for (const auto& budget : {std::optional<std::chrono::nanoseconds>(), std::optional<std::chrono::nanoseconds>(60s)}) {
    const Planned planned = plan(budget);
    EXPECT_THAT(shapes_of(planned),
                ElementsAre("fixes static", "fixes static", "fixes static", "opens static", "opens static",
                            "opens static", "plain open", "plain open", "plain open"));
    EXPECT_THAT(planned.notes, IsEmpty());
  }
}

TEST(PlanWithinBudget, HasDynamicShapesIfTheLoadsTakeTooMuchOfItAndSaysSo) {
  const Planned planned = plan(40s);  // 9 loads take 11.7 s, more than a quarter
  EXPECT_THAT(shapes_of(planned),
              ElementsAre("fixes dynamic", "fixes dynamic", "fixes dynamic", "opens dynamic", "opens dynamic",
                          "opens dynamic", "plain open", "plain open", "plain open"));
  EXPECT_THAT(planned.tasks[0].load.shape_options, IsEmpty());
  EXPECT_THAT(planned.tasks[3].load.options, ElementsAre(std::pair("static_shapes", "false")));
  const auto why = AllOf(HasSubstr("dynamic shapes: loading for each static one takes about 12 s"),
                         HasSubstr("too much of --budget 40 s"));
  EXPECT_THAT(planned.tasks[0].notes, ElementsAre(why));
  EXPECT_THAT(planned.notes, ElementsAre(AllOf(HasSubstr("fixes: "), why), AllOf(HasSubstr("opens: "), why)));
  EXPECT_THAT(planned.tasks[6].notes, IsEmpty());
}

TEST(PlanWithinBudget, KeepsStaticShapesThatWereRequested) {
  Target fixes = testing::target_on("fixes");
  fixes.found.entry.fixed_extents = "free_dimensions";
  PreparedModel model = testing::text_model();
  model.identity.parameter_count = 175'000'000;
  RunSettings settings;
  settings.batch_sizes = {1};
  settings.budget = 2s;
  std::vector<std::string> notes;
  settings.static_shapes = true;
  EXPECT_EQ(plan_within_budget(std::span(&model, 1), {fixes}, settings, testing::run_info(), notes)[0][0].row.shapes,
            ShapesForm::kStatic);
  EXPECT_THAT(notes, IsEmpty());
  settings.static_shapes = false;
  EXPECT_EQ(plan_within_budget(std::span(&model, 1), {fixes}, settings, testing::run_info(), notes)[0][0].row.shapes,
            ShapesForm::kDynamic);
}

TEST(PlanWithinBudget, FindsTheDynamicTaskOfTheSameCell) {
  std::vector<Task> tasks = plan({}).tasks, dynamic = plan(40s).tasks;
  tasks.resize(3);
  dynamic.resize(3);
  std::ranges::reverse(dynamic);
  dynamic.pop_back();  // batch 1
  take_dynamic_shapes(tasks, dynamic, "why");
  ASSERT_EQ(tasks.size(), 3U);
  const std::vector<ShapesForm> shapes{ShapesForm::kStatic, ShapesForm::kDynamic, ShapesForm::kDynamic};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tasks[i].shape.batch, (std::vector<std::int64_t>{1, 4, 8}).at(i));
    EXPECT_EQ(tasks[i].row.shapes, shapes[i]);
    EXPECT_EQ(tasks[i].notes.empty(), i == 0);
  }
}

TEST(PlanWithinBudget, CellsThatHadNoStaticShapesStayAsTheyAre) {
  Target fixes = testing::target_on("fixes");
  fixes.found.entry.fixed_extents = "free_dimensions";
  std::vector<PreparedModel> models{testing::text_model(), testing::text_model()};
  models[0].identity.parameter_count = 175'000'000;
  models[1].choice.name = models[1].identity.model = "decoder";
  models[1].generation.emplace();
  models[1].generation->generation.states = {{"present", "past", "present"}};
  RunSettings settings;
  settings.batch_sizes = {1};
  settings.output_tokens = {4};
  settings.launches = 3;
  const auto plan_for = [&](std::optional<std::chrono::nanoseconds> budget) {
    settings.budget = budget;
    std::vector<std::string> notes;
    return plan_within_budget(models, {fixes}, settings, testing::run_info(), notes);
  };
  const std::vector<std::vector<Task>> before = plan_for({}), after = plan_for(1s);
  ASSERT_EQ(before.at(0).at(0).row.shapes, ShapesForm::kStatic);
  EXPECT_EQ(after.at(0).at(0).row.shapes, ShapesForm::kDynamic);
  ASSERT_EQ(before.at(1).at(0).row.shapes, ShapesForm::kOpen);
  EXPECT_EQ(to_json(after.at(1).at(0)), to_json(before.at(1).at(0)));
}

}  // namespace
}  // namespace assay
