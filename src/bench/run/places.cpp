// SPDX-License-Identifier: Apache-2.0
#include "bench/run/places.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "core/base/descriptor.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "core/base/writable.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kOtherDatabase = "change the permissions, or name a database elsewhere with --db-path";

Status with_hint(Status status, const std::string& hint) {
  if (!status) status.error().hint = hint;
  return status;
}

// The process that has the database open, as DuckDB locks it. A program that only reads keeps writers out, too. Linux
// gives -1 for a lock of an open file description, and 0 for a process of another namespace: it cannot be named.
std::optional<pid_t> user_of(const fs::path& database) {
  const Descriptor file(::open(database.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  struct ::flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock.l_pid;
}

std::string with_dot(const std::string& hint) { return hint.empty() ? "" : "; " + hint; }

Status check_saving(const SessionRequest& request) {
  Status usable = check_database(request.database);
  if (usable) return {};
  const Error& error = usable.error();
  if (error.code == ErrorCode::kStoreBusy)
    log_warning("{}; it is tried again at the end of this command, and until then what is measured is kept in '{}'",
                error.message, request.spool.string());
  else if (error.code == ErrorCode::kInternal || error.code == ErrorCode::kUnsupported)
    log_warning("{}; what is measured is kept in '{}'{}", error.message, request.spool.string(), with_dot(error.hint));
  else
    return usable;
  return {};
}

}  // namespace

Status check_database(const fs::path& database) {
  // Not the database itself if it is a folder or a device: that has words of its own.
  ASSAY_CHECK_OK(check_replaceable(database));
  for (const char* suffix : {"", ".lock", ".wal"})
    ASSAY_CHECK_OK(with_hint(check_file_writable(database.string() + suffix), kOtherDatabase));
  if (is_empty_or_absent(database)) return {};
  if (const std::optional<pid_t> user = user_of(database))
    return fail(ErrorCode::kStoreBusy,
                fmt::format("{} has the database '{}' open",
                            *user > 0 ? fmt::format("process {}", *user) : "another process", database.string()),
                "wait for it to end, or name another database with --db-path");
  return Store::check_writable(database).map([](const Store::Writable&) {});
}

Status check_results_folder(const fs::path& folder) {
  return with_context(
      with_hint(check_folder_writable(folder), "change the permissions, or name another folder with --output-dir"),
      "while looking at the folder for results (--output-dir)");
}

Status check_places(const SessionRequest& request) {
  const Status database = request.save ? check_saving(request) : check_replaceable(request.database);
  ASSAY_CHECK_OK(with_context(database, "while looking at the database (--db-path)"));
  ASSAY_CHECK_OK(with_context(with_hint(check_folder_writable(request.spool),
                                        "change the permissions, or name another folder for the bundles with --spool"),
                              "while looking at the folder of the bundles (--spool)"));
  return request.output_dir.empty() ? Status() : check_results_folder(request.output_dir);
}

}  // namespace assay
