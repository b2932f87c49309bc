// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "models/graph/view.hpp"
#include "models/onnx/onnx_tensor.hpp"

namespace assay::graph {

/// What a Model and its copies share.
struct Model::State {
  explicit State(OnnxFile opened) : file(std::move(opened)) {}

  /// The file's mapping, opened when it is first needed.
  [[nodiscard]] Result<std::shared_ptr<const MappedFile>> external_file(const std::filesystem::path& path) const;

  /// The external data of the constants that are not initialisers of the main graph.
  [[nodiscard]] std::vector<ExternalRange> inner_external() const;

  OnnxFile file;
  std::vector<CheckedTensor> tensors{};  ///< all: the main graph's initialisers first; Constant::place_ is an index
  std::size_t initializers = 0;          ///< number of the main graph's initialisers
  Graph graph{};
  std::vector<Function> functions{};
  std::map<std::string, std::int64_t, std::less<>> opsets{};

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::filesystem::path, std::shared_ptr<const MappedFile>> external_;
};

}  // namespace assay::graph
