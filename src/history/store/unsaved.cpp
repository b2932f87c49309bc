// SPDX-License-Identifier: Apache-2.0
#include "history/store/unsaved.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "history/store/bundle.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kUnsaved = ".unsaved";

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

tl::unexpected<Error> cannot(std::string_view doing, const fs::path& path, const std::string& why) {
  return fail(ErrorCode::kInternal, fmt::format("cannot {} '{}': {}", doing, escape_bytes(path.string()), why));
}

/// `to` is a whole copy of the bundle `from` afterwards, or is not there. Hidden under another name while it is made:
/// not the one of unfinished bundles, which are sealed when nobody writes them.
Status copy_bundle(const fs::path& from, const fs::path& to) {
  const fs::path copy = to.parent_path() / (".copy-" + to.filename().string());
  std::error_code error;
  fs::remove_all(copy, error);
  ASSAY_CHECK_OK(make_directories(copy));
  for (fs::directory_iterator entry(from, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path file = copy / entry->path().filename();
    if (std::error_code ignored; !entry->is_regular_file(ignored)) continue;
    fs::copy_file(entry->path(), file, error);
    if (error) return cannot("copy", entry->path(), error.message());
    ASSAY_CHECK_OK(sync_file(file));
  }
  if (error) return cannot("read", from, error.message());
  ASSAY_CHECK_OK(sync_directory(copy));
  ASSAY_CHECK_OK(read_bundle(copy).map([](const Bundle&) {}));
  fs::rename(copy, to, error);
  if (error) return cannot("rename", copy, error.message());
  return sync_directory(to.parent_path());
}

Status move_bundle(const fs::path& from, const fs::path& to, const Rename& rename) {
  const Result<Bundle> bundle = read_bundle(from);
  std::error_code error;
  if (!fs::exists(to, error)) {
    if (!bundle) return tl::unexpected<Error>(bundle.error());
    ASSAY_CHECK_OK(make_directories(to.parent_path()));
    ASSAY_CHECK_OK(sync_directory(to.parent_path().parent_path()));
    if (rename(from.c_str(), to.c_str()) == 0) return sync_directory(to.parent_path());
    if (errno != EXDEV) return cannot("move", from, std::strerror(errno));
    ASSAY_CHECK_OK(copy_bundle(from, to));
  }
  // What is here now is the original of a copy, perhaps half removed by a process that was killed.
  ASSAY_TRY(const Bundle there, read_bundle(to));
  if (bundle && bundle->sha256 != there.sha256)
    return fail(ErrorCode::kMismatch,
                fmt::format("'{}' and '{}' are different bundles of one attempt", from.string(), to.string()),
                "remove one of them");
  fs::remove_all(from, error);
  return {};
}

struct UnsavedFolder {
  fs::path spool;
  std::vector<fs::path> runs;
};

/// nullopt: `path` is not a folder of unsaved bundles.
std::optional<UnsavedFolder> unsaved_folder(const fs::path& path) {
  std::error_code error;
  for (fs::path folder : {fs::absolute(path, error).lexically_normal(), fs::weakly_canonical(path, error)}) {
    if (!folder.has_filename()) folder = folder.parent_path();  // "x/"
    if (folder.parent_path().filename() == kUnsaved) return UnsavedFolder{folder.parent_path().parent_path(), {folder}};
    if (folder.filename() != kUnsaved) continue;
    UnsavedFolder found{folder.parent_path(), {}};
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      found.runs.push_back(entry->path());
    std::sort(found.runs.begin(), found.runs.end());
    return found;
  }
  return std::nullopt;
}

Status move_run(const fs::path& run, const Rename& rename, MovedBundles& out) {
  std::error_code error;
  if (!fs::exists(run, error)) return {};
  const Descriptor lock = lock_folder(run);
  if (lock.get() < 0) {
    out.refused.push_back({ErrorCode::kStoreBusy,
                           fmt::format("the results in '{}' are still being written", escape_bytes(run.string())),
                           {},
                           "ingest them when that command has ended"});
    return {};
  }
  ASSAY_CHECK_OK(seal_abandoned(run).map([](std::size_t) {}));
  ASSAY_TRY(const std::vector<fs::path> bundles, list_bundles(run, &out.refused));
  for (const fs::path& bundle : bundles) {
    const fs::path task = bundle.parent_path();
    Status moved = move_bundle(bundle, out.spool / task.filename() / bundle.filename(), rename);
    if (moved)
      ++out.bundles;
    else
      out.refused.push_back(std::move(moved).error());
    fs::remove(task, error);  // only when it is empty; likewise the run
  }
  fs::remove(run, error);
  return {};
}

}  // namespace

Result<UnsavedSpool> UnsavedSpool::begin(const fs::path& spool, std::string_view run_id) {
  const fs::path all = spool / kUnsaved;
  const fs::path folder = all / fmt::format("{}-{}", compact_timestamp(wall_now()), run_id);
  ASSAY_CHECK_OK(make_directories(folder));
  Descriptor lock = lock_folder(folder);
  if (lock.get() < 0)
    return fail(ErrorCode::kInternal, fmt::format("cannot lock '{}': {}", folder.string(), std::strerror(errno)));
  remove_older(all);
  return UnsavedSpool(folder, std::move(lock));
}

fs::path spool_of(const fs::path& folder) {
  const std::optional<UnsavedFolder> unsaved = unsaved_folder(folder);
  return unsaved ? unsaved->spool : folder;
}

Result<MovedBundles> move_out_of_unsaved(const fs::path& folder, const Rename& rename) {
  const std::optional<UnsavedFolder> unsaved = unsaved_folder(folder);
  if (!unsaved) return MovedBundles{folder};
  MovedBundles out{unsaved->spool};
  for (const fs::path& run : unsaved->runs) ASSAY_CHECK_OK(move_run(run, rename, out));
  return out;
}

}  // namespace assay
