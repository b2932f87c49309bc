// SPDX-License-Identifier: Apache-2.0
#include "torch_library.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInstall = "`setup/fetch libtorch` installs it whole";

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// "2.15" of "2.15.0+cu132".
std::string minor_release(const std::string& version) {
  const auto dot = version.find('.');
  return version.substr(0, dot == version.npos ? dot : version.find_first_not_of("0123456789", dot + 1));
}

}  // namespace

Result<std::string> torch_version(const fs::path& home) {
  const fs::path above = home.parent_path();
  const fs::path python = above / "version.py", distribution = above / "build-version";
  std::string version = between(content_of(python), "__version__ = '", "'");
  if (version.empty()) version = first_line(content_of(distribution));
  if (!version.empty()) return version;
  return fail(ErrorCode::kNotFound,
              fmt::format("the version of the libtorch in '{}' is unknown: there is no {} and no {}", home.string(),
                          python.string(), distribution.string()),
              kInstall);
}

Status check_torch_version(const std::string& installed, const std::string& built_for, const fs::path& home) {
  if (minor_release(installed) == minor_release(built_for)) return {};
  return fail(ErrorCode::kIncompatiblePlugin,
              fmt::format("the libtorch in '{}' is version {}; this engine was built for {}", home.string(), installed,
                          built_for),
              "`setup/fetch libtorch` installs that version in assay's own folder");
}

Status check_whole_library(const fs::path& file) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(file, missing);
  if (missing) return fail(ErrorCode::kNotFound, fmt::format("there is no {}", file.string()), kInstall);
  Elf64_Ehdr header{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!stream || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return fail(ErrorCode::kNotFound, fmt::format("{} is not a shared library ({} bytes)", file.string(), size),
                kInstall);
  // Linkers write the table of sections last.
  const std::uintmax_t end = header.e_shoff + std::uintmax_t{header.e_shentsize} * header.e_shnum;
  if (size >= end) return {};
  return fail(ErrorCode::kNotFound,
              fmt::format("{} is not whole: it has {} of at least {} bytes", file.string(), size, end), kInstall);
}

}  // namespace assay::plugin
