// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Archives for tests.

#include <cstdint>
#include <string>
#include <vector>

namespace assay::testing {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

/// A zip archive of stored entries whose content is `content`. ZIP64: with the records of large archives.
inline std::string zip_of(const std::vector<std::string>& names, const std::string& content = "", bool zip64 = false) {
  std::string file, directory;
  const std::string sizes = little_endian(content.size(), 4) + little_endian(content.size(), 4);
  for (const std::string& name : names) {
    const std::string about = std::string(8, '\0') + little_endian(0, 4) + sizes + little_endian(name.size(), 2);
    const std::uint64_t at = file.size();
    file += "PK\x03\x04" + little_endian(20, 2) + about + little_endian(0, 2) + name + content;
    directory += "PK\x01\x02" + little_endian(20, 2) + little_endian(20, 2) + about + little_endian(3, 2) +
                 little_endian(2, 2) + std::string(8, '\0') + little_endian(at, 4) + name + "extra";
  }
  const std::uint64_t begin = file.size(), large = 0xffffffff;
  file += directory;
  if (zip64)
    file += "PK\x06\x06" + std::string(36, '\0') + little_endian(directory.size(), 8) + little_endian(begin, 8) +
            "PK\x06\x07" + std::string(4, '\0') + little_endian(begin + directory.size(), 8) + std::string(4, '\0');
  return file + "PK\x05\x06" + std::string(8, '\0') + little_endian(zip64 ? large : directory.size(), 4) +
         little_endian(zip64 ? large : begin, 4) + std::string(2, '\0');
}

}  // namespace assay::testing
