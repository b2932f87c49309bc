// SPDX-License-Identifier: Apache-2.0
#include "app/cli/live.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "history/store/snapshot.hpp"
#include "history/store/store.hpp"
#include "show/report/format.hpp"
#include "show/serve/server.hpp"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostLines = 20;
constexpr std::chrono::seconds kBetweenSaves(10);
constexpr int kShareOfTime = 50;
constexpr std::uint64_t kRoomBytes = 256'000'000;  // for the bundles between two saves, several times their size

bool is_at(int file, const fs::path& path) {
  struct ::stat open {};
  struct ::stat named {};
  return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

// "process 4711 (assay suite, since 2026-03-02 12:34:56 UTC)", as it says of itself.
std::string measuring_process(const fs::path& path) {
  const auto content = read_json(path);
  if (!content || !content->is_object()) return "another process";
  return fmt::format("process {} ({}, since {})", content->value("pid", std::int64_t{0}),
                     one_line(content->value("command", std::string())), content->value("since", std::string()));
}

std::string since_words() {
  std::string time = iso8601(wall_now());
  time.resize(std::strlen("2026-03-02T12:34:56"));
  time[std::strlen("2026-03-02")] = ' ';
  return time + " UTC";
}

// Whether the disk has much more space than saving needs. DuckDB may end the program if the disk becomes full while it
// writes, and a run that goes on must not end so. The snapshot is written again as a whole.
Status check_room(const fs::path& database) {
  std::error_code error;
  const std::uintmax_t snapshot = fs::file_size(snapshot_path(database), error);
  const std::uintmax_t needed = kRoomBytes + (error ? 0 : 2 * snapshot);
  const fs::space_info space = fs::space(fs::absolute(database, error).parent_path(), error);
  if (error || space.available >= needed) return {};
  constexpr std::uintmax_t kMegabyte = 1'000'000;
  return fail(ErrorCode::kInternal, fmt::format("the disk of '{}' has {} MB free; saving during a run requires {} MB",
                                                database.string(), space.available / kMegabyte, needed / kMegabyte));
}

}  // namespace

Result<MeasuringMark> MeasuringMark::begin(const fs::path& database, const std::string& command) {
  // The folder of a new database, too, so that a second command that begins now finds the mark.
  if (database.has_parent_path())
    ASSAY_CHECK_OK(with_context(make_directories(database.parent_path()), "while looking at the database (--db-path)"));
  MeasuringMark mark(database.string() + ".measuring");
  while (true) {
    Descriptor file(::open(mark.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (file.get() < 0) return mark;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return mark;
      return fail(
          ErrorCode::kStoreBusy,
          fmt::format("{} is measuring for the database '{}'", measuring_process(mark.path_), database.string()),
          "wait until it ends: two at once would disturb each other's times");
    }
    // Its last owner may have removed it between the two calls.
    if (!is_at(file.get(), mark.path_)) continue;
    const std::string text =
        json_text(
            {{"schema_version", kReportSchema}, {"pid", ::getpid()}, {"command", command}, {"since", since_words()}}) +
        "\n";
    if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), text.data(), text.size(), 0) < 0)
      log_verbose("'{}' is empty: {}", mark.path_.string(), std::strerror(errno));
    mark.file_ = std::move(file);
    return mark;
  }
}

MeasuringMark::~MeasuringMark() {
  if (file_.get() >= 0) ::unlink(path_.c_str());
}

ProgressFile::ProgressFile(const fs::path& database, std::string command)
    : path_(serve::progress_path(database)), command_(std::move(command)), started_(iso8601(wall_now())) {}

ProgressFile::~ProgressFile() {
  std::error_code ignored;
  if (begun_) fs::remove(path_, ignored);
}

void ProgressFile::expecting(std::size_t cells) {
  cells_ = cells;
  begun_ = true;
  write();
}

void ProgressFile::finished(const std::string& line) {
  ++cells_done_;
  add(line);
}

void ProgressFile::add(const std::string& line) {
  lines_.push_back(one_line(line));
  if (lines_.size() > kMostLines) lines_.pop_front();
  write();
}

void ProgressFile::write() {
  if (!begun_) return;
  const std::string text = json_text({{"schema_version", kReportSchema},
                                      {"pid", ::getpid()},
                                      {"command", command_},
                                      {"started", started_},
                                      {"updated", iso8601(wall_now())},
                                      {"cells", cells_},
                                      {"cells_done", cells_done_},
                                      {"launches", left_.launches},
                                      {"launches_done", left_.launches_done},
                                      {"seconds_left", left_.seconds},
                                      {"lines", lines_}},
                                     2) +
                           "\n";
  const std::array<std::string_view, 1> pieces{text};
  if (const Status written = write_file_atomically(path_, pieces, Persistence::kScratch); !written)
    log_verbose("progress is not shown: {}", written.error().message);
}

std::function<void()> publisher(const SessionRequest& request) {
  using Clock = std::chrono::steady_clock;
  struct State {
    Clock::time_point start = Clock::now();
    std::optional<Clock::time_point> last{};
    Clock::duration spent{};
    bool failed = false;
  };
  return [database = request.database, spool = request.spool, state = State()]() mutable {
    const Clock::time_point now = Clock::now();
    if (state.failed) return;
    if (state.last && (now - *state.last < kBetweenSaves || state.spent * kShareOfTime > now - state.start)) return;
    state.last = now;
    const Status done = guarded("while saving what is measured until now", [&]() -> Status {
      ASSAY_CHECK_OK(check_room(database));
      ASSAY_TRY(Store store, Store::open(database, Store::Mode::kWrite, std::chrono::milliseconds(0)));
      ASSAY_TRY(const IngestReport report, store.ingest(spool));
      log_verbose("saved {} bundles", report.bundles);
      ASSAY_TRY([[maybe_unused]] const fs::path snapshot, store.publish_snapshot());
      return {};
    });
    if (!done) log_verbose("not saved yet: {}", done.error().message);
    // One that is busy may be free the next time. Whatever else failed is tried again only at the end of the run.
    state.failed = !done && done.error().code != ErrorCode::kStoreBusy;
    state.spent += Clock::now() - now;
  };
}

}  // namespace assay::cli
