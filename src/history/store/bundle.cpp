// SPDX-License-Identifier: Apache-2.0
#include "history/store/bundle.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/descriptor.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/result/keys.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kUnfinished = ".tmp-";
constexpr std::string_view kRemains = ".remains";

tl::unexpected<Error> io_failure(int error, std::string_view doing, const fs::path& path) {
  return fail(ErrorCode::kInternal,
              fmt::format("cannot {} '{}': {}", doing, escape_bytes(path.string()), std::strerror(error)),
              error == ENOSPC || error == EDQUOT ? "free some disk space, then run again with --resume" : "");
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos;
}

std::vector<std::string> key_fields(const Record& record, KeyKind kind) {
  std::vector<std::string> names;
  for (const Field* field : hashed_fields(record, kind)) names.emplace_back(field->name);
  return names;
}

// Not yet on the disk: seal() syncs every file, once.
Status write_unsynced(const fs::path& path, const std::string& content) {
  const std::string_view whole = content;
  return write_file_atomically(path, std::span(&whole, 1), Persistence::kScratch);
}

Status write_manifest(const fs::path& folder, const Record& record) {
  const Json manifest{{"schema_version", kBundleSchemaVersion},
                      {"key_version", kKeyVersion},
                      {"task_key_fields", key_fields(record, KeyKind::kTask)},
                      {"series_key_fields", key_fields(record, KeyKind::kSeries)},
                      {"record", to_json(record)}};
  return write_unsynced(folder / bundle_file::kManifest, json_text(manifest, 2) + "\n");
}

Status write_environment(const fs::path& folder, const RunContext& context, const Json& attempt) {
  const Json environment{{"schema_version", kBundleSchemaVersion},
                         {"run", {{"started", context.started}, {"command", sanitise(context.command)}}},
                         {"hardware", context.hardware},
                         {"environment", context.environment},
                         {"attempt", attempt}};
  return write_unsynced(folder / bundle_file::kEnvironment, json_text(environment, 2) + "\n");
}

/// Syncs and hashes every file of `folder`, writes DONE and gives the folder its final name.
Result<fs::path> seal(const fs::path& folder, std::string_view attempt_id) {
  std::vector<fs::path> files;
  std::error_code error;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->is_regular_file(ignored) && is_plain_name(entry->path().filename().string()) &&
        entry->path().filename() != bundle_file::kDone)
      files.push_back(entry->path());
  if (error) return io_failure(error.value(), "read", folder);
  std::sort(files.begin(), files.end());
  std::string done;
  for (const fs::path& file : files) {
    ASSAY_CHECK_OK(sync_file(file));
    ASSAY_TRY(const std::string hash, sha256_file(file));
    done += fmt::format("{}  {}\n", hash, file.filename().string());
  }
  ASSAY_CHECK_OK(write_file_atomically(folder / bundle_file::kDone, done));
  fs::path bundle = folder.parent_path() / attempt_id;
  if (::rename(folder.c_str(), bundle.c_str()) != 0) return io_failure(errno, "rename", folder);
  ASSAY_CHECK_OK(sync_directory(folder.parent_path()));
  return bundle;
}

/// Creates a folder and locks it.
Result<Descriptor> create_locked_folder(const fs::path& folder) {
  while (true) {
    if (::mkdir(folder.c_str(), 0777) != 0) return io_failure(errno, "create the folder", folder);
    Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.get() < 0 && errno == ENOENT) continue;
    if (lock.get() < 0) return io_failure(errno, "open the folder", folder);
    // seal_abandoned() of another process may lock the empty folder for a moment, and remove it.
    while (::flock(lock.get(), LOCK_EX) != 0)
      if (errno != EINTR) return io_failure(errno, "lock", folder);
    if (std::error_code ignored; fs::exists(folder, ignored)) return lock;
  }
}

Result<Json> parse_versioned(const std::string& text, const fs::path& path) {
  ASSAY_TRY(Json json, parse_json(text, path.string()));
  const Json version = json.is_object() ? json.value("schema_version", Json()) : Json();
  if (!version.is_number_integer())
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no integer \"schema_version\"", path.string()));
  if (version.get<std::int64_t>() > kBundleSchemaVersion)
    return fail(ErrorCode::kUnsupported,
                fmt::format("'{}' has schema version {}, and this assay reads up to {}", path.string(),
                            version.get<std::int64_t>(), kBundleSchemaVersion),
                "read it with the assay that wrote it, or a newer one");
  return json;
}

// Folders inside `parent`, without those that vanish meanwhile.
Result<std::vector<fs::path>> folders_of(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code ignored; entry->is_directory(ignored)) folders.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory) return io_failure(error.value(), "read", parent);
  std::sort(folders.begin(), folders.end());
  return folders;
}

