// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "models/hub/hub.hpp"
#include "models/model/names.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {

/// What the zoo builds a model from: a configuration and perhaps weights.
struct ZooSource {
  Json config;
  std::string model_class{};  ///< "": the configuration's own
  std::optional<std::filesystem::path> weights{};
  std::string model_id{};      ///< a Hugging Face id, or the folder
  std::string architecture{};  ///< set if the zoo knows it by name
  std::string family{}, category{};
  std::string size{};    ///< "as_is" if it is not a checkpoint of the zoo
  std::string note{};    ///< why the weights are not the published ones, if they could have been
  bool planned = false;  ///< known by name, not built yet: only the names above are set
};

/// A checkpoint that the zoo knows, with random weights.
[[nodiscard]] ZooSource zoo_source(const zoo::KnownModel& known);

/// Finds it for a folder with config.json or a name: an architecture or a name of the zoo, then a Hugging Face id
/// in the local cache, on the hub, among the checkpoints that the zoo knows (docs/zoo.md, "Names").
///
/// An id without its weights is an error, because random weights would be measured in their place. Two cases are
/// not: the hub has no safetensors for it; or there is no network, and the zoo knows the checkpoint. With
/// `allow_random_weights` every known checkpoint gets random weights, and so does an id whose configuration is in the
/// cache or was fetched. `note` says why the weights are random.
/// Errors: invalid_argument or not_found: an unknown name, a configuration that cannot be read; unsupported: several
/// files of the hub may be the weights, names them; those of hub::Hub::get.
[[nodiscard]] Result<ZooSource> find_zoo_source(const ModelReference& reference, hub::Hub& hub,
                                                bool allow_random_weights);

/// The checkpoint of the same architecture and class with another published size; "tiny" exists for every architecture.
/// `named` itself if it has that size, if `size` is "", or if it has no size: a folder, or a checkpoint that the zoo
/// does not know. Errors: unsupported; names the sizes that there are.
[[nodiscard]] Result<ZooSource> source_of_size(const ZooSource& named, const std::string& size);

}  // namespace assay
