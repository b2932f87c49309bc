// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/cli/cache_folder.hpp"
#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measuring_options.hpp"
#include "core/base/text.hpp"
#include "models/hub/hub.hpp"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct CacheOptions {
  std::string db_path, spool;
  std::string output_format = "text";
};

struct Place {
  std::string what;
  fs::path path;
  std::string meaning;
};

// Bytes of a file or of all files below a folder; links are not followed.
std::uint64_t size_of(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return fs::file_size(path, ignored);
  std::uint64_t bytes = 0;
  for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, ignored), end;
       !ignored && it != end; it.increment(ignored)) {
    std::error_code gone;
    if (!it->is_symlink(gone) && it->is_regular_file(gone)) bytes += it->file_size(gone);
  }
  return bytes;
}

std::vector<Place> places(const CacheOptions& options) {
  const fs::path cache = CacheFolder::usual_place();
  const fs::path database = database_path(options.db_path);
  std::vector<Place> places;
  if (!cache.empty())
    places = {{"references", cache / "references", "cached outputs of reference runs"},
              {"inputs", cache / "inputs", "input files, converted to the format that workers read"},
              {"models", cache / "models", "models of a run, which are removed after their last cell"},
              {"rates", cache / "machine_rates.json", "speed of this machine, for 30 days; sizes are chosen by it"}};
  if (const fs::path hub = hub::settings_from_environment().cache; !hub.empty())
    places.push_back({"checkpoints", hub, "downloads from Hugging Face; its own tools use the same folder"});
  places.push_back({"database", database, "the results, not a cache"});
  places.push_back({"bundles", spool_path(options.spool, database), "all samples, not a cache"});
  return places;
}

Result<ExitCode> cache(const CacheOptions& options, const Context& context) {
  const fs::path folder = CacheFolder::usual_place();
  Json list = Json::array();
  for (const Place& place : places(options)) {
    const std::uint64_t bytes = size_of(place.path);
    if (context.json)
      list.push_back(
          {{"what", place.what}, {"path", place.path.string()}, {"bytes", bytes}, {"meaning", place.meaning}});
    else
      std::printf("%-12s %9.1f MB  %s\n%-12s               %s\n", place.what.c_str(), static_cast<double>(bytes) / 1e6,
                  escape_bytes(place.path.string()).c_str(), "", place.meaning.c_str());
  }
  if (context.json) {
    print_document({{"cache", folder.empty() ? Json(nullptr) : Json(folder.string())}, {"places", std::move(list)}});
  } else if (folder.empty()) {
    std::printf("\nThere is no cache folder, because HOME is not set. To use one, set ASSAY_CACHE_DIR to its path.\n");
  } else {
    std::printf(
        "\nWhile assay is not running, the cache may be removed: rm -r '%s'\nTo use another folder for it, set "
        "ASSAY_CACHE_DIR.\n",
        escape_bytes(folder.string()).c_str());
  }
  return ExitCode::kSuccess;
}

}  // namespace

void register_cache(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App* command =
      app.add_subcommand("cache", "Show the folders that assay writes to, and their sizes")->group(kResultCommands);
  add_storage_options(*command, options->db_path, options->spool);
  add_output_format(*command, options->output_format);
  commands.add(command, [options](Context& context) { return cache(*options, context); });
}

}  // namespace assay::cli
