// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/compare.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {

/// What a test needs of a runtime besides its operators; the first that applies.
enum class NodeTestClass : std::uint8_t {
  kTypes,    ///< strings, 8-bit floats, or types of less than 8 bits
  kControl,  ///< control flow, random numbers, sequences, optional values, training
  kShapes,   ///< shapes, axes, … are inputs (models/graph/shape_operands.hpp)
  kPlain,
};
inline constexpr NodeTestClass kNodeTestClasses[] = {NodeTestClass::kPlain, NodeTestClass::kShapes,
                                                     NodeTestClass::kTypes, NodeTestClass::kControl};
/// "plain", "shapes_as_inputs", "types", "control_flow".
[[nodiscard]] std::string_view to_string(NodeTestClass kind);

/// One of ONNX's operator tests: a folder with model.onnx and test_data_set_0/{input,output}_N.pb.
struct NodeTest {
  std::string name;  ///< the folder's name
  std::filesystem::path model{};
  NodeTestClass kind = NodeTestClass::kPlain;
  std::vector<std::string> operators{};     ///< each once, sorted
  std::vector<std::string> shape_inputs{};  ///< See models/graph/shape_operands.hpp.
  bool random = false;      ///< its values come from a generator of random numbers, which no two runtimes share
  bool transforms = false;  ///< it has a Fourier transform
};
/// docs/conformance.md, "When a test passes". `expected`: one of the test's outputs.
[[nodiscard]] Tolerance tolerance_of(const NodeTest& test, const TensorView& expected);

/// Errors: those of graph::Model::open.
[[nodiscard]] Result<NodeTest> open_node_test(const std::filesystem::path& folder);

struct NodeTestData {
  std::vector<NamedTensor> inputs, outputs;  ///< named as the model names them, in its order
};
/// Errors: not_found, invalid_argument: a file is missing or damaged; unsupported: a value that is not a tensor, or of
/// a type that assay does not pass to engines.
[[nodiscard]] Result<NodeTestData> read_node_test_data(const NodeTest& test);

/// The folders below `folder` that have a model.onnx, or `folder` itself if it has one; sorted.
/// Errors: not_found: there is none.
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_node_tests(const std::filesystem::path& folder);

}  // namespace assay
