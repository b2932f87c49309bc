// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/runtime_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <system_error>

#include "core/base/text.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    paths.push_back(it->path());
  std::ranges::sort(paths);
  return paths;
}

/// "1.9.2" before "1.24.1": digits compare as numbers.
bool older(std::string_view a, std::string_view b) {
  const auto parts = [](std::string_view version) {
    std::vector<std::pair<long, std::string>> list;
    for (const auto& part : split(version, '.')) list.emplace_back(parse_number<long>(part).value_or(-1), part);
    return list;
  };
  return parts(a) < parts(b);
}

/// What follows `stem` in a file name: "1.31.1" of libonnxruntime.so.1.31.1; nullopt if it is not a version of it.
std::optional<std::string> suffix_version(const std::string& name, const std::string& stem) {
  if (!name.starts_with(stem)) return std::nullopt;
  const std::string rest = name.substr(stem.size());
  if (rest.empty()) return "";
  if (rest.size() < 2 || rest[0] != '.' || std::isdigit(static_cast<unsigned char>(rest[1])) == 0) return std::nullopt;
  return rest.substr(1);
}

/// The version in "onnxruntime_gpu-1.24.1.dist-info" beside a package's folder. Several wheels may use the same folder;
/// the one with the name of the package has priority.
std::string wheel_version(const fs::path& site, const std::string& package) {
  std::string found;
  for (const fs::path& path : entries_of(site)) {
    const std::string name = path.filename().string();
    const auto dash = name.find('-');
    if (!name.ends_with(".dist-info") || !name.starts_with(package) || dash == name.npos) continue;
    std::string version = name.substr(dash + 1, name.size() - dash - 1 - std::string_view(".dist-info").size());
    if (dash == package.size()) return version;
    if (name[package.size()] == '_') found = version;
  }
  return found;
}

struct Candidate {
  fs::path home;
  std::string version;
};

/// The newest version of the engine's library in one of its folders under `root`.
std::optional<Candidate> library_in(const EngineEntry& entry, const fs::path& root) {
  std::vector<fs::path> places{root};
  for (const std::string& folder : entry.folders) places.push_back(root / folder);
  for (const fs::path& place : places) {
    std::optional<Candidate> best;
    for (const fs::path& file : entries_of(place)) {
      const auto version = suffix_version(file.filename().string(), entry.library);
      if (version && (!best || older(best->version, *version))) best = Candidate{place, *version};
    }
    if (best) return best;
  }
  return std::nullopt;
}

/// A folder with the structure of site-packages: <package>/… with <package>-<version>.dist-info beside it.
std::optional<Candidate> package_in(const EngineEntry& entry, const fs::path& site) {
  if (entry.package.empty()) return std::nullopt;
  auto found = library_in(entry, site / entry.package);
  if (!found) return std::nullopt;
  const std::string wheel = wheel_version(site, entry.package);
  if (!wheel.empty()) found->version = wheel;
  return found;
}

/// A folder that may be either: an unpacked wheel, or a distribution with lib/. Its own name may contain the version.
std::optional<Candidate> folder_of_either_kind(const EngineEntry& entry, const fs::path& folder) {
  auto found = package_in(entry, folder);
  if (!found) found = library_in(entry, folder);
  if (!found) return std::nullopt;
  const std::string name = folder.filename().string();
  if (name.starts_with(entry.name + "-")) found->version = name.substr(entry.name.size() + 1);
  return found;
}

bool matches(const std::string& version, const std::string& wanted) {
  return wanted.empty() || version == wanted || version.starts_with(wanted + ".");
}

struct Search {
  const EngineEntry& entry;
  const std::string& wanted;
  std::vector<std::string> looked{};  ///< searched folders, for the message
  std::vector<std::string> others{};  ///< other versions that were found

  /// The newest matching version of one rule.
  std::optional<Candidate> newest(const std::vector<std::optional<Candidate>>& found) {
    std::optional<Candidate> best;
    for (const auto& candidate : found) {
      if (!candidate) continue;
      if (!matches(candidate->version, wanted)) {
        others.push_back(candidate->version);
      } else if (!best || older(best->version, candidate->version)) {
        best = candidate;
      }
    }
    return best;
  }
};

