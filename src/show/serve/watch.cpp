// SPDX-License-Identifier: Apache-2.0
#include "show/serve/watch.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/hash.hpp"
#include "history/store/snapshot.hpp"

namespace assay::serve {
namespace fs = std::filesystem;
namespace {

constexpr const char* kNoFile = "no file has this identity";

/// What changes when a file is replaced or written; "" if it is not there.
std::string identity_of(const fs::path& path) {
  struct ::stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return "";
  return fmt::format("{} {} {}.{}", facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

bool runs(const Json& progress) {
  const auto pid = progress.find("pid");
  if (pid == progress.end() || !pid->is_number_integer() || pid->get<std::int64_t>() < 1) return false;
  return ::kill(static_cast<::pid_t>(pid->get<std::int64_t>()), 0) == 0 || errno == EPERM;
}

}  // namespace

fs::path progress_path(const fs::path& database) {
  return database.parent_path() / (database.stem().string() + ".progress.json");
}

Watch::Watch(const ServeOptions& options, const Content& content, std::chrono::milliseconds pause)
    : snapshot_(snapshot_path(options.database)),
      database_(options.database),
      progress_(progress_path(options.database)),
      content_(content),
      pause_(pause),
      identity_(kNoFile),
      failed_(kNoFile) {}

std::string Watch::read_progress() const {
  constexpr std::uintmax_t kMostBytes = 1'000'000;
  std::error_code error;
  if (fs::file_size(progress_, error) > kMostBytes || error) return "";
  const auto json = read_json(progress_);
  return json && json->is_object() && runs(*json) ? json_text(*json) : "";
}

void Watch::look() {
  const std::string identity = identity_of(snapshot_);
  const std::string progress = read_progress();
  std::shared_ptr<const Document> document;
  std::optional<std::string> missing;  // absent: as before
  if (identity == identity_) {
    missing = "";
  } else if (identity != failed_ || std::chrono::steady_clock::now() >= retry_at_) {
    if (Result<std::string> bytes = guarded("while reading the database", content_.document)) {
      const std::string etag = "\"" + sha256_hex(*bytes).substr(0, 32) + "\"";
      document = std::make_shared<const Document>(Document{std::move(*bytes), etag});
      identity_ = identity;
      failed_ = kNoFile;
      missing = "";
    } else {
      failed_ = identity;
      retry_at_ = std::chrono::steady_clock::now() + pause_;
      missing = to_string(bytes.error());
    }
  }
  const std::scoped_lock lock(mutex_);
  bool changed = std::exchange(now_.progress, progress) != progress;
  // An unreadable database does not take away what was read before.
  if (document != nullptr) {
    changed |= now_.document == nullptr || now_.document->etag != document->etag;
    now_.document = std::move(document);
  }
  if (missing) changed |= std::exchange(now_.missing, *missing) != *missing;
  if (!changed) return;
  ++now_.generation;
  changed_.notify_all();
}

Watch::Seen Watch::seen() const {
  const std::scoped_lock lock(mutex_);
  return now_;
}

Watch::Seen Watch::wait(std::uint64_t generation) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1), [&] { return now_.ended || now_.generation != generation; });
  return now_;
}

void Watch::end() {
  const std::scoped_lock lock(mutex_);
  now_.ended = true;
  changed_.notify_all();
}

}  // namespace assay::serve
