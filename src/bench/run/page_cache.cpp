// SPDX-License-Identifier: Apache-2.0
#include "bench/run/page_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/files.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr double kNoneShare = 0.02;  // a page or two may be read again at once by others

class OpenFile {
 public:
  explicit OpenFile(const fs::path& file) : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

tl::unexpected<Error> cannot(const char* what, const fs::path& file) {
  return fail(ErrorCode::kInternal, fmt::format("cannot {} '{}': {}", what, file.string(), std::strerror(errno)));
}

}  // namespace

Result<double> cached_share(const fs::path& file) {
  const OpenFile opened(file);
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (opened.descriptor() < 0 || error) return cannot("open", file);
  if (bytes == 0) return 0.0;
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, opened.descriptor(), 0);
  if (mapped == MAP_FAILED) return cannot("map", file);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  const bool known = ::mincore(mapped, bytes, pages.data()) == 0;
  ::munmap(mapped, bytes);
  if (!known) return cannot("find the cached pages of", file);
  const auto cached = std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1U) != 0; });
  return static_cast<double>(cached) / static_cast<double>(pages.size());
}

Result<bool> drop_from_page_cache(const fs::path& folder) {
  bool all = true;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error) || entry.is_symlink(error)) continue;
    ASSAY_CHECK_OK(sync_file(entry.path()));
    const OpenFile opened(entry.path());
    if (opened.descriptor() < 0) return cannot("open", entry.path());
    if (::posix_fadvise(opened.descriptor(), 0, 0, POSIX_FADV_DONTNEED) != 0) all = false;
    ASSAY_TRY(const double share, cached_share(entry.path()));
    all = all && share <= kNoneShare;
  }
  return all;
}

}  // namespace assay
