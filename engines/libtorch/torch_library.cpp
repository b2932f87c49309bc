// SPDX-License-Identifier: Apache-2.0
#include "torch_library.hpp"

#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {
namespace fs = std::filesystem;
namespace {

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
              kInstallTorch);
}

Status check_torch_version(const std::string& installed, const std::string& built_for, const fs::path& home) {
  if (minor_release(installed) == minor_release(built_for)) return {};
  return fail(ErrorCode::kIncompatiblePlugin,
              fmt::format("the libtorch in '{}' is version {}; this engine was built for {}", home.string(), installed,
                          built_for),
              "`setup/fetch libtorch` installs that version in assay's own folder");
}

}  // namespace assay::plugin
