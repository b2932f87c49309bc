// SPDX-License-Identifier: Apache-2.0
#pragma once

// Only for tests of this module: cells whose outputs are compared with a reference that the test writes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/run/output_checks.hpp"
#include "bench/run/run_testing.hpp"
#include "core/base/files.hpp"
#include "core/tensor/safetensors.hpp"
#include "core/traits/engine_entry.hpp"

namespace assay::testing {

inline constexpr const char* kEncoder = "prajjwal1/bert-tiny";
inline constexpr const char* kGenerates = "google/t5-efficient-tiny";

/// Cells of the null engine with the faults that its options plant; its reference has none.
class Checks : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<Task> tasks_of(const std::string& name) {
    return complete_tasks(zoo_model(name, settings_, registry_, folder_.path()), settings_, registry_, folder_.path());
  }
  [[nodiscard]] Record row_of(const std::string& name) {
    return run_tasks(tasks_of(name), services_in(folder_.path(), registry_)).at(0);
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  EngineRegistry registry_{testing::build_places()};
  RunSettings settings_ = quick_settings();
};

/// A worker with one output, whose numbers are given for each set.
class Answers final : public Worker {
 public:
  using Output = std::function<Tensor(std::size_t set)>;
  Answers(std::string name, Output output, double run_ms = 200)
      : name_(std::move(name)), output_(std::move(output)), run_ms_(run_ms) {}
  [[nodiscard]] bool alive() override { return true; }
  [[nodiscard]] int pid() const override { return 0; }
  [[nodiscard]] Result<LoadReply> load(const LoadRequest&, std::chrono::nanoseconds) override { return LoadReply(); }
  [[nodiscard]] Result<BindReply> bind(const BindRequest&, std::chrono::nanoseconds) override { return BindReply(); }
  [[nodiscard]] Result<InferReply> infer(const InferRequest& request, std::chrono::nanoseconds) override {
    const Tensor tensor = output_(request.set);
    const NamedView named{name_, tensor.view()};
    ASSAY_CHECK_OK(write_safetensors(request.outputs, std::span(&named, 1), {}, Persistence::kScratch));
    return InferReply{.run_ms = run_ms_};
  }
  [[nodiscard]] Result<MeasureReply> measure(const MeasureRequest&, std::chrono::nanoseconds) override {
    return MeasureReply();
  }

 private:
  std::string name_;
  Output output_;
  double run_ms_;
};

/// Launches whose outputs are compared with four sets of a reference.
class ComparedLaunches : public Checks {
 protected:
  using Output = Answers::Output;
  void trust(const std::string& name, const Output& right) {
    name_ = name;
    right_ = right;
    Answers trusted(name, right);
    for (std::size_t set = 0; set < 4; ++set) {
      reference_.outputs.push_back(folder_.path() / fmt::format("reference{}.safetensors", set));
      ASSERT_TRUE(trusted.infer({set, reference_.outputs.back()}, {}));
    }
  }
  struct Compared {
    Record row;
    OutputsOfSets outputs;
    Json fingerprint;
  };
  [[nodiscard]] Compared compared(int number, Answers worker) {
    local_.launches.assign(static_cast<std::size_t>(number - 1), {});
    for (Launch& earlier : local_.launches) earlier.row.checked = "4 sets";
    Record row = local_.task.row;
    row.launch_number = number;
    OutputChecks checks(local_, row, reference_, folder_.path());
    const Status done = checks.before(worker, Deadline(std::chrono::minutes(1)));
    EXPECT_TRUE(done) << to_string(done.error());
    return {row, checks.compared(), checks.fingerprint()};
  }

  std::string name_;
  Output right_;
  Reference reference_{.name = std::string(kReferenceEngine) + "-noopt"};
  LocalTask local_{tasks_of(kEncoder).at(0)};
};

inline Tensor numbers(std::size_t set) {
  Tensor tensor = Tensor::create(DType::kFloat32, {4, 16}).value();
  for (std::size_t i = 0; i < 64; ++i) tensor.as<float>()[i] = (i + set) % 2 == 0 ? 1.F : -1.F;
  return tensor;
}

}  // namespace assay::testing
