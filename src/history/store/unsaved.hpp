// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/descriptor.hpp"

namespace assay {

/// A spool for the bundles of one invocation that puts nothing into the database: `<spool>/.unsaved/<time>-<run>`,
/// which no command ingests by itself. Those of the last kKept invocations are kept, older ones are removed, so that
/// they do not grow unnoticed; one that is in use stays. move_out_of_unsaved() moves results that must be kept.
/// Lifetime: in use while the object lives.
class UnsavedSpool {
 public:
  static constexpr std::size_t kKept = 10;

  /// Errors: those of make_directories, internal (it cannot be locked).
  [[nodiscard]] static Result<UnsavedSpool> begin(const std::filesystem::path& spool, std::string_view run_id);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  UnsavedSpool(std::filesystem::path path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  Descriptor lock_;
};

/// What move_out_of_unsaved() did.
struct MovedBundles {
  std::filesystem::path spool;   ///< the folder that contains the bundles now
  std::size_t bundles = 0;       ///< moved by this call
  std::vector<Error> refused{};  ///< damaged, or still being written: they stay where they are
};

/// The spool that has the bundles of `folder` after move_out_of_unsaved(): `folder` itself, or `<spool>`.
[[nodiscard]] std::filesystem::path spool_of(const std::filesystem::path& folder);

/// rename(2); a test replaces it by one that fails.
using Rename = std::function<int(const char* from, const char* to)>;

/// When `folder` is `<spool>/.unsaved/<run>`, or `<spool>/.unsaved`, moves each whole bundle in it to the spool, where
/// nothing removes it. Any other folder is a spool: nothing moves.
///
/// Each bundle is whole in one of the two places at every moment: it is renamed, or, across file systems, copied,
/// checked, renamed and then removed here. So a process that is killed loses nothing, and the next call continues.
/// Errors: internal (I/O), those of make_directories.
[[nodiscard]] Result<MovedBundles> move_out_of_unsaved(const std::filesystem::path& folder,
                                                       const Rename& rename = std::rename);

}  // namespace assay
