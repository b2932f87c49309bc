// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <assay/result.hpp>

namespace assay {

/// A whole file. Errors: not_found, invalid_argument (a folder, pipe or device; not readable: says why), internal
/// (I/O).
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path);

/// Writes `content` so that a reader sees the old file or the new one, never half: a temporary beside it, fsync,
/// rename. Parent folders are made. Errors: invalid_argument (no permission, names the folder), internal (disk full).
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Whether a write waits for the disk: `kDurable` survives a power cut; `kScratch` does not, costs no sync, and is for
/// what can be made again or is synced later by whoever keeps it.
enum class Persistence { kDurable, kScratch };

/// A file that is written piece by piece under a temporary name beside `path` and gets its own with commit(); a reader
/// sees the old file or the whole new one. Without commit() nothing is left.
class PendingFile {
 public:
  /// Parent folders are made. Errors: those of write_file_atomically.
  [[nodiscard]] static Result<PendingFile> create(const std::filesystem::path& path);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();
  [[nodiscard]] Status write(std::span<const std::byte> bytes);
  [[nodiscard]] Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Zeros that take no space on the disk.
  [[nodiscard]] Status grow_to(std::uint64_t size);
  [[nodiscard]] Status commit(Persistence persistence);

 private:
  PendingFile(int fd, std::string temporary, std::filesystem::path path)
      : fd_(fd), temporary_(std::move(temporary)), path_(std::move(path)) {}
  [[nodiscard]] Status failed() const;
  int fd_;
  std::string temporary_;
  std::filesystem::path path_;
};

/// write_file_atomically() with the content in pieces one after the other.
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces,
                                           Persistence persistence = Persistence::kDurable);

/// Flushes a file's content to the disk.
[[nodiscard]] Status sync_file(const std::filesystem::path& path);

/// Before a file is written beside `path` and renamed over it: a device, pipe, socket or folder there would be
/// replaced, not written to. Errors: invalid_argument.
[[nodiscard]] Status check_replaceable(const std::filesystem::path& path);

/// Flushes a folder's entries to the disk, so that a rename in it survives a power cut.
[[nodiscard]] Status sync_directory(const std::filesystem::path& path);

/// Makes `path` and its parents. Errors: invalid_argument naming the folder and the reason.
[[nodiscard]] Status make_directories(const std::filesystem::path& path);

/// A fresh folder that is removed, with its content, on destruction.
class TemporaryDirectory {
 public:
  /// In `parent`, which is made where it is not there (empty: $TMPDIR or /tmp), its name starting with `prefix`.
  [[nodiscard]] static Result<TemporaryDirectory> create(std::string_view prefix = "assay-",
                                                         const std::filesystem::path& parent = {});
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  ~TemporaryDirectory();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// A read-only memory map of a file; empty files map to an empty span.
/// Lifetime: spans are valid while the object lives. A file that shrinks meanwhile is the caller's risk.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace assay
