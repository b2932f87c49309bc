// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/hub/hub.hpp"

namespace assay::hub {

// The cache's layout is huggingface_hub's:
//   models--ORG--NAME/refs/main                 the commit that "main" was
//   models--ORG--NAME/blobs/CHECKSUM            a file's content, CHECKSUM.incomplete while it arrives
//   models--ORG--NAME/snapshots/COMMIT/FILE     a link to its blob
// and, of assay only:
//   models--ORG--NAME/.assay/COMMIT.weights     the name of the weights by the hub's list, if it is not a usual one

[[nodiscard]] std::filesystem::path model_folder(const Settings& settings, const std::string& model_id);

/// Links FILE of a snapshot to its blob.
[[nodiscard]] Status link_blob(const std::filesystem::path& model, const std::string& commit, const std::string& file,
                               const std::string& checksum);

/// Which of the files of a repository are its weights.
struct WeightsChoice {
  /// model.safetensors, else model.safetensors.index.json, else the only other index or file of safetensors that is in
  /// no folder and no shard; "": there is none, or it is not clear which.
  std::string name{};
  std::vector<std::string> found{};  ///< all files of safetensors, in folders too, sorted
};
[[nodiscard]] WeightsChoice choose_weights(std::vector<std::string> files);

/// Whether the file is model.safetensors or its index: whatever else a repository has, these are its weights.
[[nodiscard]] bool has_usual_name(const std::filesystem::path& weights);

/// The weights in `snapshot`, by choose_weights(); an index with every shard there.
[[nodiscard]] std::optional<std::filesystem::path> find_weights(const std::filesystem::path& snapshot);

/// Keeps which file of the revision `commit` the hub's list says are the weights. Nothing is written for a usual name,
/// which needs no list. Errors: those of writing.
[[nodiscard]] Status keep_choice(const std::filesystem::path& model, const std::string& commit,
                                 const std::string& weights);

/// The shards that an index names, sorted. Errors: invalid_argument: not an index, or a name that leaves the folder.
[[nodiscard]] Result<std::vector<std::string>> shards_of(const std::filesystem::path& index);

}  // namespace assay::hub
