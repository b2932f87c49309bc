// SPDX-License-Identifier: Apache-2.0
#include "app/cli/cache_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/log.hpp"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Relative paths in these variables have no meaning (XDG Base Directory Specification).
fs::path place_of_user() {
  const fs::path xdg = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (xdg.is_absolute()) return xdg / "assay";
  return home.is_absolute() ? home / ".cache" / "assay" : fs::path();
}

Status make_private(const fs::path& folder) {
  if (folder.has_parent_path()) ASSAY_CHECK_OK(make_directories(folder.parent_path()));
  if (::mkdir(folder.c_str(), 0700) == 0) return {};
  int error = errno;
  std::error_code ignored;
  if (error == EEXIST && !fs::is_directory(folder, ignored)) error = ENOTDIR;
  if (error == EEXIST) error = ::access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  if (error == 0) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("cannot write in the folder '{}': {}", folder.string(), std::strerror(error)));
}

}  // namespace

fs::path CacheFolder::usual_place() {
  const std::string given = variable("ASSAY_CACHE_DIR");
  return given.empty() ? place_of_user() : fs::path(given);
}

Result<CacheFolder> CacheFolder::open() {
  CacheFolder cache;
  const std::string given = variable("ASSAY_CACHE_DIR");
  cache.path_ = usual_place();
  const Status made = cache.path_.empty() ? fail(ErrorCode::kNotFound, "HOME is not set") : make_private(cache.path_);
  if (!made && !given.empty()) {
    Error error = made.error();
    error.hint = "set ASSAY_CACHE_DIR to a folder that you may write";
    return tl::unexpected<Error>(std::move(error));
  }
  if (!made) {
    log_warning("{}: references are cached only for this run; set ASSAY_CACHE_DIR to a folder to keep them",
                made.error().message);
    ASSAY_TRY(TemporaryDirectory temporary, TemporaryDirectory::create("assay-cache-"));
    cache.temporary_ = std::move(temporary);
    return cache;
  }
  for (const char* part : {"", "models", "references"}) remove_abandoned_directories(cache.path_ / part);
  return cache;
}

}  // namespace assay::cli
