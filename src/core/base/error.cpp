// SPDX-License-Identifier: Apache-2.0
#include <assay/error.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>

#include <assay/result.hpp>

namespace assay {
namespace {
constexpr std::array<std::string_view, 13> kNames{
    "invalid_argument", "not_found",           "unsupported", "mismatch",  "timeout",  "out_of_memory", "device_lost",
    "worker_died",      "incompatible_plugin", "store_busy",  "cancelled", "internal", "fixed_shape"};
}  // namespace

std::string_view to_string(ErrorCode code) { return kNames.at(static_cast<std::size_t>(code)); }

std::optional<ErrorCode> error_code_from(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<ErrorCode>(i);
  return std::nullopt;
}

std::string to_string(const Error& error) {
  std::string text = "error[" + std::string(to_string(error.code)) + "]: " + error.message;
  for (const std::string& line : error.context) text += "\n  " + line;
  if (!error.hint.empty()) text += "\n  hint: " + error.hint;
  return text;
}

void check_failed(const char* condition, const char* what, const char* file, int line) {
  std::fprintf(stderr, "assay: bug: %s (%s) at %s:%d\n", what, condition, file, line);
  std::abort();
}

}  // namespace assay
