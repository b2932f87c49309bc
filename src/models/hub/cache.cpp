// SPDX-License-Identifier: Apache-2.0
#include "models/hub/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace assay::hub {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

constexpr std::string_view kSafetensors = ".safetensors", kIndexEnd = ".safetensors.index.json";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// "model-00001-of-00002.safetensors"
bool is_shard(std::string_view name) {
  constexpr std::string_view kForm = "-00000-of-00000";
  name.remove_suffix(kSafetensors.size());
  if (name.size() < kForm.size()) return false;
  return std::ranges::equal(name.substr(name.size() - kForm.size()), kForm,
                            [](char c, char form) { return form == '0' ? c >= '0' && c <= '9' : c == form; });
}

fs::path choice_file(const fs::path& model, const std::string& commit) {
  return model / ".assay" / (commit + ".weights");
}

// What keep_choice() kept; "" if nothing, or not the name of such a file.
std::string kept_choice(const fs::path& model, const std::string& commit) {
  const fs::path path = choice_file(model, commit);
  if (!is_there(path)) return "";
  const Result<std::string> text = read_file(path);
  const std::string name = text ? std::string(trim(*text)) : "";
  return fs::path(name).filename() == name && (name.ends_with(kSafetensors) || name.ends_with(kIndexEnd)) ? name : "";
}

// The file itself; an index with every shard there.
std::optional<fs::path> if_complete(const fs::path& weights) {
  if (!is_there(weights)) return std::nullopt;
  if (!weights.string().ends_with(kIndexEnd)) return weights;
  const Result<std::vector<std::string>> shards = shards_of(weights);
  if (!shards || shards->empty()) return std::nullopt;
  if (!std::ranges::all_of(*shards, [&](const std::string& shard) { return is_there(weights.parent_path() / shard); }))
    return std::nullopt;
  return weights;
}

}  // namespace

fs::path model_folder(const Settings& settings, const std::string& model_id) {
  return settings.cache / ("models--" + join(split(model_id, '/'), "--"));
}

Status link_blob(const fs::path& model, const std::string& commit, const std::string& file,
                 const std::string& checksum) {
  const fs::path link = model / "snapshots" / commit / file;
  const fs::path target = fs::path("../../blobs") / checksum;
  ASSAY_CHECK_OK(make_directories(link.parent_path()));
  std::error_code error;
  if (fs::read_symlink(link, error) == target) return {};
  // Made beside it and renamed: who reads meanwhile sees the old link or the new one.
  const fs::path fresh = link.string() + ".new";
  fs::remove(fresh, error);
  fs::create_symlink(target, fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (error)
    return fail(ErrorCode::kInternal, fmt::format("cannot create the link '{}': {}", link.string(), error.message()));
  return {};
}

Result<std::vector<std::string>> shards_of(const fs::path& index) {
  ASSAY_TRY(const Json json, read_json(index));
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object())
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no object \"weight_map\"", index.string()));
  std::set<std::string> shards;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || fs::path(file.get<std::string>()).filename() != file.get<std::string>() ||
        !file.get<std::string>().ends_with(".safetensors"))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}': the tensor '{}' is in {}, expected the name of a .safetensors beside the index",
                              index.string(), sanitise(tensor), sanitise(file.dump())));
    shards.insert(file.get<std::string>());
  }
  return std::vector<std::string>(shards.begin(), shards.end());
}

WeightsChoice choose_weights(std::vector<std::string> files) {
  std::ranges::sort(files);
  WeightsChoice choice;
  std::vector<std::string> candidates;
  for (const std::string& file : files) {
    const bool index = file.ends_with(kIndexEnd), single = file.ends_with(kSafetensors);
    if (single) choice.found.push_back(file);
    if (file.find('/') == std::string::npos && (index || (single && !is_shard(file)))) candidates.push_back(file);
  }
  for (const char* usual : {kSingle, kIndex})
    if (choice.name.empty() && std::ranges::binary_search(candidates, usual)) choice.name = usual;
  if (choice.name.empty() && candidates.size() == 1) choice.name = candidates.front();
  return choice;
}

bool has_usual_name(const fs::path& weights) { return weights.filename() == kSingle || weights.filename() == kIndex; }

std::optional<fs::path> find_weights(const fs::path& snapshot) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(snapshot, error), end; !error && at != end; at.increment(error))
    if (is_there(at->path())) files.push_back(at->path().filename().string());
  const std::string name = choose_weights(std::move(files)).name;
  return name.empty() ? std::nullopt : if_complete(snapshot / name);
}

Status keep_choice(const fs::path& model, const std::string& commit, const std::string& weights) {
  if (has_usual_name(weights)) return {};
  return write_file_atomically(choice_file(model, commit), weights);
}

std::optional<Snapshot> find_cached(const Settings& settings, const std::string& model_id) {
  if (settings.cache.empty()) return std::nullopt;
  const fs::path model = model_folder(settings, model_id);
  const fs::path reference = model / "refs" / "main";
  if (!is_there(reference)) return std::nullopt;
  const Result<std::string> text = read_file(reference);
  if (!text) return std::nullopt;
  Snapshot snapshot;
  snapshot.commit = trim(*text);
  if (snapshot.commit.empty() || fs::path(snapshot.commit).filename() != snapshot.commit) return std::nullopt;
  snapshot.folder = model / "snapshots" / snapshot.commit;
  if (!is_there(snapshot.folder / "config.json")) return std::nullopt;
  const std::string choice = kept_choice(model, snapshot.commit);
  snapshot.weights = choice.empty() ? find_weights(snapshot.folder) : if_complete(snapshot.folder / choice);
  snapshot.weights_confirmed = snapshot.weights && (!choice.empty() || has_usual_name(*snapshot.weights));
  return snapshot;
}

}  // namespace assay::hub
