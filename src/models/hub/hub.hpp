// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <assay/result.hpp>

namespace assay::hub {

/// Where models of Hugging Face come from. The variables are those of huggingface_hub and mean the same.
struct Settings {
  std::string endpoint;         ///< URL without a final slash
  std::string token;            ///< sent to the endpoint's host only, never where it redirects to
  std::filesystem::path cache;  ///< huggingface_hub's folder "hub"; empty: there is no cache, and nothing is fetched
  bool offline = false;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::seconds stall_timeout{30};      ///< longest time without a new byte
  std::chrono::milliseconds retry_pause{500};  ///< pause before the second attempt; doubled before the third
  int parallel = 4;                            ///< files at the same time
};

/// HF_ENDPOINT, HF_TOKEN (else the file HF_TOKEN_PATH, else HF_HOME/token), HF_HUB_CACHE (else HF_HOME/hub, else
/// XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub; without a home, none), HF_HUB_OFFLINE.
[[nodiscard]] Settings settings_from_environment();

/// Whether `name` can be a model's id there: "org/name", of letters, digits, '-', '_' and '.'.
[[nodiscard]] bool is_model_id(const std::string& name);

/// One revision of a model on this disk.
struct Snapshot {
  std::filesystem::path folder;  ///< the folder that contains config.json
  std::string commit;
  std::optional<std::filesystem::path> weights;  ///< a file of safetensors or an index of them, all shards there
  std::string why_no_weights{};                  ///< why there are no `weights`, as a sentence; set by Hub::get
  bool weights_confirmed = false;                ///< the hub's list said so, or their name leaves no choice
  std::string why_not_confirmed{};               ///< why `weights` are not confirmed; set by Hub::get
  bool weights_unknown = false;                  ///< they are not here, and the hub was not asked whether it has them
  bool weights_ambiguous = false;                ///< several files of the hub may be the weights; none was fetched
};

/// The revision "main" of `model_id` as it is in the cache; nullopt without a config.json. Nothing is fetched.
[[nodiscard]] std::optional<Snapshot> find_cached(const Settings& settings, const std::string& model_id);

/// Bytes of the whole model that are here already, and all of them. Thread: one at a time.
using Progress = std::function<void(const std::string& model_id, std::uint64_t done, std::uint64_t total)>;

/// Models by their id: from the cache, else fetched into it, where huggingface_hub finds them too.
///
/// Each file is resumed where an earlier attempt ended, checked against the hub's checksum, and gets its name only when
/// it is complete. After the first connection that fails, the object no longer contacts the hub.
class Hub {
 public:
  explicit Hub(
      Settings settings, Progress progress = {}, std::function<bool()> cancelled = [] { return false; });

  /// config.json, the safetensors and, if there is one, preprocessor_config.json of `model_id`. A model is used without
  /// contacting the hub if the cache has its weights under a usual name (has_usual_name() of models/hub/cache.hpp), or
  /// those that an earlier list said are the weights.
  ///
  /// Which files are the weights is decided by the hub's list (choose_weights() of models/hub/cache.hpp): others may
  /// have fetched one file of several. The files in the cache decide only while the hub is off() or gives no list,
  /// whatever the reason, and then weights_confirmed is false. A snapshot has no weights if the list has no safetensors
  /// at all, if several of its files may be the weights (weights_ambiguous), or if the hub is off() and the cache has
  /// the configuration only (weights_unknown). Errors, if the cache has no weights: not_found (no such model; offline,
  /// switched off or unreachable and not in the cache: says which), invalid_argument (401 or 403: says how to get in),
  /// mismatch (a checksum or a size, after a second attempt), out_of_memory (the disk: both figures), cancelled,
  /// internal (an unexpected answer of the hub). After the list was given, weights in the cache that it does not name
  /// do not replace those that could not be fetched.
  [[nodiscard]] Result<Snapshot> get(const std::string& model_id);

  /// Whether the hub is not contacted: it is switched off, or could not be reached.
  [[nodiscard]] bool off() const { return !off_.empty(); }

 private:
  Settings settings_;
  Progress progress_;
  std::function<bool()> cancelled_;
  std::string off_;  ///< why the hub is no longer contacted
};

}  // namespace assay::hub
