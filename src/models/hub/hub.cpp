// SPDX-License-Identifier: Apache-2.0
#include "models/hub/hub.hpp"

#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "models/hub/cache.hpp"
#include "models/hub/transfer.hpp"

namespace assay::hub {
namespace fs = std::filesystem;
namespace {

constexpr int kAttempts = 3;
constexpr std::size_t kSha256Digits = 64, kSha1Digits = 40;

// A file as the hub lists it.
struct Entry {
  std::string name;
  std::uint64_t size = 0;
  std::string checksum;  ///< SHA-256 of large files, git's SHA-1 of a blob of the others; its name in the cache too
};

struct Listing {
  std::string commit;
  std::map<std::string, Entry> files;  ///< files that can be fetched, by name
  std::vector<std::string> names;      ///< names of all files
};

bool is_hex(const std::string& text, std::size_t digits) {
  return text.size() == digits &&
         std::ranges::all_of(text, [](unsigned char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<Listing> read_listing(const std::string& body, const std::string& url) {
  ASSAY_TRY(const Json json, parse_json(body, url));
  Listing listing;
  const auto files = json.find("siblings");
  if (json.is_object()) listing.commit = text_of(json, "sha");
  if (!json.is_object() || !is_hex(listing.commit, kSha1Digits) || files == json.end() || !files->is_array())
    return fail(ErrorCode::kInternal, fmt::format("'{}' does not answer with a model's description", url));
  for (const Json& file : *files) {
    if (!file.is_object()) continue;
    Entry entry;
    entry.name = text_of(file, "rfilename");
    listing.names.push_back(entry.name);
    const auto large = file.find("lfs");
    const bool is_large = large != file.end() && large->is_object();
    entry.checksum = is_large ? text_of(*large, "sha256") : text_of(file, "blobId");
    const auto size = file.find("size");
    if (size == file.end() || !size->is_number_unsigned()) continue;
    entry.size = size->get<std::uint64_t>();
    if (is_hex(entry.checksum, is_large ? kSha256Digits : kSha1Digits)) listing.files[entry.name] = std::move(entry);
  }
  return listing;
}

Result<std::string> checksum_of(const fs::path& path, const Entry& entry, const Cancelled& cancelled) {
  if (entry.checksum.size() == kSha256Digits) return sha256_file(path, cancelled);
  ASSAY_TRY(const std::string content, read_file(path));
  return git_blob_hash(content);
}

// One process at a time for a blob, by the same lock as huggingface_hub's.
class BlobLock {
 public:
  explicit BlobLock(const fs::path& path) : file_(std::fopen(path.c_str(), "ab"), &std::fclose) {}

  // Waits while another process fetches the blob. Errors: cancelled.
  [[nodiscard]] Status acquire(const Cancelled& cancelled) {
    constexpr std::chrono::milliseconds kPause(100);
    while (file_ && ::flock(::fileno(file_.get()), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ASSAY_CHECK_OK(check_cancelled(cancelled));
      std::this_thread::sleep_for(kPause);
    }
    return {};
  }

 private:
  std::unique_ptr<std::FILE, decltype(&std::fclose)> file_;
};

// The first few names.
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMost = 4;
  const std::size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  for (std::string& name : names) name = sanitise(name);
  return join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

/// One model on its way into the cache.
class Download {
 public:
  Download(const Settings& settings, std::string model_id, Listing listing, const Progress& progress,
           const std::function<bool()>& cancelled)
      : settings_(settings),
        model_id_(std::move(model_id)),
        model_(model_folder(settings, model_id_)),
        listing_(std::move(listing)),
        progress_(progress),
        cancelled_(cancelled) {}

  [[nodiscard]] bool has(const std::string& name) const { return listing_.files.contains(name); }

  /// Errors: not_found for a name that is not listed; those of fetching.
  Status get(const std::vector<std::string>& names) {
    std::vector<const Entry*> entries;
    std::uint64_t missing = 0;
    for (const std::string& name : names) {
      const auto found = listing_.files.find(name);
      if (found == listing_.files.end())
        return fail(ErrorCode::kNotFound, fmt::format("the hub has no file '{}' of '{}'", sanitise(name), model_id_));
      entries.push_back(&found->second);
      total_ += found->second.size;
      if (!fs::exists(blob(found->second))) missing += found->second.size;
    }
    ASSAY_CHECK_OK(make_directories(model_ / "blobs"));
    std::error_code error;
    if (const fs::space_info space = fs::space(model_, error); !error && space.available < missing)
      return fail(
          ErrorCode::kOutOfMemory,
          fmt::format("'{}' needs {:.1f} GB, '{}' has {:.1f} GB free", model_id_, static_cast<double>(missing) / 1e9,
                      settings_.cache.string(), static_cast<double>(space.available) / 1e9),
          "free some, or set HF_HOME to a folder with more");
    fetch_all(entries);
    return failure_ ? Status(tl::unexpected<Error>(*failure_)) : Status();
  }

  /// Makes this revision the one that "main" stands for. `weights` were fetched. Errors: those of writing.
  Result<Snapshot> publish(const WeightsChoice& weights) {
    if (!weights.name.empty()) ASSAY_CHECK_OK(keep_choice(model_, listing_.commit, weights.name));
    ASSAY_CHECK_OK(write_file_atomically(model_ / "refs" / "main", listing_.commit));
    Snapshot snapshot{model_ / "snapshots" / listing_.commit, listing_.commit, std::nullopt};
    snapshot.weights_confirmed = !weights.name.empty();
    snapshot.weights_ambiguous = weights.name.empty() && !weights.found.empty();
    if (!weights.name.empty())
      snapshot.weights = snapshot.folder / weights.name;
    else if (snapshot.weights_ambiguous)
      snapshot.why_no_weights =
          fmt::format("'{}' has safetensors, but it is not clear which are the weights of the model: {}", model_id_,
                      listed(weights.found));
    else
      snapshot.why_no_weights = fmt::format("'{}' has no safetensors", model_id_);
    return snapshot;
  }

  [[nodiscard]] fs::path path_of(const std::string& name) const {
    return model_ / "snapshots" / listing_.commit / name;
  }

 private:
  [[nodiscard]] fs::path blob(const Entry& entry) const { return model_ / "blobs" / entry.checksum; }

  void fetch_all(const std::vector<const Entry*>& entries) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < entries.size(); i = next++) {
        Status status = fetch(*entries[i]);
        if (status) continue;
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::move(status).error();
      }
    };
    const auto workers =
        std::min<std::size_t>(entries.size(), static_cast<std::size_t>(std::max(settings_.parallel, 1)));
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < workers; ++i) threads.emplace_back(work);
    work();
  }

  Status fetch(const Entry& entry) {
    if (!fs::exists(blob(entry))) {
      const fs::path lock = settings_.cache / ".locks" / model_.filename() / (entry.checksum + ".lock");
      ASSAY_CHECK_OK(make_directories(lock.parent_path()));
      BlobLock held(lock);
      ASSAY_CHECK_OK(held.acquire(cancelled_));
      if (!fs::exists(blob(entry))) ASSAY_CHECK_OK(fetch_blob(entry));
    }
    report(entry, entry.size);
    return link_blob(model_, listing_.commit, entry.name, entry.checksum);
  }

  // What came is kept for the next attempt, unless it is wrong.
  Status fetch_blob(const Entry& entry) {
    const std::string url =
        fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, model_id_, listing_.commit, entry.name);
    const fs::path partial = blob(entry).string() + ".incomplete";
    Status problem;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(settings_.retry_pause * (1 << (attempt - 1)));
      bool again = false;
      problem = try_blob(entry, url, partial, again);
      if (problem || !again) break;
      log_debug("{}: {}; attempt {} of {}", entry.name, problem.error().message, attempt + 1, kAttempts);
    }
    return problem;
  }

