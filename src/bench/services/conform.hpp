// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "bench/services/node_test.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/cancel.hpp"
#include "core/base/files.hpp"
#include "core/traits/engine_entry.hpp"

namespace assay {

/// The result of one operator test on one engine.
enum class Conformity : std::uint8_t {
  kPassed,
  kUnsupported,  ///< assay or the runtime refuses the model, naming what
  kWrong,        ///< it ran; a type, a shape or an element is not the expected one
  kFailed,       ///< a crash, a time limit, exhausted memory, any other error
};
inline constexpr Conformity kConformities[] = {Conformity::kPassed, Conformity::kUnsupported, Conformity::kWrong,
                                               Conformity::kFailed};
/// "passed", "unsupported", "wrong", "failed".
[[nodiscard]] std::string_view to_string(Conformity status);

struct ConformityResult {
  Conformity status = Conformity::kPassed;
  std::string message{};  ///< "" if it passed
};

/// Unsupported or failed.
[[nodiscard]] ConformityResult conformity_of(const Error& error);

/// An engine under test.
struct ConformSubject {
  EngineEntry entry;
  /// A worker that has loaded no model yet.
  std::function<Result<std::unique_ptr<Worker>>()> start;
  bool specialise = false;  ///< run what specialise() writes, also on an engine with dynamic shapes
  std::chrono::nanoseconds timeout = std::chrono::minutes(1);  ///< time limit of each step of a test
};

/// Runs ONNX's operator tests on one engine. Many tests share a worker; after one that fails, the next gets a fresh
/// worker. An engine with static shapes gets the model specialised, one with `lowered_to` lowered, to the shapes of the
/// test; the inputs that decide shapes (models/graph/shape_operands.hpp) are then constants.
/// Thread: one at a time.
class ConformanceRun {
 public:
  /// Errors: internal (no temporary folder).
  [[nodiscard]] static Result<ConformanceRun> create(ConformSubject subject);
  /// Errors: cancelled.
  [[nodiscard]] Result<ConformityResult> run(const NodeTest& test);
  /// As the worker reported it; "": no model was loaded.
  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  ConformanceRun(ConformSubject subject, TemporaryDirectory folder)
      : subject_(std::move(subject)), folder_(std::move(folder)) {}
  [[nodiscard]] Status compute(const NodeTest& test, const NodeTestData& data, const std::filesystem::path& outputs);
  [[nodiscard]] Result<std::filesystem::path> model_for(const NodeTest& test, const NodeTestData& data) const;

  ConformSubject subject_;
  TemporaryDirectory folder_;
  std::unique_ptr<Worker> worker_{};
  std::string version_{};
};

/// What differs between the outputs of a test and the file of those that were computed; passed: nothing does.
[[nodiscard]] ConformityResult judge_node_test(const NodeTest& test, const NodeTestData& data,
                                               const std::filesystem::path& computed);

}  // namespace assay