std::optional<Candidate> in_own_folder(Search& search, const fs::path& deps) {
  if (deps.empty()) return std::nullopt;
  const EngineEntry& entry = search.entry;
  search.looked.push_back((deps / entry.name).string());
  // The version that set-up pinned has the plain name and is first; others have the version in their name.
  if (auto pinned = search.newest({folder_of_either_kind(entry, deps / entry.name)})) return pinned;
  std::vector<std::optional<Candidate>> found;
  for (const fs::path& path : entries_of(deps)) {
    if (path.filename().string().starts_with(entry.name + "-")) found.push_back(folder_of_either_kind(entry, path));
  }
  return search.newest(found);
}

std::optional<Candidate> in_each(Search& search, const std::vector<fs::path>& folders, bool packages) {
  std::vector<std::optional<Candidate>> found;
  for (const fs::path& folder : folders) {
    search.looked.push_back(folder.string());
    found.push_back(packages ? package_in(search.entry, folder) : library_in(search.entry, folder));
    // Site-packages are in Python's own order, where the first one wins; so it does here unless a version is requested.
    if (search.wanted.empty() && found.back()) break;
  }
  return search.newest(found);
}

// A machine may have a dozen Pythons.
std::string looked_words(std::vector<std::string> folders) {
  constexpr std::size_t kMost = 3;
  const std::size_t more = folders.size() - std::min(folders.size(), kMost);
  folders.resize(folders.size() - more);
  const std::string words = join(folders, ", ");
  return more == 0 ? words : fmt::format("{} and {} more of Python's and the system's folders", words, more);
}

}  // namespace

std::string install_command(const EngineEntry& engine, const fs::path& deps, const std::string& version) {
  if (engine.package.empty() || (version.empty() && !engine.how_to_get.empty())) return engine.how_to_get;
  const std::string what = version.empty() ? engine.package : engine.package + "==" + version;
  if (deps.empty()) return "pip install " + what;
  // A checkout's own set-up, whose versions are pinned.
  const fs::path checkout = deps.parent_path();
  std::error_code ignored;
  if (version.empty() && fs::exists(checkout / "engines" / engine.name / "setup", ignored) &&
      fs::exists(checkout / "setup" / "fetch", ignored))
    return fmt::format("{} {}", (checkout / "setup" / "fetch").string(), engine.name);
  const std::string folder = version.empty() ? engine.name : engine.name + "-" + version;
  return fmt::format("pip install --no-deps --target {} {}", (deps / folder).string(), what);
}

Result<RuntimeLocation> find_runtime(const EngineEntry& engine, const std::string& version,
                                     const RuntimePlaces& places) {
  Search search{engine, version};
  std::string found_by;
  std::optional<Candidate> found;
  if (!places.home.empty()) {
    search.looked.push_back(places.home.string());
    found = search.newest({folder_of_either_kind(engine, places.home)});
    found_by = engine.home_variable();
    // The variable has priority over everything else, unless a version is requested that is in another folder.
    if (!found && version.empty())
      return fail(ErrorCode::kNotFound, fmt::format("{} is '{}', but there is no {} there", engine.home_variable(),
                                                    places.home.string(), engine.library));
  }
  if (!found) {
    found = in_own_folder(search, places.deps);
    found_by = "assay's own folder";
  }
  if (!found) {
    found = in_each(search, places.site_packages, true);
    found_by = "site-packages";
  }
  if (!found) {
    found = in_each(search, places.system_libraries, false);
    found_by = "system libraries";
  }
  if (found) return RuntimeLocation{found->home, found->version, found_by};
  const std::string which = version.empty() ? engine.name : engine.name + " " + version;
  const std::string seen = search.others.empty() ? "" : fmt::format("; there is {}", join(search.others, ", "));
  const std::string command = install_command(engine, places.deps, version);
  const std::string or_set = fmt::format("set {} to the folder that has it", engine.home_variable());
  return fail(
      ErrorCode::kNotFound,
      fmt::format("{} is not installed: no {} in {}{}", which, engine.library, looked_words(search.looked), seen),
      command.empty() ? or_set : fmt::format("`{}` installs it, or {}", command, or_set));
}

}  // namespace assay
