// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "models/hub/hub.hpp"

namespace assay::hub {
namespace fs = std::filesystem;
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// As huggingface_hub reads flags.
bool is_true(const std::string& value) {
  const std::string word = lower(value);
  return word == "1" || word == "on" || word == "yes" || word == "true";
}

fs::path home_folder() {
  if (std::string home = variable("HF_HOME"); !home.empty()) return home;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "huggingface";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "huggingface";
}

}  // namespace

Settings settings_from_environment() {
  Settings settings;
  settings.endpoint = variable("HF_ENDPOINT");
  if (settings.endpoint.empty()) settings.endpoint = "https://huggingface.co";
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  settings.cache = variable("HF_HUB_CACHE");
  // Without a home there is no cache: a relative path would be one in the working folder.
  const fs::path home = home_folder();
  if (settings.cache.empty() && !home.empty()) settings.cache = home / "hub";
  settings.offline = is_true(variable("HF_HUB_OFFLINE"));
  settings.token = variable("HF_TOKEN");
  if (settings.token.empty()) {
    fs::path path = variable("HF_TOKEN_PATH");
    if (path.empty() && !home.empty()) path = home / "token";
    std::error_code error;
    if (!path.empty() && fs::exists(path, error)) {
      if (const Result<std::string> text = read_file(path)) settings.token = trim(*text);
    }
  }
  return settings;
}

bool is_model_id(const std::string& name) {
  const std::vector<std::string> parts = split(name, '/');
  return parts.size() == 2 && std::ranges::all_of(parts, [](const std::string& part) {
           return !part.empty() && part.size() <= 96 && part.front() != '.' && part.front() != '-' &&
                  part.find("..") == std::string::npos && part.find("--") == std::string::npos &&
                  std::ranges::all_of(
                      part, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
         });
}

}  // namespace assay::hub
