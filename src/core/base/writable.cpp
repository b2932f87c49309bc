// SPDX-License-Identifier: Apache-2.0
#include "core/base/writable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "core/base/files.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// With the effective user, as open(2) decides.
bool may(const fs::path& path, int mode) { return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0; }

fs::path folder_above(const fs::path& path) {
  const fs::path above = path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
  return above.empty() ? fs::path(".") : above;
}

}  // namespace

Status check_folder_writable(const fs::path& folder) {
  const fs::path wanted = folder.empty() ? fs::path(".") : folder;
  const auto refuse = [&](const fs::path& there, const std::string& why) {
    return fail(ErrorCode::kInvalidArgument,
                there == wanted
                    ? fmt::format("cannot write to {}: {}", shown_path(wanted), why)
                    : fmt::format("cannot create the folder {}: {}: {}", shown_path(wanted), shown_path(there), why));
  };
  for (fs::path there = wanted;; there = folder_above(there)) {
    std::error_code error;
    const fs::file_status status = fs::status(there, error);
    if (status.type() == fs::file_type::not_found) {
      if (fs::is_symlink(fs::symlink_status(there, error))) return refuse(there, "it is a link to a missing folder");
      if (there != folder_above(there)) continue;
    }
    if (!fs::exists(status)) return refuse(there, error.message());
    if (!fs::is_directory(status)) return refuse(there, "it is not a folder");
    if (may(there, W_OK | X_OK)) return {};
    return refuse(there, std::strerror(errno));
  }
}

Status check_file_writable(const fs::path& file) {
  ASSAY_CHECK_OK(check_replaceable(file));
  std::error_code error;
  if (fs::exists(file, error)) {
    if (may(file, R_OK | W_OK)) return {};
    const std::string why = std::strerror(errno);
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot write to {}: {}", shown_path(file), why));
  }
  return check_folder_writable(folder_above(file));
}

}  // namespace assay
