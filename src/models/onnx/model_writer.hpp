// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/base/files.hpp"
#include "core/tensor/tensor.hpp"
#include "models/onnx/external_range.hpp"

namespace assay {

class OnnxFile;

/// A value's type as the new file declares it.
struct DeclaredValue {
  std::string name;
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape{};  ///< nullopt: the new file declares what the old one does
};

/// A tensor that the new file has and the old one does not.
struct AddedConstant {
  std::string name;
  DType dtype = DType::kUndefined;
  Shape shape;
  std::string bytes;  ///< packed
};

/// An Identity node.
struct AddedCopy {
  std::string name, from, to;
};

/// Which parts of a model's file another file gets, and what it gets in addition. Nodes and tensors are named by their
/// places in the graph. All other parts are copied, except inputs, outputs and value_info.
struct ModelParts {
  std::vector<std::size_t> nodes;
  std::vector<bool> initializers;         ///< one for each
  std::vector<bool> sparse_initializers;  ///< one for each
  std::vector<ExternalRange> external;    ///< the data outside the file that the kept tensors need
  std::vector<DeclaredValue> inputs, outputs, values;
  std::vector<AddedCopy> copies;  ///< come before the kept nodes
  std::vector<AddedConstant> constants;
};

/// Writes the parts: what is kept is copied byte by byte. The file gets IR version 4 or newer, because older files must
/// list initialisers as inputs, and operator set 1 if it imports none of ONNX's own. Puts the external data beside
/// `output` (see specialise()), and replaces `output` when the new file is complete. Not synced to disk: it can be made
/// again.
/// Errors: invalid_argument (2 GiB or more, the folder cannot be written, another file is where the data belong),
/// internal (disk full).
[[nodiscard]] Status write_parts(const OnnxFile& file, const ModelParts& parts, const std::filesystem::path& output);

/// A node of another file: one of the old file by its place, or a new one in its encoded form.
struct WrittenNode {
  std::optional<std::size_t> place{};
  std::string encoded{};
};

/// Writes a copy that has other nodes and some more constants; `typed`: the declared types of values between inputs
/// and outputs still hold. Places of the data and errors: as in write_parts().
[[nodiscard]] Status write_nodes(const OnnxFile& file, const std::vector<WrittenNode>& nodes,
                                 const std::vector<AddedConstant>& constants, bool typed,
                                 const std::vector<ExternalRange>& external, const std::filesystem::path& output);

}  // namespace assay
