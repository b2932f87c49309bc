// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The input of detection: the machine's files under a root, and environment variables. Tests pass their own folder.
/// For files that are missing, unreadable or have other contents the functions return nullopt; nothing here fails.
class Host {
 public:
  using Environment = std::function<std::optional<std::string>(const std::string& name)>;

  /// This machine.
  Host();
  /// A machine described by files under `root`; without `environment` no variable is set.
  Host(std::filesystem::path root, Environment environment);

  /// True for this machine: libraries may be loaded and system calls made.
  [[nodiscard]] bool real() const { return real_; }
  /// `absolute` ("/proc/stat") below the root.
  [[nodiscard]] std::filesystem::path path(std::string_view absolute) const;
  [[nodiscard]] bool exists(std::string_view absolute) const;
  /// The first megabyte of a file; text() without blanks at both ends and sanitised.
  [[nodiscard]] std::optional<std::string> content(std::string_view absolute) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view absolute) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view absolute) const;
  /// Names in a folder, sorted by their numbers if they have some ("cpu2" before "cpu10"); empty if it is missing.
  [[nodiscard]] std::vector<std::string> list(std::string_view absolute) const;
  /// An environment variable; nullopt if absent or empty.
  [[nodiscard]] std::optional<std::string> variable(const std::string& name) const;

  /// The value after `key` and a colon, from the first such line in a file such as /proc/meminfo or /proc/cpuinfo.
  [[nodiscard]] std::optional<std::string> field(std::string_view absolute, std::string_view key) const;
  /// The same for a number of kB, in bytes.
  [[nodiscard]] std::optional<std::uint64_t> field_bytes(std::string_view absolute, std::string_view key) const;

 private:
  std::filesystem::path root_;
  Environment environment_;
  bool real_ = false;
};

/// "0-3,8" as {0, 1, 2, 3, 8}; nullopt for anything else, and for numbers of 65,536 and above.
[[nodiscard]] std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace assay
