// SPDX-License-Identifier: Apache-2.0
#include "core/base/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/descriptor.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// What errno means to a user: a wrong path is the caller's, a full disk is the environment's.
tl::unexpected<Error> io_error(int error, const std::string& doing, const fs::path& path) {
  const std::string text = fmt::format("cannot {} '{}': {}", doing, escape_bytes(path.string()), std::strerror(error));
  switch (error) {
    case ENOENT:
      return fail(ErrorCode::kNotFound, text, "check the path");
    case EACCES:
    case EPERM:
    case EROFS:
      return fail(ErrorCode::kInvalidArgument, text, "choose a folder that you may use, or change its permissions");
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return fail(ErrorCode::kInvalidArgument, text, "check the path");
    case ENOSPC:
    case EDQUOT:
      return fail(ErrorCode::kInternal, text, "free some disk space, then run again with --resume");
    case ENOMEM:
      return fail(ErrorCode::kOutOfMemory, text);
    default:
      return fail(ErrorCode::kInternal, text);
  }
}

struct stat file_status(int fd) {
  struct stat status {};
  ::fstat(fd, &status);
  return status;
}

constexpr std::string_view kPending = ".assay-tmp-";  // between a file's name and six random characters

bool is_pending_name(std::string_view name) {
  constexpr std::size_t kRandom = 6;
  return name.starts_with('.') && name.size() > kPending.size() + kRandom &&
         name.substr(name.size() - kPending.size() - kRandom, kPending.size()) == kPending;
}

// Unfinished files of this user whose writers have ended. A writer has the lock of its file while it lives.
void remove_abandoned_files(const fs::path& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(parent.empty() ? "." : parent.c_str()), &::closedir);
  if (!folder) return;
  const int place = ::dirfd(folder.get());
  while (const dirent* entry = ::readdir(folder.get())) {
    if (!is_pending_name(entry->d_name)) continue;
    const Descriptor file(::openat(place, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const struct stat status = file_status(file.get());
    if (file.get() < 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || status.st_nlink != 1) continue;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlinkat(place, entry->d_name, 0);
  }
}

// For reading. Opened without waiting, because a pipe without a writer would wait for ever, and refused unless it is a
// regular file.
Result<Descriptor> open_file(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return io_error(errno, "read", path);
  const mode_t mode = file_status(file.get()).st_mode;
  if (S_ISDIR(mode)) return io_error(EISDIR, "read", path);
  if (!S_ISREG(mode))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot read '{}': it is not a file, but a device, pipe or socket", path.string()),
                "write its content to a file and give that");
  return file;
}

}  // namespace

bool is_empty_or_absent(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error == std::errc::no_such_file_or_directory || (!error && size == 0);
}

Result<std::string> read_file(const fs::path& path) {
  ASSAY_TRY(const Descriptor file, open_file(path));
  const struct stat status = file_status(file.get());
  std::string content;
  if (status.st_size > 0) content.reserve(static_cast<std::size_t>(status.st_size));
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(errno, "read", path);
    if (n == 0) return content;
    content.append(buffer, static_cast<std::size_t>(n));
  }
}

Status write_file_atomically(const fs::path& path, std::string_view content) {
  return write_file_atomically(path, std::span(&content, 1));
}

Status write_file_atomically(const fs::path& path, std::span<const std::string_view> pieces, Persistence persistence) {
  ASSAY_TRY(PendingFile file, PendingFile::create(path));
  for (const std::string_view piece : pieces) ASSAY_CHECK_OK(file.write(piece));
  return file.commit(persistence);
}

Result<PendingFile> PendingFile::create(const fs::path& path) {
  if (path.has_parent_path()) ASSAY_CHECK_OK(make_directories(path.parent_path()));
  ASSAY_CHECK_OK(check_replaceable(path));
  remove_abandoned_files(path.parent_path());
  for (;;) {
    // Hidden, so that it is not mistaken for a result.
    const std::string name = fmt::format(".{}{}XXXXXX", path.filename().string(), kPending);
    std::string temporary = (path.parent_path() / name).string();
    const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (fd < 0) return io_error(errno, "write", path);
    // Another process may take the new file for an abandoned one until it is locked.
    const bool taken = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && file_status(fd).st_nlink > 0) return PendingFile(fd, std::move(temporary), path);
    ::close(fd);
  }
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), temporary_(std::move(other.temporary_)), path_(std::move(other.path_)) {}

PendingFile::~PendingFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Status PendingFile::failed() const { return io_error(errno, "write", path_); }

Status PendingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed();
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Status PendingFile::grow_to(std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(INT64_MAX)) return io_error(EFBIG, "write", path_);
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) return failed();
  return {};
}

Status PendingFile::commit(Persistence persistence) {
  // mkostemp makes files for the owner alone; results are for everyone the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd_, 0666 & ~mask) != 0) return failed();
  if (persistence == Persistence::kDurable && ::fsync(fd_) != 0) return failed();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failed();
  ::close(std::exchange(fd_, -1));
  if (persistence == Persistence::kScratch) return {};
  return sync_directory(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
}

Status check_replaceable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status) || fs::is_regular_file(status)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is not a file that can be replaced, but a {}", path.string(),
                          fs::is_directory(status) ? "folder" : "device, pipe or socket"),
              "give the name of a file");
}

Status copy_content(const fs::path& from, const fs::path& to, const Cancelled& cancelled) {
  constexpr std::size_t kPiece = 16 << 20;
  ASSAY_TRY(const MappedFile source, MappedFile::open(from));
  const Descriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (target.get() < 0) return io_error(errno, "write", to);
  for (std::span<const std::byte> rest = source.bytes(); !rest.empty();) {
    ASSAY_CHECK_OK(check_cancelled(cancelled));
    const ssize_t n = ::write(target.get(), rest.data(), std::min(kPiece, rest.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(errno, "write", to);
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Status sync_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return io_error(errno, "open", path);
  if (::fsync(file.get()) != 0) return io_error(errno, "write", path);
  return {};
}

Status sync_directory(const fs::path& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return io_error(errno, "open", path);
  // Some file systems cannot sync folders (EINVAL): then there is nothing to wait for.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) return io_error(errno, "sync", path);
  return {};
}

Status make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error)) return io_error(ENOTDIR, "create the folder", path);
  if (error) return io_error(error.value(), "create the folder", path);
  return {};
}

Result<MappedFile> MappedFile::open(const fs::path& path) {
  ASSAY_TRY(const Descriptor file, open_file(path));
  const struct stat status = file_status(file.get());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return io_error(errno, "map", path);
  return MappedFile(static_cast<const std::byte*>(address), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

fs::path without_links(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as Linux
  fs::path file = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(file, no_link);
    if (no_link) return file;
    file = target.is_absolute() ? target : file.parent_path() / target;
  }
  return path;
}

std::string shown_path(const fs::path& path) { return fmt::format("'{}'", sanitise(path.string())); }

}  // namespace assay
