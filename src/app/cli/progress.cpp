// SPDX-License-Identifier: Apache-2.0
#include "app/cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/text.hpp"

namespace assay::cli {
namespace {

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string clock_text(double seconds) {
  const auto whole = std::lround(seconds);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

void Progress::set_step(const std::string& what) {
  step_ = one_line(what);
  if (terminal_ && !quiet_) draw();
}

void Progress::set_long_step(const std::string& what) {
  set_step(what);
  if (!terminal_ && !quiet_) std::fprintf(stderr, "%s\n", one_line(what).c_str());
}

void Progress::set_left(std::size_t launches_done, std::size_t launches, double seconds) {
  launches_done_ = launches_done;
  launches_ = launches;
  left_s_ = seconds;
  if (terminal_ && !quiet_) draw();
}

void Progress::launched(const std::string& line, bool kept) {
  if (quiet_ || terminal_ || kept) return;
  std::fprintf(stderr, "(%zu/%zu) %s; %s elapsed, about %s left\n", launches_done_, launches_, one_line(line).c_str(),
               clock_text(elapsed_s()).c_str(), clock_text(left_s_).c_str());
}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::finished(const std::string& line, bool kept) {
  ++done_;
  if (kept) ++kept_;
  if (quiet_) return;
  if (terminal_)
    draw();
  else
    std::fprintf(stderr, "[%zu/%zu] %s%s\n", done_, total_, one_line(line).c_str(), kept ? " (kept)" : "");
}

void Progress::draw() {
  constexpr std::size_t kBar = 24;
  const bool by_launches = launches_ > total_;
  const std::size_t done = by_launches ? launches_done_ : done_, total = by_launches ? launches_ : total_;
  const double share = total == 0 ? 0.0 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(share * kBar);
  std::string line = "[" + std::string(filled, '#') + std::string(kBar - filled, '.') + "] ";
  if (total_ > 0) line += fmt::format("{}/{} cells", done_, total_);
  if (by_launches) line += fmt::format(", {}/{} launches", launches_done_, launches_);
  if (kept_ > 0) line += fmt::format(" ({} kept)", kept_);
  line += fmt::format("  {} elapsed", clock_text(elapsed_s()));
  if (launches_done_ > 0 && launches_done_ < launches_) line += fmt::format(", about {} left", clock_text(left_s_));
  if (!step_.empty()) line += "  " + step_;
  std::fprintf(stderr, "\r\x1b[K%s", line.substr(0, terminal_width() - 1).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

}  // namespace assay::cli
