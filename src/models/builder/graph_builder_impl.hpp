// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/builder/graph_builder.hpp"
#include "onnx/onnx-ml.pb.h"

namespace assay {

struct Initializer {
  enum class Origin {
    kWeight,
    kTable,
    kConstant,  ///< small; not written if no node reads it
  };
  std::string name;
  DType dtype = DType::kUndefined;
  Shape shape;
  ByteSource source;
  Origin origin = Origin::kWeight;
};

/// What graph_builder.cpp collects and graph_writer.cpp writes.
struct GraphBuilder::Impl {
  onnx::GraphProto graph;  ///< the graph without its initialisers
  std::int64_t opset = 17;
  std::vector<Initializer> initializers;
  std::set<std::string> initializer_names;
  std::set<std::string> inputs;
  std::map<std::string, std::size_t> node_names;
  std::vector<std::pair<std::string, Extents>> outputs;
  std::map<std::string, std::string> renamed;  ///< value → the output it is
  std::map<std::tuple<DType, Shape, std::string>, std::string> constants;
  std::map<std::string, std::string> metadata;

  std::set<std::string> domains;  ///< domains of operators other than ONNX's own

  Value constant(DType dtype, const Shape& shape, std::string bytes);
  Value named(const std::string& name, DType dtype, const Shape& shape, ByteSource source, Initializer::Origin origin);
};

}  // namespace assay
