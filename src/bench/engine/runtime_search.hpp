// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/traits/engine_entry.hpp"

namespace assay {

/// The folders of runtimes.
struct RuntimePlaces {
  std::filesystem::path home;  ///< the value of ASSAY_<ENGINE>_HOME; empty: not set
  std::filesystem::path deps;  ///< assay's folder of downloads; empty: there is none
  std::vector<std::filesystem::path> site_packages;
  std::vector<std::filesystem::path> system_libraries;
};

/// A runtime's files.
struct RuntimeLocation {
  std::filesystem::path home;  ///< the folder with its library
  std::string version;         ///< version found in its files; may be empty
  std::string found_by;        ///< "ASSAY_ONNXRUNTIME_HOME", "assay's own folder", "site-packages", "system libraries"
};

/// Finds the files of an engine's runtime without loading it. `version` is empty, or "1.24.1", or a leading part of it.
/// Errors: not_found, with the searched folders, the versions that exist and the command that installs it.
[[nodiscard]] Result<RuntimeLocation> find_runtime(const EngineEntry& engine, const std::string& version,
                                                   const RuntimePlaces& places);

/// The command that installs a version of the engine's runtime (empty: any) where assay finds it; may be empty.
[[nodiscard]] std::string install_command(const EngineEntry& engine, const std::filesystem::path& deps,
                                          const std::string& version);

}  // namespace assay
