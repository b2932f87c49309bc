// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libtorch_engine.hpp"
#include "support/runtime_suite.hpp"

/// Models in files for the tests of this engine.
namespace assay::plugin::test {

/// A lowered model in a file: the statements of its method, and the JSON of its inputs, outputs and weights.
struct Lowered {
  std::string arguments, statements, inputs, outputs, weights{};
};

inline std::string value(const std::string& name, const std::string& dtype, const std::string& shape) {
  return R"({"name": ")" + name + R"(", "dtype": ")" + dtype + R"(", "shape": [)" + shape + "]}";
}

inline LoadArgs write_lowered(const Lowered& model, const std::string& name, const std::string& precision = "as_is") {
  LoadArgs args;
  args.model_path =
      write_bytes("def forward(self" + model.arguments + "):\n" + model.statements, name + ".torchscript");
  args.precision = precision;
  args.threads = 1;
  const std::string sidecar = R"({"format_version": 1, "inputs": [)" + model.inputs + R"(], "outputs": [)" +
                              model.outputs + R"(], "weights": [)" + model.weights + "]}";
  EXPECT_EQ(write_bytes(sidecar, name + ".torchscript.json"), args.model_path + ".json");
  return args;
}

/// y = x · w + b for x [rows, 4], w [4, 3] and b [3], from a file with both, w at an odd place.
inline LoadArgs layer(std::int64_t rows) {
  std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 100, 200, 300};
  std::string bytes("x");
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  EXPECT_THAT(write_bytes(bytes, "layer.weights"), ::testing::HasSubstr("layer.weights"));
  const auto weight = [](const std::string& described, int offset, int size) {
    return described.substr(0, described.size() - 1) + R"(, "file": "layer.weights", "offset": )" +
           std::to_string(offset) + R"(, "bytes": )" + std::to_string(size) + "}";
  };
  const std::string count = std::to_string(rows);
  return write_lowered(
      {", x0: Tensor", "    return (torch.linear(x0, torch.t(self.w0), self.w1), )\n",
       value("x", "float32", count + ", 4"), value("y", "float32", count + ", 3"),
       weight(value("w", "float32", "4, 3"), 1, 48) + ", " + weight(value("b", "float32", "3"), 49, 12)},
      "layer" + count);
}

class Libtorch : public RuntimeTest {
 protected:
  /// The outputs of one run.
  [[nodiscard]] std::vector<float> run(const LoadArgs& args, std::vector<Tensor> inputs) const {
    const auto program = engine_->load(args);
    EXPECT_THAT(program, IsOk());
    if (!program) return {};
    std::vector<TensorShape> shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    const auto context = (*program)->create_context(shapes);
    EXPECT_THAT(context, IsOk());
    if (!context) return {};
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_THAT((*context)->set_input(0, i, inputs[i].view()), IsOk());
    EXPECT_THAT((*context)->run(0), IsOk());
    const auto made = output(**context);
    EXPECT_THAT(made, IsOk());
    return made ? made->values : std::vector<float>{};
  }
};

}  // namespace assay::plugin::test