  Status try_blob(const Entry& entry, const std::string& url, const fs::path& partial, bool& again) {
    std::error_code error;
    if (fs::file_size(partial, error) >= entry.size && !error) fs::remove(partial, error);
    ASSAY_TRY(const Answer answer, get_file(settings_, url, partial, entry.size, [&](std::uint64_t bytes) {
                report(entry, bytes);
                return !stopped();
              }));
    if (answer.kind == Answer::Kind::kCancelled) return fail(ErrorCode::kCancelled, "fetching was interrupted");
    if (answer.kind == Answer::Kind::kDisk)
      return fail(ErrorCode::kInternal, fmt::format("cannot write '{}': {}", partial.string(), answer.problem));
    again = answer.kind != Answer::Kind::kDone || answer.status == 429 || answer.status >= 500;
    if (answer.kind != Answer::Kind::kDone)
      return fail(ErrorCode::kNotFound, fmt::format("'{}' was not received completely: {}", url, answer.problem),
                  "try again: what was received is kept");
    if (answer.status >= 300)
      return fail(ErrorCode::kInternal, fmt::format("'{}' answers with HTTP status {}", url, answer.status));

    const std::uint64_t size = fs::file_size(partial, error);
    ASSAY_TRY(const std::string checksum, checksum_of(partial, entry, cancelled_));
    if (checksum == entry.checksum) {
      ASSAY_CHECK_OK(sync_file(partial));
      fs::rename(partial, blob(entry), error);
      if (error)
        return fail(ErrorCode::kInternal, fmt::format("cannot name '{}': {}", blob(entry).string(), error.message()));
      return {};
    }
    again = true;
    fs::remove(partial, error);
    return fail(
        ErrorCode::kMismatch,
        fmt::format("'{}' of '{}' is not what the hub announced: {} bytes with checksum {}, expected {} with {}",
                    entry.name, model_id_, size, checksum, entry.size, entry.checksum),
        "try again; if it happens again, the hub or a proxy sends wrong data");
  }

