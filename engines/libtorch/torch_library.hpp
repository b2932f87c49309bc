// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <assay/result.hpp>

/// Looks at an installed libtorch before anything of it is loaded. Links no libtorch.
namespace assay::plugin {

inline constexpr const char* kInstallTorch = "`setup/fetch libtorch` installs it whole";

/// The version of the libtorch whose libraries are in `home`: from version.py of Python's package, or from the file
/// build-version of the C++ distribution, in the folder above. "2.15.0+cu132". Errors: not_found, naming the files.
[[nodiscard]] Result<std::string> torch_version(const std::filesystem::path& home);

/// Errors: incompatible_plugin, with both versions: the C++ interface of libtorch has other symbols in each minor
/// release.
[[nodiscard]] Status check_torch_version(const std::string& installed, const std::string& built_for,
                                         const std::filesystem::path& home);

}  // namespace assay::plugin