tl::unexpected<Error> mismatch(const fs::path& folder, std::string_view what) {
  return fail(ErrorCode::kMismatch,
              fmt::format("the bundle '{}' is damaged: {}", escape_bytes(folder.string()), escape_bytes(what)),
              "its cell can be measured again; remove the folder to silence this message");
}

/// Refuses a bundle with keys of another version, or that hash what this assay does not know: computed again without
/// it, its key would be that of other work.
Status check_key_fields(const fs::path& folder, const Json& manifest) {
  const auto refuse = [&](const std::string& what, const char* hint) {
    return fail(ErrorCode::kUnsupported, fmt::format("the bundle '{}' {}", escape_bytes(folder.string()), what), hint);
  };
  constexpr const char* kNewer = "read it with the assay that wrote it, or a newer one";
  const Json version = manifest.value("key_version", Json());
  if (version.is_number_integer() && version > kKeyVersion)
    return refuse(fmt::format("has keys of version {}, and this assay reads version {}", version.dump(), kKeyVersion),
                  kNewer);
  if (version != kKeyVersion)
    return refuse(fmt::format("{}: it was written by a development version of assay before its first release",
                              version.is_number_integer() ? fmt::format("has keys of version {}", version.dump())
                                                          : "has no version of its keys"),
                  "its cell can be measured again; remove the folder to silence this message");
  for (const char* list : {"task_key_fields", "series_key_fields"})
    for (const Json& name : manifest.value(list, Json::array()))
      if (name.is_string() && find_field(name.get<std::string>()) == nullptr)
        return refuse(fmt::format("has the field '{}' in its key, which this assay does not know",
                                  sanitise(name.get<std::string>())),
                      kNewer);
  return {};
}

/// Whether a key is the hash of the fields that its manifest names, as their values stand there. That does not depend
/// on the fields that there are today.
Status check_key(const fs::path& folder, const Json& manifest, const std::string& key, const std::string& list) {
  const Json& record = manifest.at("record");
  const Json names = manifest.value(list, Json());
  std::string text;
  for (const Json& name : names) {
    if (!name.is_string()) return mismatch(folder, fmt::format("\"{}\" is not a list of names", list));
    text += fmt::format("{}={}\n", name.get<std::string>(), json_text(record.value(name.get<std::string>(), Json())));
  }
  if (record.value(key, Json()) == sha256_hex(text)) return {};
  return mismatch(folder, fmt::format("its {} is not that of the fields in \"{}\"", key, list));
}

}  // namespace

fs::path default_spool(const fs::path& database) { return database.string() + ".spool"; }

struct BundleWriter::State {
  Descriptor lock;
  fs::path folder;
  Record draft;
  RunContext context;
  bool open = true;  // neither finished nor given up
};

BundleWriter::BundleWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
BundleWriter::BundleWriter(BundleWriter&&) noexcept = default;
BundleWriter& BundleWriter::operator=(BundleWriter&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

BundleWriter::~BundleWriter() {
  if (state_ == nullptr || !state_->open) return;
  if (const auto sealed = seal(state_->folder, state_->draft.attempt_id); !sealed)
    log_warning("{}", to_string(sealed.error()));
}

const fs::path& BundleWriter::folder() const { return state_->folder; }

Result<BundleWriter> BundleWriter::begin(const fs::path& spool, Record draft, const RunContext& context) {
  if (!is_plain_name(draft.task_key) || !is_plain_name(draft.attempt_id))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a bundle needs a task key and an attempt id that can name folders, not '{}' and '{}'",
                            draft.task_key, draft.attempt_id));
  draft.status = CellStatus::kFailed;
  draft.verification = Verification::kUnverified;
  draft.reason_code = Reason::kCancelled;
  draft.message = "assay ended while this cell ran; the samples that were written are kept";
  draft.hint = "run again with --resume";
  draft.flags.add(Flag::kPartial);
  if (draft.timestamp.empty()) draft.timestamp = iso8601(wall_now());

  auto state = std::make_unique<State>();
  const fs::path parent = spool / draft.task_key;
  state->folder = parent / (std::string(kUnfinished) + draft.attempt_id);
  ASSAY_CHECK_OK(make_directories(parent));
  ASSAY_TRY(state->lock, create_locked_folder(state->folder));
  state->draft = std::move(draft);
  state->context = context;
  // The manifest last: a folder that has one has all that a bundle needs.
  Status written = write_environment(state->folder, context, Json::object());
  if (written) written = write_manifest(state->folder, state->draft);
  if (!written) {
    std::error_code ignored;
    fs::remove_all(state->folder, ignored);
    return tl::unexpected<Error>(std::move(written).error());
  }
  return BundleWriter(std::move(state));
}

