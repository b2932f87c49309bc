// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.hpp"

#include <atomic>
#include <cstdio>
#include <string>

#include "core/base/text.hpp"

namespace assay {
namespace {
std::atomic<LogLevel> g_level{LogLevel::kInfo};
constexpr const char* kPrefixes[] = {"debug: ", "", "", "warning: ", "error: ", ""};
}  // namespace

void set_log_level(LogLevel level) { g_level = level; }
LogLevel log_level() { return g_level; }

void log_line(LogLevel level, std::string_view line) {
  // One write per line, so that lines of several threads do not mix.
  const std::string whole = std::string(kPrefixes[static_cast<int>(level)]) + sanitise(line) + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace assay
