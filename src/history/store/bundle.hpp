// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/result/record.hpp"

/// A bundle is what one attempt leaves behind: the folder `<spool>/<task key>/<attempt id>/` with manifest.json,
/// environment.json, samples.bin, outputs.json, logs, and DONE, the SHA-256 of each of them as `sha256sum -c` reads
/// it (docs/formats.md). It is the source of truth; the database can be rebuilt from it (store.hpp).
///
/// A bundle is written as `.tmp-<attempt id>` and renamed when all of it is on the disk: a folder without that prefix
/// is whole, or was damaged afterwards and is refused, at each ingest until somebody removes it. Out of scope: DuckDB,
/// statistics.
namespace assay {

namespace bundle_file {
inline constexpr std::string_view kManifest = "manifest.json";
inline constexpr std::string_view kEnvironment = "environment.json";
inline constexpr std::string_view kSamples = "samples.bin";  ///< core/samples/samples_file.hpp
inline constexpr std::string_view kOutputs = "outputs.json";
inline constexpr std::string_view kLog = "worker.log";
inline constexpr std::string_view kDone = "DONE";
}  // namespace bundle_file

inline constexpr int kBundleSchemaVersion = 1;

/// What is known about the invocation and the machine: the rows of benchmark_runs and hardware_info.
struct RunContext {
  std::string started;                ///< UTC, ISO 8601
  std::string command;                ///< the text that the user typed
  Json environment = Json::object();  ///< environment of the whole run
  /// The machine: system_info() of bench/hardware/hardware.hpp, kept whole; its plain values become columns.
  Json hardware = Json::object();
};

/// `<db>.spool`, beside the database.
[[nodiscard]] std::filesystem::path default_spool(const std::filesystem::path& database);

/// Writes one bundle. Between begin() and finish() the worker writes into folder(); begin() has already put a
/// manifest there, so that when assay is killed in between, seal_abandoned() turns what there is into a whole bundle
/// of status `failed` (`cancelled`, flagged `partial`). Destroyed before finish(), it does the same at once.
/// Lifetime: it locks the folder, so that others see that its writer still runs.
class BundleWriter {
 public:
  /// `draft` is the result as far as it is known before the attempt: task_key and attempt_id must be set
  /// (invalid_argument).
  /// Errors: those of make_directories and write_file_atomically; nothing is left behind that looks like a bundle.
  [[nodiscard]] static Result<BundleWriter> begin(const std::filesystem::path& spool, Record draft,
                                                  const RunContext& context);
  BundleWriter(BundleWriter&&) noexcept;
  BundleWriter& operator=(BundleWriter&&) noexcept;
  ~BundleWriter();

  /// Changes its name in finish(): take paths from here, not from memory.
  [[nodiscard]] const std::filesystem::path& folder() const;
  [[nodiscard]] std::filesystem::path samples_path() const { return folder() / bundle_file::kSamples; }
  [[nodiscard]] std::filesystem::path log_path() const { return folder() / bundle_file::kLog; }

  /// Writes the final manifest, what the attempt saw of its environment, and the outputs' fingerprint (null: none),
  /// syncs every file, then DONE, then renames. Returns the bundle's folder.
  /// `record` must have the draft's task_key and attempt_id (invalid_argument).
  /// Errors: internal (disk full, I/O error), after which there is no bundle and the destructor does not try again; the
  /// files stay for seal_abandoned().
  [[nodiscard]] Result<std::filesystem::path> finish(const Record& record, const Json& attempt_environment,
                                                     const Json& outputs);

  /// Removes everything: the attempt never began (a worker that could not be started for lack of its engine).
  void discard();

 private:
  struct State;
  explicit BundleWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A bundle that was read and whose files all have the hash that DONE says.
struct Bundle {
  std::filesystem::path folder;
  std::string sha256;  ///< hash of the file DONE, which has the hashes of all other files
  Record record;       ///< Its keys are computed from its fields.
  RunContext context;
  Json attempt_environment;
  Json outputs;  ///< null if there are none
  bool has_samples = false;
};

/// Errors: not_found (no DONE: not a bundle, or torn), mismatch (names the file that is missing or differs, or the
/// key), unsupported (written by a newer assay or by a development version before the first release: its schema is
/// newer, its keys have another version, or a key hashes a field that this assay does not know), invalid_argument (a
/// file that is not what it should be).
[[nodiscard]] Result<Bundle> read_bundle(const std::filesystem::path& folder);

/// Folders of all bundles of a spool, sorted; a spool that does not exist has none. Nothing is read but names.
/// A folder that cannot be listed, or whose name is not valid UTF-8, is left out and, where `refused` is given,
/// reported there, its odd bytes escaped.
[[nodiscard]] Result<std::vector<std::filesystem::path>> list_bundles(const std::filesystem::path& spool,
                                                                      std::vector<Error>* refused = nullptr);

/// Makes whole bundles of those whose writer is gone. Returns how many. What cannot be sealed stays, with a warning. An
/// empty folder, whose writer was killed at once, is removed. A folder without a complete manifest and environment has
/// no result: it moves to `<spool>/.remains/<task key>/<attempt id>`, with one warning for all of them.
[[nodiscard]] Result<std::size_t> seal_abandoned(const std::filesystem::path& spool);

}  // namespace assay