Result<fs::path> BundleWriter::finish(const Record& record, const Json& attempt_environment, const Json& outputs) {
  ASSAY_CHECK(state_->open, "a bundle is finished once");
  if (record.task_key != state_->draft.task_key || record.attempt_id != state_->draft.attempt_id)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the result of attempt {} of task {} cannot finish the bundle of attempt {} of task {}",
                            record.attempt_id, record.task_key, state_->draft.attempt_id, state_->draft.task_key));
  state_->open = false;
  ASSAY_CHECK_OK(write_environment(state_->folder, state_->context, attempt_environment));
  if (!outputs.is_null())
    ASSAY_CHECK_OK(write_unsynced(state_->folder / bundle_file::kOutputs, json_text(outputs, 2) + "\n"));
  // The manifest last: until then the folder says that the attempt was cut short.
  ASSAY_CHECK_OK(write_manifest(state_->folder, record));
  ASSAY_TRY(state_->folder, seal(state_->folder, record.attempt_id));
  return state_->folder;
}

void BundleWriter::discard() {
  state_->open = false;
  std::error_code ignored;
  fs::remove_all(state_->folder, ignored);
}

namespace {

using Texts = std::map<std::string_view, std::string>;

struct Sealed {
  std::string sha256;  ///< hash of the file DONE
  std::set<std::string, std::less<>> files;
};

/// Checks every file that DONE names. Those of `texts` are read into it.
Result<Sealed> check_hashes(const fs::path& folder, Texts& texts) {
  const auto done = read_file(folder / bundle_file::kDone);
  if (!done && done.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound,
                fmt::format("'{}' is not a whole bundle: it has no DONE", escape_bytes(folder.string())));
  if (!done) return tl::unexpected<Error>(done.error());
  Sealed sealed{sha256_hex(*done), {}};
  const auto hash_of = [&](std::string_view name) -> Result<std::string> {
    const auto text = texts.find(name);
    if (text == texts.end()) return sha256_file(folder / name);
    ASSAY_TRY(text->second, read_file(folder / name));
    return sha256_hex(text->second);
  };
  for (const std::string& line : split(*done, '\n')) {
    if (line.empty()) continue;
    const std::string_view name = line.size() > 66 ? std::string_view(line).substr(66) : std::string_view();
    if (!is_plain_name(name)) return mismatch(folder, "DONE is not a list of hashes and files");
    const auto hash = hash_of(name);
    if (!hash && hash.error().code == ErrorCode::kNotFound)
      return mismatch(folder, fmt::format("'{}' is missing", name));
    if (!hash) return tl::unexpected<Error>(hash.error());
    if (line.compare(0, 64, *hash) != 0) return mismatch(folder, fmt::format("'{}' is not what was written", name));
    sealed.files.emplace(name);
  }
  return sealed;
}

/// Whether there is enough for a bundle: a process that is killed may have written less, and what was not yet on the
/// disk when the power failed may be empty. Errors: those of reading; then nobody knows.
Result<bool> has_begun(const fs::path& folder) {
  for (const std::string_view name : {bundle_file::kManifest, bundle_file::kEnvironment}) {
    const Result<std::string> text = read_file(folder / name);
    if (!text && text.error().code == ErrorCode::kNotFound) return false;
    if (!text) return tl::unexpected<Error>(text.error());
    if (const Result<Json> json = parse_json(*text, (folder / name).string()); !json || !json->is_object())
      return false;
  }
  return true;
}

/// Moves a folder of an attempt out of the way: `<spool>/.remains/<task key>/<attempt id>`. Nothing is deleted.
Status set_aside(const fs::path& folder, std::string_view attempt_id) {
  const fs::path task = folder.parent_path();
  const fs::path there = task.parent_path() / kRemains / task.filename();
  ASSAY_CHECK_OK(make_directories(there));
  std::error_code ignored;
  std::string name(attempt_id);
  for (int n = 2; fs::exists(there / name, ignored); ++n) name = fmt::format("{}-{}", attempt_id, n);
  if (::rename(folder.c_str(), (there / name).c_str()) != 0) return io_failure(errno, "rename", folder);
  return {};
}

void report_set_aside(std::size_t attempts, const fs::path& spool) {
  if (attempts > 0)
    log_warning("unfinished attempts that have no result: {}; their files were moved to '{}' and can be removed",
                attempts, escape_bytes((spool / kRemains).string()));
}

}  // namespace

