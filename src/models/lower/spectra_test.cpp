// SPDX-License-Identifier: Apache-2.0
#include "models/lower/spectra.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/lower/any_operator.hpp"
#include "models/lower/program.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay::lowering {
namespace {
using testing::add_node;
using testing::add_value;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

/// y = an operator of constants.
class Spectra : public ::testing::Test {
 protected:
  Spectra() { add_value(graph().mutable_output(), "y", onnx::TensorProto::FLOAT, {}); }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void scalar(const std::string& name, std::int64_t value) {
    testing::add_integers(graph(), name, {value}).clear_dims();
  }
  void scalar(const std::string& name, float value) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(value);
  }
  void mel(std::int64_t bands, std::int64_t length, std::int64_t rate, float lowest, float highest) {
    scalar("bands", bands);
    scalar("length", length);
    scalar("rate", rate);
    scalar("lowest", lowest);
    scalar("highest", highest);
    add_node(graph(), "MelWeightMatrix", {"bands", "length", "rate", "lowest", "highest"}, {"y"});
  }
  [[nodiscard]] StaticModel open() { return StaticModel::open(folder_.write(model_)).value(); }

  testing::ModelFolder folder_;
  onnx::ModelProto model_ = testing::empty_model();
};

// The numbers are those of onnx.reference.
TEST_F(Spectra, MelFiltersAreTriangles) {
  mel(3, 16, 8192, 0, 8000);
  const StaticModel model = open();
  const StaticProgram program = StaticProgram::create(model, {}, testing::kAnyOperator).value();
  const auto made = mel_weights(program, *program.nodes().at(0));
  ASSERT_TRUE(made) << to_string(made.error());
  const std::vector<double> expected{1,       0, 0, 0.5, 0.5, 0, 0,    1, 0, 0,   2.0 / 3, 1.0 / 3, 0,   1.0 / 3,
                                     2.0 / 3, 0, 0, 1,   0,   0, 0.75, 0, 0, 0.5, 0,       0,       0.25};
  EXPECT_THAT(*made, Pointwise(DoubleNear(1e-12), expected));
}

TEST_F(Spectra, AFrequencyBeyondTheSpectrumIsRefusedInBothDialects) {
  mel(2, 16, 8192, 5000, 9000);
  for (const Dialect dialect : {Dialect::kTorchScript, Dialect::kStableHlo}) {
    const Result<Program> program = lower(open(), {}, dialect);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(program.error().message, HasSubstr("the edge 10 of a band, beyond a spectrum of 9 bins, of node"));
  }
}

TEST_F(Spectra, WindowsAreSumsOfCosines) {
  scalar("size", std::int64_t{4});
  onnx::NodeProto& node = add_node(graph(), "BlackmanWindow", {"size"}, {"y"});
  const auto made = [&] {
    const StaticModel model = open();
    const StaticProgram program = StaticProgram::create(model, {}, testing::kAnyOperator).value();
    return cosine_window(program, *program.nodes().at(0), kBlackman);
  };
  EXPECT_THAT(made(), Pointwise(DoubleNear(1e-12), std::vector<double>{0, 0.34, 1, 0.34}));
  onnx::AttributeProto& periodic = *node.add_attribute();
  periodic.set_name("periodic");
  periodic.set_type(onnx::AttributeProto::INT);
  EXPECT_THAT(made(), Pointwise(DoubleNear(1e-12), std::vector<double>{0, 0.63, 0.63, 0}));
}

}  // namespace
}  // namespace assay::lowering
