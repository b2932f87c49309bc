// SPDX-License-Identifier: Apache-2.0
#include "bench/hardware/host.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

/// A name and the number at its end, for sorting: "cpu10" after "cpu2".
std::pair<std::string, std::uint64_t> sort_key(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto number = parse_number<std::uint64_t>(std::string_view(name).substr(digits));
  return {number ? name.substr(0, digits) : name, number.value_or(0)};
}

}  // namespace

Host::Host()
    : root_("/"),
      environment_([](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      }),
      real_(true) {}

Host::Host(std::filesystem::path root, Environment environment)
    : root_(std::move(root)), environment_(std::move(environment)) {}

std::filesystem::path Host::path(std::string_view absolute) const {
  while (absolute.starts_with('/')) absolute.remove_prefix(1);
  return root_ / absolute;
}

bool Host::exists(std::string_view absolute) const {
  std::error_code error;
  return std::filesystem::exists(path(absolute), error);
}

std::optional<std::string> Host::content(std::string_view absolute) const {
  std::error_code error;
  const auto file = path(absolute);
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  std::string bytes;
  std::array<char, 16'384> chunk{};
  while (bytes.size() < kMaxBytes && (stream.read(chunk.data(), chunk.size()) || stream.gcount() > 0))
    bytes.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) return std::nullopt;
  return bytes;
}

std::optional<std::string> Host::text(std::string_view absolute) const {
  const auto bytes = content(absolute);
  return bytes ? std::optional(sanitise(trim(*bytes))) : std::nullopt;
}

std::optional<std::int64_t> Host::integer(std::string_view absolute) const {
  const auto value = text(absolute);
  return value ? parse_number<std::int64_t>(*value) : std::nullopt;
}

std::vector<std::string> Host::list(std::string_view absolute) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path(absolute), error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::ranges::sort(names, {}, sort_key);
  return names;
}

std::optional<std::string> Host::variable(const std::string& name) const {
  auto value = environment_ ? environment_(name) : std::nullopt;
  return value && !value->empty() ? value : std::nullopt;
}

std::optional<std::string> Host::field(std::string_view absolute, std::string_view key) const {
  const auto bytes = content(absolute);
  if (!bytes) return std::nullopt;
  std::string_view rest = *bytes;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key)
      return sanitise(trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Host::field_bytes(std::string_view absolute, std::string_view key) const {
  const auto value = field(absolute, key);
  if (!value || !value->ends_with(" kB")) return std::nullopt;
  const auto kilobytes = parse_number<std::uint64_t>(trim(std::string_view(*value).substr(0, value->size() - 3)));
  if (!kilobytes || *kilobytes > std::numeric_limits<std::uint64_t>::max() / 1024) return std::nullopt;
  return *kilobytes * 1024;
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  constexpr int kMaxCpu = 65'535;
  std::vector<int> cpus;
  if (trim(text).empty()) return cpus;
  for (const std::string& part : split(trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number<int>(std::string_view(part).substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_number<int>(std::string_view(part).substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMaxCpu) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  return cpus;
}

}  // namespace assay
