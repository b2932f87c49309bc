// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include <assay/result.hpp>

#include "base/descriptor.hpp"

namespace assay {

/// A spool for the bundles of one invocation that puts nothing into the database: `<spool>/.unsaved/<time>-<run>`,
/// which no command ingests by itself. Those of the last kKept invocations are kept, older ones are removed, so that
/// they do not grow unseen; one that is in use stays. Lifetime: in use while the object lives.
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

}  // namespace assay
