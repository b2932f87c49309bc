// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include <assay/result.hpp>

#include "core/base/files.hpp"

namespace assay::cli {

/// The folder for references, converted inputs and the models of a run.
///
/// It is $ASSAY_CACHE_DIR, else $XDG_CACHE_HOME/assay, else ~/.cache/assay. If there is no home, or nothing can be
/// written in it, it is a temporary folder that is removed with this object: a fixed place in /tmp could be somebody
/// else's. What killed processes left in the cache is removed when it is opened (core/base/files.hpp,
/// TemporaryDirectory).
class CacheFolder {
 public:
  /// Its place, whether or not there is a folder; empty for a process without a home.
  [[nodiscard]] static std::filesystem::path usual_place();
  /// Errors: invalid_argument: nothing can be written in $ASSAY_CACHE_DIR.
  [[nodiscard]] static Result<CacheFolder> open();
  [[nodiscard]] const std::filesystem::path& path() const { return temporary_ ? temporary_->path() : path_; }

 private:
  std::filesystem::path path_;
  std::optional<TemporaryDirectory> temporary_;
};

}  // namespace assay::cli
