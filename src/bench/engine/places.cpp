// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "bench/engine/registry.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// <prefix>/lib/python3.X/<leaf>, newest X first.
void add_python(std::vector<fs::path>& to, const fs::path& prefix, const std::string& leaf) {
  std::vector<std::pair<int, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator it(prefix / "lib", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("python3.")) continue;
    const auto minor = parse_number<int>(std::string_view(name).substr(8));
    if (minor && is_folder(it->path() / leaf)) found.emplace_back(-*minor, it->path() / leaf);
  }
  std::ranges::sort(found);
  for (auto& [minor, path] : found) to.push_back(std::move(path));
}

/// The folders that `import` searches, found without starting Python (that takes 20 ms and may be a wrapper).
std::vector<fs::path> site_packages() {
  std::vector<fs::path> places;
  for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto prefix = variable(environment); !prefix.empty()) add_python(places, prefix, "site-packages");
  }
  for (const std::string& folder : split(variable("PATH"), ':')) {
    std::error_code ignored;
    if (folder.empty() || !fs::exists(fs::path(folder) / "python3", ignored)) continue;
    add_python(places, fs::path(folder).parent_path(), "site-packages");
    break;
  }
  if (const auto home = variable("HOME"); !home.empty()) {
    add_python(places, fs::path(home) / ".local", "site-packages");
    std::error_code error;
    for (fs::directory_iterator it(fs::path(home) / ".pyenv/versions", error), end; !error && it != end;
         it.increment(error))
      add_python(places, it->path(), "site-packages");
  }
  add_python(places, "/usr/local", "dist-packages");
  if (is_folder("/usr/lib/python3/dist-packages")) places.emplace_back("/usr/lib/python3/dist-packages");
  std::set<fs::path> seen;
  std::erase_if(places, [&](const fs::path& path) { return !seen.insert(path).second; });
  return places;
}

std::vector<fs::path> system_libraries() {
  std::vector<fs::path> places;
  for (const std::string& folder : split(variable("LD_LIBRARY_PATH"), ':')) {
    if (!folder.empty()) places.emplace_back(folder);
  }
  for (const char* folder :
       {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    if (is_folder(folder)) places.emplace_back(folder);
  }
  return places;
}

/// .deps beside the checkout that the running program was built in.
fs::path own_folder(const fs::path& program_folder) {
  for (fs::path folder = program_folder; folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_folder(folder / ".deps")) return folder / ".deps";
  }
  return {};
}

/// Every ASSAY_<ENGINE>_HOME that is set.
std::map<std::string, fs::path> homes() {
  std::map<std::string, fs::path> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("ASSAY_") && name.ends_with("_HOME") && name.size() + 1 < text.size())
      found.emplace(name, text.substr(name.size() + 1));
  }
  return found;
}

}  // namespace

fs::path EngineRegistry::own_program(std::string_view name) {
  std::error_code ignored;
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return fs::exists(bin / name, ignored) ? bin / name : bin.parent_path() / "libexec/assay" / name;
}

EngineRegistry::Places EngineRegistry::default_places() {
  std::error_code ignored;
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  Places places;
  const std::string plugins = variable("ASSAY_PLUGIN_DIR"), deps = variable("ASSAY_DEPS_DIR");
  places.plugins = plugins.empty() ? bin.parent_path() / "lib/assay/engines" : fs::path(plugins);
  places.deps = deps.empty() ? own_folder(bin) : fs::path(deps);
  places.site_packages = assay::site_packages();
  places.system_libraries = assay::system_libraries();
  places.worker = own_program("assay-worker");
  for (const std::string& folder : split(variable("ASSAY_ENGINE_PATH"), ':')) {
    if (!folder.empty()) places.engine_folders.push_back(fs::absolute(folder, ignored));
  }
  places.homes = homes();
  return places;
}

}  // namespace assay
