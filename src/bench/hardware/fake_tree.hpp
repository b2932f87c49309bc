// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A machine made of files, for tests.

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "bench/hardware/host.hpp"
#include "core/base/files.hpp"

namespace assay {

class FakeTree {
 public:
  FakeTree& file(std::string_view absolute, std::string_view content) {
    const auto path = host().path(absolute);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return *this;
  }
  FakeTree& remove(std::string_view absolute) {
    std::filesystem::remove_all(host().path(absolute));
    return *this;
  }
  FakeTree& variable(const std::string& name, const std::string& value) {
    variables_[name] = value;
    return *this;
  }
  [[nodiscard]] Host host() const {
    return Host(folder_.path(), [variables = variables_](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found != variables.end() ? std::optional(found->second) : std::nullopt;
    });
  }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-tree-").value();
  std::map<std::string, std::string> variables_;
};

}  // namespace assay
