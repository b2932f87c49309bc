// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/machine_mark.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

using State = MachineMark::State;

constexpr std::string_view kMeasuringName = "assay-measuring-", kWaitingName = "assay-waiting-";
constexpr std::size_t kMostBytes = 4096;   // of a file
constexpr std::size_t kMostCommand = 200;  // characters of a command

std::string_view name_of(State state) { return state == State::kWaiting ? kWaitingName : kMeasuringName; }

struct Found {
  MeasuringProcess measurement;
  State state = State::kMeasuring;
  std::int64_t began_ns = 0;
  std::string name;  // of its file
};

std::string text_at(const Json& content, const char* key) {
  const auto value = content.find(key);
  return value == content.end() || !value->is_string() ? "" : one_line(value->get<std::string>());
}

std::int64_t whole_at(const Json& content, const char* key) {
  const auto value = content.find(key);
  return value == content.end() || !value->is_number_integer() ? 0 : value->get<std::int64_t>();
}

Found read_mark(int file) {
  std::array<char, kMostBytes> bytes{};
  const ssize_t size = ::pread(file, bytes.data(), bytes.size(), 0);
  Found found;
  const Result<Json> content =
      parse_json({bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))}, "a mark of another process");
  if (!content || !content->is_object()) return found;
  found.measurement = {whole_at(*content, "pid"), text_at(*content, "command"), text_at(*content, "since"),
                       text_at(*content, "database")};
  found.began_ns = whole_at(*content, "began_ns");
  return found;
}

// A mark of a living process other than `own`. One that nobody has locked is removed if it is this user's.
std::optional<Found> living(const fs::path& path, State state, int own) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct ::stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  struct ::stat mine {};
  if (own >= 0 && ::fstat(own, &mine) == 0 && mine.st_ino == status.st_ino && mine.st_dev == status.st_dev)
    return std::nullopt;
  // A mark is locked before it gets its name, so that an unlocked one is never new.
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
    if (status.st_uid == ::geteuid()) ::unlink(path.c_str());
    return std::nullopt;
  }
  if (errno != EWOULDBLOCK) return std::nullopt;
  Found found = read_mark(file.get());
  found.state = state;
  found.name = path.filename().string();
  return found;
}

std::vector<Found> find_marks(const std::vector<fs::path>& folders, int own) {
  std::vector<Found> found;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      for (const State state : {State::kMeasuring, State::kWaiting}) {
        if (!name.starts_with(name_of(state))) continue;
        if (auto mark = living(entry->path(), state, own)) found.push_back(std::move(*mark));
      }
    }
  }
  return found;
}

// A locked file with a name that nobody looks for, so that it is complete when it gets the one that they do.
std::optional<std::pair<Descriptor, fs::path>> create_in(const fs::path& folder, const std::string& content) {
  std::string name = (folder / ".assay-mark-XXXXXX").string();
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  const bool whole = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::fchmod(file.get(), 0644) == 0 &&
                     ::pwrite(file.get(), content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
  if (whole) return std::pair{std::move(file), fs::path(name)};
  ::unlink(name.c_str());
  return std::nullopt;
}

}  // namespace

std::string process_words(const MeasuringProcess& measurement) {
  if (measurement.pid <= 0) return "a process of assay";
  std::string words = fmt::format("process {} ({}", measurement.pid, measurement.command);
  if (!measurement.since.empty()) words += ", since " + measurement.since;
  if (!measurement.database.empty()) words += fmt::format(", database '{}'", measurement.database);
  return words + ")";
}

std::vector<fs::path> runtime_folders() {
  const char* given = std::getenv("ASSAY_RUNTIME_DIR");
  if (given != nullptr && *given != '\0') return {given};
  return {"/run/lock", "/tmp"};
}

MachineMark MachineMark::begin(const MeasuringProcess& self, std::int64_t began_ns, State state,
                               std::vector<fs::path> folders) {
  MachineMark mark(began_ns, state, std::move(folders));
  std::string command = one_line(self.command);
  if (command.size() > kMostCommand) command = sanitise(command.substr(0, kMostCommand)) + "…";
  const std::string content = json_text({{"schema_version", "1.0"},
                                         {"pid", self.pid},
                                         {"command", command},
                                         {"since", self.since},
                                         {"began_ns", began_ns},
                                         {"database", self.database}}) +
                              "\n";
  for (const fs::path& folder : mark.folders_) {
    auto created = create_in(folder, content);
    if (!created) continue;
    const std::string hidden = created->second.filename().string();
    const fs::path path = folder / (std::string(name_of(state)) + hidden.substr(hidden.rfind('-') + 1));
    if (::rename(created->second.c_str(), path.c_str()) != 0) {
      ::unlink(created->second.c_str());
      continue;
    }
    mark.path_ = path;
    mark.file_ = std::move(created->first);
    return mark;
  }
  log_verbose("other measurements on this machine cannot see this one: no file can be created in {}",
              mark.folders_.empty() ? "" : mark.folders_.front().string());
  return mark;
}

MachineMark::MachineMark(MachineMark&& other) noexcept
    : began_ns_(other.began_ns_),
      state_(other.state_),
      folders_(std::move(other.folders_)),
      path_(std::exchange(other.path_, {})),
      file_(std::move(other.file_)) {}

MachineMark::~MachineMark() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::vector<MeasuringProcess> MachineMark::others() const {
  std::vector<MeasuringProcess> measuring;
  for (Found& each : find_marks(folders_, file_.get()))
    if (each.state == State::kMeasuring) measuring.push_back(std::move(each.measurement));
  return measuring;
}

bool MachineMark::wait_for_turn(const Cancelled& cancelled, const std::function<void()>& pause) {
  const auto before_this = [&](const Found& other) {
    return other.state == State::kMeasuring ||
           std::tuple(other.began_ns, other.name) < std::tuple(began_ns_, path_.filename().string());
  };
  while (state_ == State::kWaiting) {
    if (cancelled()) return false;
    if (std::ranges::any_of(find_marks(folders_, file_.get()), before_this)) {
      pause();
      continue;
    }
    state_ = State::kMeasuring;
    if (path_.empty()) break;
    const std::string name = path_.filename().string();
    const fs::path path = path_.parent_path() / (std::string(kMeasuringName) + name.substr(kWaitingName.size()));
    // Both names for a moment: with rename() another process that reads the folder now could find neither.
    if (::link(path_.c_str(), path.c_str()) == 0)
      ::unlink(path_.c_str());
    else if (::rename(path_.c_str(), path.c_str()) != 0)  // a file system without links
      break;
    path_ = path;
  }
  return true;
}

}  // namespace assay
