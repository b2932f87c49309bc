// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/traits/engine_entry.hpp"

namespace assay {

/// The files that a worker loads.
struct EngineLocation {
  std::string engine;            ///< "onnxruntime"
  std::filesystem::path plugin;  ///< the plug-in's .so
  std::filesystem::path home;    ///< the folder of the runtime's library; empty: it needs none
  std::string version{};         ///< version of the runtime, found in its files without loading it; may be empty
  std::string found_by{};        ///< the rule that found it: "ASSAY_ONNXRUNTIME_HOME", "assay's own folder",
                                 ///< "site-packages", "system libraries", "built in"
};

/// The engines of this machine: assay's own, and external ones.
///
/// An external engine is a folder with engine.json and assay_engine_<name>.so. assay searches the folders of
/// ASSAY_ENGINE_PATH (each one such folder, or a folder of such folders; separated by colons), then the installed
/// lib/assay/engines/<name>. The first engine with a name counts. It cannot have the name of one of assay's own
/// engines, nor be the default for a hardware.
class EngineRegistry {
 public:
  struct Places {
    std::filesystem::path plugins;  ///< the folder of assay_engine_<name>.so of assay's own engines
    std::filesystem::path deps;     ///< assay's folder of downloads
    std::vector<std::filesystem::path> site_packages;
    std::filesystem::path worker;  ///< assay-worker
    std::vector<std::filesystem::path> system_libraries{};
    std::map<std::string, std::filesystem::path> homes{};  ///< the key is the variable: ASSAY_ONNXRUNTIME_HOME
    std::vector<std::filesystem::path> engine_folders{};   ///< the folders that ASSAY_ENGINE_PATH lists
  };
  /// From the folder of the running program and from the environment (ASSAY_PLUGIN_DIR, ASSAY_DEPS_DIR,
  /// ASSAY_ENGINE_PATH, ASSAY_<ENGINE>_HOME).
  [[nodiscard]] static Places default_places();
  /// A program of assay that users do not start: beside the running one, else in libexec/assay of its prefix.
  [[nodiscard]] static std::filesystem::path own_program(std::string_view name);
  explicit EngineRegistry(Places places);

  /// All known engines, built or planned: assay's own, then external ones, each in order of preference.
  [[nodiscard]] const std::vector<EngineEntry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<std::string> names() const;
  /// Those that are part of this version.
  [[nodiscard]] std::vector<std::string> built_names() const;
  /// The error about a word that names no engine: lists those that are part of this version.
  [[nodiscard]] tl::unexpected<Error> unknown_name(std::string_view word) const;
  /// The entry of "onnxruntime" or "onnxruntime@1.24.1"; nullptr for an unknown name.
  [[nodiscard]] const EngineEntry* entry(std::string_view name) const;
  /// The errors of external engines, which are left out: an invalid engine.json, a name that exists already, a folder
  /// of ASSAY_ENGINE_PATH without an engine.
  [[nodiscard]] const std::vector<Error>& problems() const { return problems_; }

  /// Finds the runtime's files without loading it, in this order: $ASSAY_<ENGINE>_HOME, assay's own folder
  /// (deps/<engine>, deps/<engine>-<version>), Python site-packages, system libraries. `name` may include a version,
  /// "onnxruntime@1.24.1" or a leading part of it ("@1.24"): then only that one counts; else the first found, the
  /// newest of several in one folder.
  /// Errors: not_found (an unknown name, with the known ones and the errors of external engines; a known engine that is
  /// not installed: the searched folders and how to install it), unsupported (known, but not included in this assay).
  [[nodiscard]] Result<EngineLocation> locate(std::string_view name) const;
  /// The folders where locate() looks for the runtime of an engine, in its order; empty if it needs none.
  [[nodiscard]] std::vector<std::filesystem::path> searched_folders(const EngineEntry& engine) const;
  /// The program that an engine's runtime_cache names: beside its engine.json, or beside the worker.
  [[nodiscard]] std::filesystem::path converter(const EngineEntry& engine) const;
  [[nodiscard]] const Places& places() const { return places_; }

 private:
  void add_folder(const std::filesystem::path& folder);
  void add_folders_in(const std::filesystem::path& folder, bool expected);
  Places places_;
  std::vector<EngineEntry> entries_;
  std::vector<Error> problems_;
};

}  // namespace assay