  bool stopped() {
    const std::lock_guard lock(mutex_);
    return failure_.has_value() || cancelled_();
  }

  void report(const Entry& entry, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    arrived_[entry.name] = bytes;
    std::uint64_t done = 0;
    for (const auto& [name, part] : arrived_) done += part;
    if (progress_) progress_(model_id_, done, total_);
  }

  const Settings& settings_;
  std::string model_id_;
  fs::path model_;
  Listing listing_;
  const Progress& progress_;
  const std::function<bool()>& cancelled_;
  std::uint64_t total_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> arrived_;
  std::optional<Error> failure_;
};

tl::unexpected<Error> refusal(const Settings& settings, const std::string& model_id, long status) {
  if (status == 404)
    return fail(ErrorCode::kNotFound, fmt::format("{} has no model '{}'", settings.endpoint, model_id));
  // Without a login, the hub also answers 401 for models that do not exist.
  if (status == 401 || status == 403)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} does not give '{}' (HTTP status {}): it does not exist, or requires permission",
                            settings.endpoint, model_id, status),
                settings.token.empty() ? "check the name; if it is gated, set HF_TOKEN"
                                       : "check the name; if it is gated, request access with the account of HF_TOKEN");
  return fail(ErrorCode::kInternal,
              fmt::format("{} answers with HTTP status {} for '{}'", settings.endpoint, status, model_id));
}

