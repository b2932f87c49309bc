// SPDX-License-Identifier: Apache-2.0
#include "store/unsaved.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/clock.hpp"
#include "base/files.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

Descriptor lock_folder(const fs::path& folder) {
  Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (lock.get() >= 0 && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return Descriptor();
  return lock;
}

// "20260302_123456-…", as begin() names them. What has another name is not ours to remove.
bool is_own_name(const std::string& name) {
  constexpr std::string_view kPattern = "00000000_000000-";
  if (name.size() <= kPattern.size()) return false;
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (kPattern[i] == '0' ? !digit : name[i] != kPattern[i]) return false;
  }
  return true;
}

// Names begin with the time, so that their order is that of the invocations.
void remove_older(const fs::path& folder) {
  std::vector<fs::path> runs;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (is_own_name(entry->path().filename().string())) runs.push_back(entry->path());
  std::sort(runs.begin(), runs.end());
  for (std::size_t i = 0; i + UnsavedSpool::kKept < runs.size(); ++i)
    if (const Descriptor lock = lock_folder(runs[i]); lock.get() >= 0) fs::remove_all(runs[i], error);
}

}  // namespace

Result<UnsavedSpool> UnsavedSpool::begin(const fs::path& spool, std::string_view run_id) {
  const fs::path all = spool / ".unsaved";
  const fs::path folder = all / fmt::format("{}-{}", compact_timestamp(wall_now()), run_id);
  ASSAY_CHECK_OK(make_directories(folder));
  Descriptor lock = lock_folder(folder);
  if (lock.get() < 0)
    return fail(ErrorCode::kInternal, fmt::format("cannot lock '{}': {}", folder.string(), std::strerror(errno)));
  remove_older(all);
  return UnsavedSpool(folder, std::move(lock));
}

}  // namespace assay
