// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/checkpoint.hpp"

#include <fmt/format.h>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"

namespace assay::zoo {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

Result<fs::path> locate(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  if (!fs::exists(path, ignored)) {
    return fail(ErrorCode::kNotFound, fmt::format("no weights at '{}'", path.string()), "check the path");
  }
  for (const char* name : {kSingle, kIndex}) {
    if (fs::is_regular_file(path / name, ignored)) return path / name;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("pytorch_model") && name.ends_with(".bin")) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("'{}' is a pickle, which assay does not read", entry.path().string()),
                  "convert it with transformers: AutoModel.from_pretrained(DIR).save_pretrained(DIR)");
    }
  }
  return fail(ErrorCode::kNotFound, fmt::format("'{}' has neither {} nor {}", path.string(), kSingle, kIndex));
}

/// file → names of the tensors wanted from it.
Result<std::map<std::string, std::set<std::string>>> read_index(const fs::path& path) {
  ASSAY_TRY(const Json index, read_json(path));
  const auto broken = [&](const std::string& why) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}': {}", path.string(), why));
  };
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return broken("there is no object weight_map");
  }
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string()) return broken(fmt::format("weight_map['{}'] is not a file name", sanitise(tensor)));
    const fs::path name = file.get<std::string>();
    if (name.empty() || name != name.filename() || name == "..") {
      return broken(
          fmt::format("weight_map['{}'] = '{}' lies outside the folder", sanitise(tensor), sanitise(name.string())));
    }
    shards[name.string()].insert(tensor);
  }
  return shards;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const fs::path& given, const Architecture& architecture) {
  ASSAY_TRY(const fs::path path, locate(given));
  Checkpoint checkpoint;
  checkpoint.prefix_ = architecture.base_prefix + ".";
  checkpoint.renames_ = architecture.renames;

  const bool sharded = path.extension() == ".json";
  std::map<std::string, std::set<std::string>> shards{{path.filename().string(), {}}};
  if (sharded) {
    ASSAY_TRY(shards, read_index(path));
  }
  for (const auto& [file_name, wanted] : shards) {
    const fs::path file_path = path.parent_path() / file_name;
    ASSAY_TRY(SafetensorsFile file, SafetensorsFile::open(file_path));
    for (const std::string& name : sharded ? std::vector<std::string>(wanted.begin(), wanted.end()) : file.names()) {
      ASSAY_TRY(TensorView view, file.tensor(name));
      const std::string key = checkpoint.canonical(name);
      const auto [at, added] = checkpoint.canonical_to_name_.emplace(key, name);
      if (!added) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("tensors '{}' and '{}' are the same parameter", sanitise(at->second), sanitise(name)));
      }
      checkpoint.tensors_.emplace(key, std::move(view));
    }
    checkpoint.paths_.push_back(file_path);
    checkpoint.files_.push_back(std::move(file));
  }
  return checkpoint;
}

const TensorView* Checkpoint::find(const std::string& parameter) const {
  const auto found = tensors_.find(canonical(parameter));
  return found == tensors_.end() ? nullptr : &found->second;
}

std::vector<std::string> Checkpoint::names() const {
  std::set<std::string> sorted;
  for (const auto& [key, name] : canonical_to_name_) sorted.insert(name);
  return {sorted.begin(), sorted.end()};
}

std::string Checkpoint::canonical(const std::string& name) const {
  std::string result = name.starts_with(prefix_) ? name.substr(prefix_.size()) : name;
  for (const auto& [from, to] : renames_) {
    if (const std::size_t at = result.find(from); at != std::string::npos) result.replace(at, from.size(), to);
  }
  return result;
}

Result<std::string> Checkpoint::hash(const Cancelled& cancelled) const {
  Sha256 sha;
  for (const fs::path& path : paths_) {
    ASSAY_TRY(const MappedFile file, MappedFile::open(path));
    ASSAY_CHECK_OK(sha.update(file.bytes(), cancelled));
  }
  return sha.hex();
}

}  // namespace assay::zoo
