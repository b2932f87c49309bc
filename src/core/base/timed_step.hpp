// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "core/base/log.hpp"

namespace assay {

/// A step of the work: when it ends, the log says how long it took ("prepared bert: 0.123 s").
class TimedStep {
 public:
  explicit TimedStep(std::string what, LogLevel level = LogLevel::kVerbose)
      : what_(std::move(what)), level_(level), start_(std::chrono::steady_clock::now()) {}
  ~TimedStep() {
    log(level_, "{}: {:.3f} s", what_,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }
  TimedStep(const TimedStep&) = delete;
  TimedStep& operator=(const TimedStep&) = delete;

 private:
  std::string what_;
  LogLevel level_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace assay
