// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace assay {

/// From most to least output: a line is printed if its level is at least the current one.
/// kVerbose: each step and its time (`--verbose`). kDebug: what happens inside a step, too (`--debug`).
enum class LogLevel { kDebug, kVerbose, kInfo, kWarning, kError, kSilent };

/// Diagnostics go to stderr as plain lines; stdout belongs to results. Thread: any.
void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level();
void log_line(LogLevel level, std::string_view line);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> f, Args&&... args) {
  log(LogLevel::kDebug, f, std::forward<Args>(args)...);
}
template <class... Args>
void log_verbose(fmt::format_string<Args...> f, Args&&... args) {
  log(LogLevel::kVerbose, f, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> f, Args&&... args) {
  log(LogLevel::kInfo, f, std::forward<Args>(args)...);
}
template <class... Args>
void log_warning(fmt::format_string<Args...> f, Args&&... args) {
  log(LogLevel::kWarning, f, std::forward<Args>(args)...);
}

}  // namespace assay
