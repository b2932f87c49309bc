// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

// For tests.
namespace assay::testing {

/// The names in a folder, without hidden ones: a TemporaryDirectory holds its own marker.
inline std::vector<std::string> visible_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const std::string name = entry.path().filename(); !name.starts_with('.')) names.push_back(name);
  return names;
}

}  // namespace assay::testing
