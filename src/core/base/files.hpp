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

#include "core/base/cancel.hpp"
#include "core/base/descriptor.hpp"

namespace assay {

/// Whether there is no such file, or an empty one. False if it cannot be looked at: opening it says why.
[[nodiscard]] bool is_empty_or_absent(const std::filesystem::path& path);

/// A whole file. Errors: not_found, invalid_argument (a folder, pipe or device; not readable: says why), internal
/// (I/O).
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path);

/// Writes `content` so that a reader sees the old file or the new one, never a part: a temporary beside it, fsync,
/// rename. Parent folders are created. Errors: invalid_argument (no permission, names the folder), internal (disk
/// full).
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Whether a write waits for the disk: `kDurable` survives a power cut; `kScratch` does not, costs no sync, and is for
/// files that can be made again, or that the caller syncs later.
enum class Persistence { kDurable, kScratch };

/// A file that is written piece by piece under a temporary name beside `path` and gets its own with commit(); a reader
/// sees the old file or the complete new one. Without commit() nothing is left. The temporary file is locked while it
/// is written: what a killed process left in the same folder is removed by the next create() there.
class PendingFile {
 public:
  /// Parent folders are made. Errors: those of write_file_atomically.
  [[nodiscard]] static Result<PendingFile> create(const std::filesystem::path& path);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();
  [[nodiscard]] Status write(std::span<const std::byte> bytes);
  [[nodiscard]] Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Adds zeros that need no space on the disk.
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

/// Copies the content of a regular file over `to`, which is made if it is missing.
/// Errors: not_found, invalid_argument, internal (disk full), cancelled (part of the copy is left).
[[nodiscard]] Status copy_content(const std::filesystem::path& from, const std::filesystem::path& to,
                                  const Cancelled& cancelled);

/// Flushes a file's content to the disk.
[[nodiscard]] Status sync_file(const std::filesystem::path& path);

/// Before a file is written beside `path` and renamed over it: a device, pipe, socket or folder there would be
/// replaced, not written to. Errors: invalid_argument.
[[nodiscard]] Status check_replaceable(const std::filesystem::path& path);

/// Flushes a folder's entries to the disk, so that a rename in it survives a power cut.
[[nodiscard]] Status sync_directory(const std::filesystem::path& path);

/// Creates `path` and its parents. Errors: invalid_argument naming the folder and the reason.
[[nodiscard]] Status make_directories(const std::filesystem::path& path);

/// A fresh folder (mode 0700) that is removed, with its content, on destruction.
///
/// A process that is killed leaves its folders behind; the next create() in the same place removes them. Each folder
/// is inside one with a marker file of its name, and the owner has a lock on the marker while it lives. The
/// kernel releases the lock when the process ends, however it ends, so no clock is needed to know that a folder is
/// abandoned. On a file system without locks, folders get no marker and are never removed by another process.
///
/// Thread: different objects in any thread.
class TemporaryDirectory {
 public:
  /// The folder is in `parent`, which is created if it is missing (empty: $TMPDIR, else /tmp). `prefix` begins with
  /// "assay-" or ".assay-". Removes abandoned folders in `parent` first.
  /// Errors: invalid_argument (no permission), internal (disk full).
  [[nodiscard]] static Result<TemporaryDirectory> create(std::string_view prefix = "assay-",
                                                         const std::filesystem::path& parent = {});
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  ~TemporaryDirectory();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Gives the folder a final name in the same file system; from then on it is no longer temporary. If `name` exists
  /// and is not an empty folder, nothing is renamed and this folder is removed.
  /// Returns whether it was renamed.
  bool keep_as(const std::filesystem::path& name) &&;

 private:
  TemporaryDirectory(std::filesystem::path path, Descriptor marker)
      : path_(std::move(path)), marker_(std::move(marker)) {}
  std::filesystem::path path_;
  Descriptor marker_;  ///< open and locked while the folder is in use
};

/// Removes the folders in `parent` that killed processes of this user left. A folder is removed only if it is a real
/// folder (no link) of this user, has a name that TemporaryDirectory gives, contains the marker with that name, and no
/// process has the marker's lock. Links inside it are removed, not followed. Nothing else in `parent` is touched.
void remove_abandoned_directories(const std::filesystem::path& parent);

/// $TMPDIR, else /tmp.
[[nodiscard]] std::filesystem::path temporary_root();

/// The file that `path` means if it is a symbolic link, or a link to one: names that are derived from it are then
/// beside that file, whatever it was called by. The file need not exist. A path that is not a link, and a circle of
/// links, are returned as they are.
[[nodiscard]] std::filesystem::path without_links(const std::filesystem::path& path);

/// A path as a message shows it: in quotes, sanitised, not shortened.
[[nodiscard]] std::string shown_path(const std::filesystem::path& path);

using Bytes = std::span<const std::byte>;

/// A read-only memory map of a file; empty files map to an empty span.
/// Lifetime: spans are valid while the object lives. A file that shrinks meanwhile is an error that the map cannot
/// report: the process gets SIGBUS.
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
