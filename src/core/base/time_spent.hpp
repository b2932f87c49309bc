// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/clock.hpp"
#include "core/base/json.hpp"

namespace assay {

/// What the time of a run is spent on.
enum class Work : std::uint8_t {
  kPreparation,   ///< finding runtimes and models, planning
  kModelFiles,    ///< writing them
  kReferences,    ///< the outputs that candidates are compared with, and their honest errors
  kLoading,       ///< a worker starts, opens the model and prepares a shape
  kVerification,  ///< runs that are compared
  kSampling,      ///< the samples, and the warm-up before them
  kOther,         ///< bundles, for example
};
inline constexpr std::size_t kWorks = 7;
[[nodiscard]] std::string_view to_string(Work work);

/// Seconds of wall-clock time. The parts do not overlap.
struct TimeSpent {
  std::array<double, kWorks> seconds{};
  [[nodiscard]] double on(Work work) const { return seconds[static_cast<std::size_t>(work)]; }
  [[nodiscard]] double total() const;
};
/// {"total": 62.1, "model_files": 3.2, …}: all parts.
[[nodiscard]] Json to_json(const TimeSpent& spent);
/// "62 s: references 12 s, loading 6 s, sampling 44 s": the parts that took half a second or more, in the order of
/// Work.
[[nodiscard]] std::string time_text(const TimeSpent& spent);

/// Adds up the time that each kind of work takes, one at a time. Thread: one at a time.
class WorkTimer {
 public:
  explicit WorkTimer(const Clock& clock) : clock_(clock), since_ns_(clock.now_ns()) {}

  /// Until its end the time counts for `work`, except that of scopes within it. A null pointer counts nothing.
  class Scope {
   public:
    Scope(WorkTimer* timer, Work work) : timer_(timer) {
      if (timer_ != nullptr) before_ = timer_->change_to(work);
    }
    ~Scope() {
      if (timer_ != nullptr) timer_->change_to(before_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WorkTimer* timer_;
    Work before_ = Work::kPreparation;
  };

  /// Returns what the time counted for until now.
  Work change_to(Work work);
  [[nodiscard]] TimeSpent spent() const;

 private:
  const Clock& clock_;
  std::int64_t since_ns_;
  Work now_ = Work::kPreparation;
  TimeSpent spent_;
};

}  // namespace assay
