// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/files.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMarker = ".assay-temporary";
constexpr const char* kNewMarker = ".assay-temporary.new";
constexpr const char* kFiles = "files";  // what the owner gets: without the marker, so that it begins empty

std::string marker_text(const std::string& name) {
  return fmt::format("assay created the folder {} for itself and removes it\n", name);
}

bool has_own_prefix(std::string_view name) { return name.starts_with("assay-") || name.starts_with(".assay-"); }

// The lock comes before the marker's name: whoever finds a marker finds it locked, unless its owner has ended.
Descriptor make_marker(const fs::path& folder) {
  const fs::path fresh = folder / kNewMarker, marker = folder / kMarker;
  Descriptor file(::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string text = marker_text(folder.filename().string());
  if (file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::rename(fresh.c_str(), marker.c_str()) == 0)
    return file;
  ::unlink(fresh.c_str());
  return Descriptor();
}

// The marker goes last: a removal that is cut short can be taken up again.
void remove_directory(const fs::path& folder) {
  std::error_code error, ignored;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename() != kMarker) fs::remove_all(entry->path(), ignored);
  fs::remove_all(folder, ignored);
}

bool is_own(int fd, mode_t type) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type && status.st_uid == ::geteuid() &&
         status.st_nlink > 0;
}

// The marker of an abandoned folder, now locked by this process; else nothing.
Descriptor claim(int parent, const char* name) {
  const Descriptor folder(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.get() < 0 || !is_own(folder.get(), S_IFDIR)) return Descriptor();
  Descriptor marker(::openat(folder.get(), kMarker, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (marker.get() < 0 || !is_own(marker.get(), S_IFREG)) return Descriptor();
  std::array<char, 512> content{};
  const ssize_t size = ::read(marker.get(), content.data(), content.size());
  if (size < 0 || std::string_view(content.data(), static_cast<std::size_t>(size)) != marker_text(name))
    return Descriptor();
  if (::flock(marker.get(), LOCK_EX | LOCK_NB) != 0) return Descriptor();
  // Its owner may have removed it between the two calls.
  return is_own(marker.get(), S_IFREG) ? std::move(marker) : Descriptor();
}

}  // namespace

fs::path temporary_root() {
  const char* base = std::getenv("TMPDIR");
  return base != nullptr && *base != '\0' ? base : "/tmp";
}

void remove_abandoned_directories(const fs::path& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(parent.c_str()), &::closedir);
  if (!folder) return;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder.get()))
    if (has_own_prefix(entry->d_name)) names.emplace_back(entry->d_name);
  for (const std::string& name : names)
    if (const Descriptor marker = claim(::dirfd(folder.get()), name.c_str()); marker.get() >= 0)
      remove_directory(parent / name);
}

Result<TemporaryDirectory> TemporaryDirectory::create(std::string_view prefix, const fs::path& parent) {
  ASSAY_CHECK(has_own_prefix(prefix), "temporary folders are known by their prefix");
  const fs::path place = parent.empty() ? temporary_root() : parent;
  if (!parent.empty()) ASSAY_CHECK_OK(make_directories(parent));
  remove_abandoned_directories(place);
  std::string name = place / fmt::format("{}XXXXXX", prefix);
  if (::mkdtemp(name.data()) == nullptr) {
    const int error = errno;
    const std::string text =
        fmt::format("cannot create a temporary folder in '{}': {}", place.string(), std::strerror(error));
    if (error == EACCES || error == EPERM || error == EROFS || error == ENOENT || error == ENOTDIR)
      return fail(ErrorCode::kInvalidArgument, text,
                  parent.empty() ? "set TMPDIR to a folder that you may write" : "choose a folder that you may write");
    return fail(ErrorCode::kInternal, text, error == ENOSPC || error == EDQUOT ? "free some disk space" : "");
  }
  Descriptor marker = make_marker(name);
  TemporaryDirectory made(fs::path(name) / kFiles, std::move(marker));
  if (::mkdir(made.path_.c_str(), 0700) != 0)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot create the folder '{}': {}", made.path_.string(), std::strerror(errno)));
  return made;
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), marker_(std::move(other.marker_)) {}
TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(marker_, other.marker_);
  return *this;
}
TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) remove_directory(path_.parent_path());
}

bool TemporaryDirectory::keep_as(const fs::path& name) && {
  return ::rename(path_.c_str(), name.c_str()) == 0;  // the destructor removes what is left
}

}  // namespace assay
