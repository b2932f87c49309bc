// SPDX-License-Identifier: Apache-2.0
#include "app/cli/beside.hpp"

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/context.hpp"
#include "core/base/clock.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"

namespace assay::cli {
namespace {

std::string all_words(const std::vector<MeasuringProcess>& processes) {
  std::vector<std::string> words;
  words.reserve(processes.size());
  for (const MeasuringProcess& each : processes) words.push_back(process_words(each));
  return join(words, " and ");
}

MeasuringProcess this_process(const std::string& command, const std::filesystem::path& database) {
  constexpr std::size_t kDate = 10, kSeconds = 19;
  const std::string now = iso8601(wall_now());
  std::error_code ignored;
  return {::getpid(), command, now.substr(0, kDate) + " " + now.substr(kDate + 1, kSeconds - kDate - 1) + " UTC",
          database.empty() ? "" : std::filesystem::absolute(database, ignored).string()};
}

}  // namespace

Result<MachineMark> begin_beside_others(const std::string& command, const std::filesystem::path& database,
                                        std::optional<bool> wait) {
  const bool waits = wait.value_or(false);
  MachineMark mark = MachineMark::begin(this_process(command, database), SteadyClock().now_ns(),
                                        waits ? MachineMark::State::kWaiting : MachineMark::State::kMeasuring);
  const std::vector<MeasuringProcess> others = mark.others();
  if (!waits) {
    if (!others.empty())
      log_warning("another measurement runs on this machine: {}; each disturbs the times of the other{}",
                  all_words(others), wait ? "; --wait waits for its end" : "");
    return mark;
  }
  if (!others.empty())
    log_info("waiting until this machine is free: {} {}", all_words(others),
             others.size() == 1 ? "measures" : "measure");
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
  if (!mark.wait_for_turn(interrupted, pause)) return fail(ErrorCode::kCancelled, "interrupted while it waited");
  return mark;
}

}  // namespace assay::cli
