// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "models/graph/specialise.hpp"
#include "models/hub/hub.hpp"
#include "models/inputs/given_shapes.hpp"

namespace assay {

struct ZooSpecialiseRequest {
  std::string model;          ///< a name, a folder or an .onnx file
  std::string model_class{};  ///< class of the built model
  std::string size{};         ///< size of the built model; "": the size that the name stands for
  std::uint64_t seed = 0;     ///< seed of random weights
  bool allow_random_weights = false;
  std::string precision = "float32";  ///< precision of the built model
  std::filesystem::path output{};
  std::optional<std::int64_t> batch{};  ///< nullopt: that of the file if it is fixed, else 1
  std::int64_t sequence = 128;
  bool cuts_sequence = false;  ///< `sequence` is a default: a model with fewer positions gets those that it has
  std::optional<std::int64_t> positions{};        ///< number of positions of the model, if the file does not state it
  std::map<std::string, std::int64_t> extents{};  ///< extents of other symbols; the key is the symbol or a part of it
  GivenShapes given{};                            ///< shapes of inputs and extents of symbols, by name
  /// Inputs that become constants: an .npy, or integers joined by commas, as many as the input has elements at these
  /// extents, or one for all of them.
  std::map<std::string, std::string> constants{};
};

struct ZooSpecialised {
  SpecialisedModel model;
  std::vector<std::pair<std::string, Shape>> shapes;  ///< name and shape of each input
};

/// `assay zoo specialise`: builds the model if necessary and writes it for one set of shapes, those of make_inputs().
/// If it fails, an older `output` is not changed. Errors: those of build_by_name, inspect_graph, make_inputs and
/// specialise; invalid_argument: a constant that is not an input, or has no valid values; unsupported for formats that
/// assay does not read.
[[nodiscard]] Result<ZooSpecialised> specialise_by_name(const ZooSpecialiseRequest& request, hub::Hub& hub,
                                                        const Cancelled& cancelled);

/// The inputs of a model file at the extents of `request`: those that stay, with their shapes, and the constants. Logs
/// that the sequence was cut.
/// Errors: those of inspect_graph and make_inputs; invalid_argument: a constant or an extent that no input has.
[[nodiscard]] Result<SpecialiseRequest> extents_for(const std::filesystem::path& file,
                                                    const ZooSpecialiseRequest& request);

}  // namespace assay
