// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace assay {

/// One input or output of a model file. Extents of -1 are dynamic; `symbols` has their names ("batch"; "" for none).
struct ModelValue {
  std::string name{};
  DType dtype = DType::kUndefined;  ///< kUndefined: an output whose type is left to the runtime to infer
  Shape shape{};
  std::vector<std::string> symbols{};
  bool has_rank = true;  ///< false: the shape is unknown, even its rank
  /// For an input that selects rows of constant tables: the number of rows of the smallest table.
  std::optional<std::int64_t> index_limit{};
  std::string made_by{};  ///< operator that computes it, if it is an output
};

/// How a prompt contains its image: `count` tokens of one id.
struct ImagePlaces {
  std::int64_t token = 0;
  std::int64_t count = 0;
};

/// What the check of a model file found, without any runtime. Files of other formats than ONNX give less.
struct ModelInfo {
  std::filesystem::path path;
  std::filesystem::path source{};  ///< the folder of the configuration that it was built from; empty: that of `path`
  std::string format;              ///< "onnx", "pt", "xml"
  std::vector<ModelValue> inputs;  ///< initialisers that older files list as inputs are left out
  std::vector<ModelValue> outputs;
  std::int64_t opset = 0;  ///< version of the default domain; 0 if the model does not import it
  std::string producer;
  /// The number that a file built by the zoo states (assay.parameter_count). Other files: the number of elements of
  /// initialisers of rank 1 and more that are floating, or integers of 8 bits and fewer (quantised weights).
  std::int64_t parameter_count = 0;
  std::uint64_t weight_bytes = 0;  ///< initialisers, external ones included
  std::uint64_t file_bytes = 0;    ///< the file and its external data
  std::string graph_hash;    ///< SHA-256 of the graph with tensors replaced by their shapes, without documentation
  std::string weights_hash;  ///< SHA-256 of all tensors' packed bytes, initialisers first, in file order; the same
                             ///< wherever they are stored (raw_data, float_data, external data)
  std::vector<std::pair<std::string, std::string>> operators;  ///< (domain, op_type), unique, sorted
  std::string metadata_family;                 ///< the metadata property assay.family, which the zoo writes
  std::optional<std::int64_t> max_sequence{};  ///< likewise assay.max_sequence: tokens that its position tables serve
  std::optional<ImagePlaces> image{};          ///< likewise assay.image_token and assay.image_tokens, of each prompt
  std::string metadata_category{}, metadata_task{};  ///< likewise assay.category, assay.task
};

}  // namespace assay
