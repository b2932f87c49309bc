// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "engine/engine_types.hpp"

namespace assay {

/// Where to find what a worker loads.
struct EngineLocation {
  std::string engine;            ///< "onnxruntime"
  std::filesystem::path plugin;  ///< the plug-in's .so
  std::filesystem::path home;    ///< the folder with the runtime's library; empty: it needs none
  std::string version{};         ///< of the runtime as its files tell, without loading it; may be empty
  std::string found_by{};        ///< which rule found it: "ASSAY_ONNXRUNTIME_HOME", "assay's own folder",
                                 ///< "site-packages", "system libraries", "built in"
};

/// What assay knows of an engine before looking for it: data, one entry per engine (docs/engines.md).
struct EngineEntry {
  std::string name;                    ///< "onnxruntime"
  std::vector<std::string> hardware;   ///< words it can serve, e.g. {"cpu", "cuda", "openvino"}
  std::vector<std::string> formats;    ///< "onnx", "xml"
  std::string home_variable;           ///< ASSAY_ONNXRUNTIME_HOME
  std::string how_to_get;              ///< the command that installs it; empty when there is none
  bool built = false;                  ///< part of this assay; others answer not_built
  std::string library{};               ///< "libonnxruntime.so", to which versions are appended; empty: needs none
  std::string package{};               ///< its folder in site-packages
  std::vector<std::string> folders{};  ///< where the library lies in `package`, in a home or in a distribution
};

class EngineRegistry {
 public:
  struct Places {
    std::filesystem::path plugins;  ///< folder with assay_engine_<name>.so
    std::filesystem::path deps;     ///< assay's own environment folder
    std::vector<std::filesystem::path> site_packages;
    std::filesystem::path worker;  ///< assay-worker
    std::vector<std::filesystem::path> system_libraries{};
    std::map<std::string, std::filesystem::path> homes{};  ///< engine -> ASSAY_<ENGINE>_HOME
  };
  /// Looks beside the running program and in the environment (ASSAY_PLUGIN_DIR, ASSAY_DEPS_DIR, ASSAY_<ENGINE>_HOME).
  [[nodiscard]] static Places default_places();
  explicit EngineRegistry(Places places);

  /// Every engine assay knows of, built or not, in order of preference.
  [[nodiscard]] const std::vector<EngineEntry>& entries() const { return entries_; }
  [[nodiscard]] const EngineEntry* entry(std::string_view name) const;
  /// Finds the runtime's files without loading it, in this order: $ASSAY_<ENGINE>_HOME, assay's own folder
  /// (deps/<engine>, deps/<engine>-<version>), Python site-packages, system libraries. `name` may carry a version,
  /// "onnxruntime@1.24.1" or a leading part of it ("@1.24"): then only that one counts; else the first found, the
  /// newest of several in one place.
  /// Errors: not_found (an unknown name, with those known; a known engine that is not installed: where it was looked
  /// for and how to get it), unsupported (known, not built into this assay).
  [[nodiscard]] Result<EngineLocation> locate(std::string_view name) const;
  [[nodiscard]] const Places& places() const { return places_; }

 private:
  Places places_;
  std::vector<EngineEntry> entries_;
};

}  // namespace assay
