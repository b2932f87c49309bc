// SPDX-License-Identifier: Apache-2.0
#include <assay/support/plugin_support.hpp>

#include <elf.h>

#include <cstring>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace assay::plugin {
namespace fs = std::filesystem;

Status check_whole_library(const fs::path& file, const std::string& hint) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(file, missing);
  if (missing) return fail(ErrorCode::kNotFound, fmt::format("there is no {}", file.string()), hint);
  Elf64_Ehdr header{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!stream || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return fail(ErrorCode::kNotFound, fmt::format("{} is not a shared library ({} bytes)", file.string(), size), hint);
  // Linkers write the table of sections last.
  const std::uintmax_t end = header.e_shoff + std::uintmax_t{header.e_shentsize} * header.e_shnum;
  if (size >= end) return {};
  return fail(ErrorCode::kNotFound,
              fmt::format("{} is not whole: it has {} of at least {} bytes", file.string(), size, end), hint);
}

}  // namespace assay::plugin