Result<Bundle> read_bundle(const fs::path& folder) {
  // What is parsed later is read once.
  Texts texts{{bundle_file::kManifest, {}}, {bundle_file::kEnvironment, {}}, {bundle_file::kOutputs, {}}};
  ASSAY_TRY(const Sealed sealed, check_hashes(folder, texts));
  const std::set<std::string, std::less<>>& named = sealed.files;
  Bundle bundle;
  bundle.folder = folder;
  bundle.sha256 = sealed.sha256;
  bundle.has_samples = named.contains(bundle_file::kSamples);
  if (!named.contains(bundle_file::kManifest) || !named.contains(bundle_file::kEnvironment))
    return mismatch(folder, "DONE does not name its manifest and environment");

  const auto parse = [&](std::string_view name) { return parse_versioned(texts.at(name), folder / name); };
  ASSAY_TRY(const Json manifest, parse(bundle_file::kManifest));
  ASSAY_CHECK_OK(check_key_fields(folder, manifest));
  ASSAY_TRY(bundle.record, with_context(record_from_json(manifest.value("record", Json())),
                                        fmt::format("while reading '{}'", (folder / bundle_file::kManifest).string())));
  ASSAY_CHECK_OK(check_key(folder, manifest, "task_key", "task_key_fields"));
  ASSAY_CHECK_OK(check_key(folder, manifest, "series_key", "series_key_fields"));
  bundle.record.task_key = task_key(bundle.record);
  bundle.record.series_key = series_key(bundle.record);
  ASSAY_TRY(const Json environment, parse(bundle_file::kEnvironment));
  const auto object = [](const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_object() ? *found : Json::object();
  };
  const auto text = [](const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const Json run = object(environment, "run");
  bundle.context = {text(run, "started"), text(run, "command"), object(environment, "environment"),
                    object(environment, "hardware")};
  bundle.attempt_environment = object(environment, "attempt");
  if (named.contains(bundle_file::kOutputs)) {
    ASSAY_TRY(bundle.outputs, parse_json(texts.at(bundle_file::kOutputs), (folder / bundle_file::kOutputs).string()));
  }
  return bundle;
}

Result<std::vector<fs::path>> list_bundles(const fs::path& spool, std::vector<Error>* refused) {
  std::vector<fs::path> bundles;
  const auto refuse = [&](Error error) {
    if (refused != nullptr) refused->push_back(std::move(error));
  };
  // Names become texts of the database and of JSON.
  const auto is_text = [&](const fs::path& folder) {
    if (is_utf8(folder.filename().string())) return true;
    refuse({ErrorCode::kInvalidArgument,
            fmt::format("the name of the folder '{}' is not valid UTF-8", escape_bytes(folder.string())),
            {},
            "rename the folder; its results are ingested then"});
    return false;
  };
  ASSAY_TRY(const std::vector<fs::path> tasks, folders_of(spool));
  for (const fs::path& task : tasks) {
    if (!is_plain_name(task.filename().string())) continue;  // a folder beside the bundles, such as .unsaved
    if (!is_text(task)) continue;
    Result<std::vector<fs::path>> attempts = folders_of(task);
    if (!attempts) {
      refuse(std::move(attempts).error());
      continue;
    }
    for (fs::path& attempt : *attempts)
      if (is_plain_name(attempt.filename().string()) && is_text(attempt)) bundles.push_back(std::move(attempt));
  }
  return bundles;
}

namespace {

Status seal_or_set_aside(const fs::path& folder, const std::string& attempt_id, std::size_t& sealed,
                         std::size_t& aside) {
  ASSAY_TRY(const bool begun, has_begun(folder));
  ASSAY_CHECK_OK(begun ? seal(folder, attempt_id).map([](const fs::path&) {}) : set_aside(folder, attempt_id));
  ++(begun ? sealed : aside);
  return {};
}

}  // namespace

Result<std::size_t> seal_abandoned(const fs::path& spool) {
  std::size_t sealed = 0, aside = 0;
  ASSAY_TRY(const std::vector<fs::path> tasks, folders_of(spool));
  for (const fs::path& task : tasks) {
    if (!is_plain_name(task.filename().string())) continue;
    const Result<std::vector<fs::path>> attempts = folders_of(task);
    if (!attempts) continue;  // list_bundles() reports it
    for (const fs::path& folder : *attempts) {
      const std::string name = folder.filename().string();
      if (!name.starts_with(kUnfinished)) continue;
      const Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      // Its writer still runs.
      if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
      if (std::error_code not_empty; fs::remove(folder, not_empty)) continue;  // its writer was killed at once
      if (std::error_code ignored; !fs::exists(folder, ignored)) continue;     // another process sealed it
      if (const Status done = seal_or_set_aside(folder, name.substr(kUnfinished.size()), sealed, aside); !done)
        log_warning("{}", to_string(done.error()));
    }
  }
  report_set_aside(aside, spool);
  return sealed;
}

}  // namespace assay
