// SPDX-License-Identifier: Apache-2.0
#include "core/base/time_words.hpp"

#include <fmt/format.h>

#include <cmath>

namespace assay {

std::string time_words(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600 && whole % 60 == 0) return fmt::format("{} min", whole / 60);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole / 60 % 60 == 0) return fmt::format("{} h", whole / 3600);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string budget_text(std::chrono::nanoseconds budget) {
  return "--budget " + time_words(std::chrono::duration<double>(budget).count());
}

}  // namespace assay
