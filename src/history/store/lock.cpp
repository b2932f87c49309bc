// SPDX-License-Identifier: Apache-2.0
#include "history/store/lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "core/base/text.hpp"

namespace assay {
namespace {

// The writer that left its number, if it lives; readers leave none.
std::string holder(int file) {
  std::array<char, 32> content{};
  const ssize_t size = ::pread(file, content.data(), content.size(), 0);
  const auto pid = parse_number<pid_t>(trim({content.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))}));
  if (!pid || *pid <= 0 || (::kill(*pid, 0) != 0 && errno == ESRCH)) return "another process (a reader)";
  if (*pid == ::getpid()) return "this process itself";
  return fmt::format("another process (PID {})", *pid);
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& database, Kind kind, std::chrono::milliseconds wait) {
  const std::string path = database.string() + ".lock";
  FileLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.file_ < 0) {
    if (kind == Kind::kShared && (errno == EACCES || errno == EROFS || errno == EPERM)) return lock;
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot write '{}': {}", path, std::strerror(errno)),
                "name a database in a folder that you may write to with --db-path");
  }
  const auto deadline = std::chrono::steady_clock::now() + wait;
  while (::flock(lock.file_, (kind == Kind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK)
      return fail(ErrorCode::kInternal, fmt::format("cannot lock '{}': {}", path, std::strerror(errno)),
                  "this file system may lack locks: name a database on a local disk with --db-path");
    if (std::chrono::steady_clock::now() >= deadline)
      return fail(ErrorCode::kStoreBusy,
                  fmt::format("{} has the database '{}' open", holder(lock.file_), database.string()),
                  "wait for it to end, or name another database with --db-path");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // Only for the message above, so a failure to write it is ignored.
  if (kind == Kind::kExclusive) {
    const std::string owner = fmt::format("{}\n", ::getpid());
    lock.writer_ = ::ftruncate(lock.file_, 0) == 0 && ::pwrite(lock.file_, owner.data(), owner.size(), 0) > 0;
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), writer_(std::exchange(other.writer_, false)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(writer_, other.writer_);
  return *this;
}
FileLock::~FileLock() {
  if (file_ < 0) return;
  // Else the next one to be refused, by a reader, would name this process.
  if (writer_ && ::ftruncate(file_, 0) != 0) writer_ = false;
  ::close(file_);
}

}  // namespace assay
