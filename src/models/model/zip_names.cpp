// SPDX-License-Identifier: Apache-2.0
#include "models/model/zip_names.hpp"

#include <cstdint>
#include <cstring>

namespace assay {
namespace {

// Records begin with a signature. Numbers are little-endian, as on every machine that assay supports.
constexpr std::string_view kEnd = "PK\x05\x06", kEntry = "PK\x01\x02";
constexpr std::string_view kEnd64 = "PK\x06\x06", kLocator64 = "PK\x06\x07";
constexpr std::size_t kEndBytes = 22, kEntryBytes = 46, kEnd64Bytes = 56, kLocator64Bytes = 20;

template <class T>
std::uint64_t number(std::string_view file, std::size_t at) {
  T value{};
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

bool is_record(std::string_view file, std::uint64_t at, std::string_view signature, std::size_t bytes) {
  return at <= file.size() && file.size() - at >= bytes && file.substr(at, signature.size()) == signature;
}

struct Directory {
  std::uint64_t begin = 0, bytes = 0;
};

std::optional<Directory> directory_of(std::string_view file) {
  const std::size_t end = file.rfind(kEnd);
  if (end == std::string_view::npos || !is_record(file, end, kEnd, kEndBytes)) return std::nullopt;
  Directory found{number<std::uint32_t>(file, end + 16), number<std::uint32_t>(file, end + 12)};
  if (end >= kLocator64Bytes && is_record(file, end - kLocator64Bytes, kLocator64, kLocator64Bytes)) {
    const std::uint64_t record = number<std::uint64_t>(file, end - kLocator64Bytes + 8);
    if (!is_record(file, record, kEnd64, kEnd64Bytes)) return std::nullopt;
    found = {number<std::uint64_t>(file, record + 48), number<std::uint64_t>(file, record + 40)};
  }
  if (found.begin > end || found.bytes > end - found.begin) return std::nullopt;
  return found;
}

}  // namespace

std::optional<std::vector<std::string_view>> zip_names(Bytes bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::optional<Directory> directory = directory_of(file);
  if (!directory) return std::nullopt;
  const std::string_view entries = file.substr(directory->begin, directory->bytes);
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at < entries.size();) {
    if (!is_record(entries, at, kEntry, kEntryBytes)) return std::nullopt;
    const auto name = number<std::uint16_t>(entries, at + 28);
    const auto others = number<std::uint16_t>(entries, at + 30) + number<std::uint16_t>(entries, at + 32);
    at += kEntryBytes;
    if (name + others > entries.size() - at) return std::nullopt;
    names.push_back(entries.substr(at, name));
    at += name + others;
  }
  return names;
}

}  // namespace assay
