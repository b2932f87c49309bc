// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "bench/engine/runtime_search.hpp"
#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEngineFile = "engine.json";

bool has_engine(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kEngineFile, ignored);
}

Result<EngineEntry> read_engine(const fs::path& folder) {
  ASSAY_TRY(std::string text, read_file(folder / kEngineFile));
  ASSAY_TRY(EngineEntry entry, parse_engine(std::move(text), (folder / kEngineFile).string()));
  const std::string file = (folder / kEngineFile).string();
  if (own_engine(entry.name) != nullptr)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: '{}' is the name of one of assay's own engines", file, entry.name),
                "rename the engine and its plug-in");
  if (!entry.default_for.empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: only assay's own engines are defaults; remove \"default_for\"", file),
                fmt::format("`--engine {}` selects the engine", entry.name));
  entry.folder = folder;
  return entry;
}

}  // namespace

EngineRegistry::EngineRegistry(Places places) : places_(std::move(places)), entries_(own_engines()) {
  for (const fs::path& folder : places_.engine_folders) add_folders_in(folder, true);
  if (!places_.plugins.empty()) add_folders_in(places_.plugins, false);
  sort_engines(std::span(entries_).subspan(own_engines().size()));
  for (EngineEntry& engine : entries_)
    if (engine.built) engine.how_to_get = install_command(engine, places_.deps, "");
}

void EngineRegistry::add_folder(const fs::path& folder) {
  Result<EngineEntry> engine = read_engine(folder);
  if (!engine)
    problems_.push_back(std::move(engine).error());
  else if (entry(engine->name) == nullptr)
    entries_.push_back(std::move(*engine));
}

void EngineRegistry::add_folders_in(const fs::path& folder, bool expected) {
  if (expected && has_engine(folder)) return add_folder(folder);
  std::vector<fs::path> inside;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (has_engine(it->path())) inside.push_back(it->path());
  std::ranges::sort(inside);
  for (const fs::path& each : inside) add_folder(each);
  if (expected && inside.empty())
    problems_.push_back({ErrorCode::kNotFound,
                         fmt::format("ASSAY_ENGINE_PATH has '{}', but there is no engine.json in it or in its folders",
                                     folder.string()),
                         {},
                         {}});
}

std::vector<std::string> EngineRegistry::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const EngineEntry& engine : entries_) names.push_back(engine.name);
  return names;
}

std::vector<std::string> EngineRegistry::built_names() const {
  std::vector<std::string> names;
  for (const EngineEntry& engine : entries_)
    if (engine.built) names.push_back(engine.name);
  return names;
}

tl::unexpected<Error> EngineRegistry::unknown_name(std::string_view word) const {
  auto refused = unknown_word("unknown engine", word, built_names());
  const std::string name = lower(word);
  for (const EngineEntry& engine : entries_)
    if (engine.built && !name.empty() && (name == engine.framework || name == lower(engine.package)))
      refused.value().hint =
          fmt::format("did you mean {}? It runs models with {}", engine.name, engine.framework_title);
  return refused;
}

const EngineEntry* EngineRegistry::entry(std::string_view name) const {
  const std::string_view plain = name.substr(0, name.find('@'));
  const auto found = std::ranges::find(entries_, plain, &EngineEntry::name);
  return found == entries_.end() ? nullptr : &*found;
}

Result<EngineLocation> EngineRegistry::locate(std::string_view name) const {
  const EngineEntry* known = entry(name);
  if (known == nullptr) {
    std::string hint = "known engines: " + join(names(), ", ");
    for (const Error& problem : problems_) hint += "; left out: " + problem.message;
    return fail(ErrorCode::kNotFound, fmt::format("there is no engine '{}'", name), std::move(hint));
  }
  if (!known->built)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the engine '{}' is not part of this version of assay", known->name));
  EngineLocation location{known->name, {}, {}};
  location.plugin =
      (known->folder.empty() ? places_.plugins : known->folder) / fmt::format("assay_engine_{}.so", known->name);
  std::error_code ignored;
  if (!fs::exists(location.plugin, ignored))
    return fail(
        ErrorCode::kNotFound,
        fmt::format("the plug-in of engine {} is missing: there is no '{}'", known->name, location.plugin.string()),
        known->folder.empty() ? fmt::format("`./assay bench --engine {0}` installs its runtime and builds it; in a "
                                            "build without ./assay, build the "
                                            "target assay_engine_{0}, or set ASSAY_PLUGIN_DIR to its folder",
                                            known->name)
                              : "build the plug-in into the folder of its engine.json");
  const auto at = name.find('@');
  const std::string wanted(at == name.npos ? "" : name.substr(at + 1));
  if (known->library.empty()) {
    if (!wanted.empty()) return fail(ErrorCode::kNotFound, fmt::format("engine {} has only one version", known->name));
    location.found_by = "built in";
    return location;
  }
  const auto home = places_.homes.find(known->home_variable());
  ASSAY_TRY(RuntimeLocation runtime, find_runtime(*known, wanted,
                                                  {home == places_.homes.end() ? fs::path() : home->second,
                                                   places_.deps, places_.site_packages, places_.system_libraries}));
  location.home = std::move(runtime.home);
  location.version = std::move(runtime.version);
  location.found_by = std::move(runtime.found_by);
  return location;
}

std::vector<fs::path> EngineRegistry::searched_folders(const EngineEntry& engine) const {
  if (engine.library.empty()) return {};
  std::vector<fs::path> folders;
  if (const auto home = places_.homes.find(engine.home_variable()); home != places_.homes.end())
    folders.push_back(home->second);
  if (!places_.deps.empty()) folders.push_back(places_.deps / engine.name);
  folders.insert(folders.end(), places_.site_packages.begin(), places_.site_packages.end());
  folders.insert(folders.end(), places_.system_libraries.begin(), places_.system_libraries.end());
  return folders;
}

fs::path EngineRegistry::converter(const EngineEntry& engine) const {
  if (!engine.runtime_cache) return {};
  return (engine.folder.empty() ? places_.worker.parent_path() : engine.folder) / engine.runtime_cache->converter;
}

}  // namespace assay
