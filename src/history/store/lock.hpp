// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include <assay/result.hpp>

namespace assay {

/// `<database>.lock`: one writer, or many readers. Beside DuckDB's own lock, because that one does not see a second
/// opening in the same process, nor a file that is replaced while it is open. The file stays; only its lock matters.
class FileLock {
 public:
  enum class Kind { kShared, kExclusive };
  /// Waits up to `wait`. Errors: store_busy, naming the process; invalid_argument (no permission to write there).
  /// A reader that may not create the file has no lock and needs none, because no writer can be there either.
  [[nodiscard]] static Result<FileLock> acquire(const std::filesystem::path& database, Kind kind,
                                                std::chrono::milliseconds wait);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_ = -1;
  bool writer_ = false;  ///< its process id is in the file
};

}  // namespace assay