// What the hub says of the model. `off` becomes the reason if the hub cannot be reached.
Result<Listing> ask(const Settings& settings, const std::string& model_id, const std::function<bool()>& cancelled,
                    std::string& off) {
  const std::string url = fmt::format("{}/api/models/{}/revision/main?blobs=true", settings.endpoint, model_id);
  std::string body;
  Answer answer;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (cancelled()) return fail(ErrorCode::kCancelled, "fetching was interrupted");
    if (attempt > 0) std::this_thread::sleep_for(settings.retry_pause * (1 << (attempt - 1)));
    ASSAY_TRY(answer, get_text(settings, url, body, [&](std::uint64_t) { return !cancelled(); }));
    if (answer.kind == Answer::Kind::kCancelled) return fail(ErrorCode::kCancelled, "fetching was interrupted");
    if (answer.kind == Answer::Kind::kUnreachable) {
      off = fmt::format("{} cannot be reached: {}", settings.endpoint, answer.problem);
      return fail(ErrorCode::kNotFound, off,
                  "without a network, name a folder with config.json, or set HF_HUB_OFFLINE=1");
    }
    if (answer.kind == Answer::Kind::kDone && answer.status < 500 && answer.status != 429) break;
  }
  if (answer.kind != Answer::Kind::kDone)
    return fail(ErrorCode::kNotFound, fmt::format("'{}' sent an incomplete answer: {}", url, answer.problem));
  if (answer.status != 200) return refusal(settings, model_id, answer.status);
  return read_listing(body, url);
}

Result<Snapshot> fetch(const Settings& settings, const std::string& model_id, Listing listing, const Progress& progress,
                       const std::function<bool()>& cancelled) {
  const WeightsChoice weights = choose_weights(listing.names);
  Download download(settings, model_id, std::move(listing), progress, cancelled);
  if (!download.has("config.json"))
    return fail(ErrorCode::kNotFound, fmt::format("'{}' on {} has no config.json", model_id, settings.endpoint));
  std::vector<std::string> names{"config.json"};
  if (constexpr const char* kImages = "preprocessor_config.json"; download.has(kImages)) names.emplace_back(kImages);
  if (weights.name.ends_with(".json")) {
    ASSAY_CHECK_OK(download.get({weights.name}));
    ASSAY_TRY(const std::vector<std::string> shards, shards_of(download.path_of(weights.name)));
    names.insert(names.end(), shards.begin(), shards.end());
  } else if (!weights.name.empty()) {
    names.push_back(weights.name);
  }
  ASSAY_CHECK_OK(download.get(names));
  return download.publish(weights);
}

}  // namespace

Hub::Hub(Settings settings, Progress progress, std::function<bool()> cancelled)
    : settings_(std::move(settings)), progress_(std::move(progress)), cancelled_(std::move(cancelled)) {
  if (settings_.offline) off_ = "HF_HUB_OFFLINE is set";
}

Result<Snapshot> Hub::get(const std::string& model_id) {
  if (settings_.cache.empty())
    return fail(
        ErrorCode::kNotFound,
        fmt::format("'{}' cannot be fetched from the hub: HOME is not set, so there is no folder for it", model_id),
        "set HF_HOME");
  std::optional<Snapshot> cached = find_cached(settings_, model_id);
  if (cached && cached->weights_confirmed) return *cached;
  Result<Listing> listing = off() ? fail(ErrorCode::kNotFound, fmt::format("'{}' is not in the cache '{}', and {}",
                                                                           model_id, settings_.cache.string(), off_))
                                  : ask(settings_, model_id, cancelled_, off_);
  if (listing) return fetch(settings_, model_id, std::move(*listing), progress_, cancelled_);
  Error why = std::move(listing).error();
  if (!cached || why.code == ErrorCode::kCancelled) return tl::unexpected<Error>(std::move(why));
  if (cached->weights) {
    cached->why_not_confirmed = off() ? off_ : why.message;
    return *cached;
  }
  if (!off()) return tl::unexpected<Error>(std::move(why));
  cached->weights_unknown = true;
  cached->why_no_weights =
      fmt::format("the weights of '{}' are not in the cache '{}', and {}", model_id, settings_.cache.string(), off_);
  return *cached;
}

}  // namespace assay::hub
