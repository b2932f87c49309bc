// SPDX-License-Identifier: Apache-2.0
#include "models/lower/resize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "models/lower/any_operator.hpp"
#include "models/lower/program.hpp"
#include "models/lower/static_program.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay::lowering {
namespace {
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Dialect kBothDialects[] = {Dialect::kTorchScript, Dialect::kStableHlo};

/// y = Resize(x [1, extent]) along the second axis, with the attributes and constants of `given`.
class ResizeModel {
 public:
  explicit ResizeModel(const Json& given, std::int32_t type = onnx::TensorProto::FLOAT) {
    model_.mutable_opset_import(0)->set_version(19);
    const auto extent = given.at("extent").get<std::int64_t>();
    add_value(graph().mutable_input(), "x", type, {"1", std::to_string(extent)});
    add_value(graph().mutable_output(), "y", type, {});
    node_ = &add_node(graph(), "Resize",
                      {"x", given.contains("roi") ? "roi" : "", given.contains("scale") ? "scales" : "",
                       given.contains("size") ? "sizes" : ""},
                      {"y"});
    testing::add_attribute(*node_, "axes", {1});
    for (const auto& [name, value] : given.items()) add(name, value);
    request_.shapes = {{"x", {1, extent}}};
  }

  [[nodiscard]] Result<StaticModel> open() const { return StaticModel::open(folder_.write(model_)); }
  [[nodiscard]] const SpecialiseRequest& request() const { return request_; }
  [[nodiscard]] Result<Program> lowered(Dialect dialect) const {
    ASSAY_TRY(const StaticModel model, open());
    return lower(model, request_, dialect);
  }

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void add(const std::string& name, const Json& value) {
    if (name == "size") {
      testing::add_integers(graph(), "sizes", {value.get<std::int64_t>()});
    } else if (name == "scale") {
      add_numbers("scales", {value.get<float>()});
    } else if (name == "roi") {
      add_numbers("roi", value.get<std::vector<float>>());
    } else if (name != "extent" && name != "matrix") {
      onnx::AttributeProto& attribute = *node_->add_attribute();
      attribute.set_name(name);
      attribute.set_type(value.is_string()           ? onnx::AttributeProto::STRING
                         : value.is_number_integer() ? onnx::AttributeProto::INT
                                                     : onnx::AttributeProto::FLOAT);
      if (value.is_string()) attribute.set_s(value.get<std::string>());
      if (value.is_number_integer()) attribute.set_i(value.get<std::int64_t>());
      if (value.is_number_float()) attribute.set_f(value.get<float>());
    }
  }
  void add_numbers(const std::string& name, const std::vector<float>& values) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const float value : values) tensor.add_float_data(value);
  }

  testing::ModelFolder folder_;
  onnx::ModelProto model_ = testing::empty_model();
  onnx::NodeProto* node_ = nullptr;
  SpecialiseRequest request_;
};

/// [to, from], as the two dialects write it into a program.
std::vector<std::vector<double>> matrix_for(const Json& given) {
  const ResizeModel model(given);
  const StaticModel opened = model.open().value();
  const StaticProgram program = StaticProgram::create(opened, model.request(), testing::kAnyOperator).value();
  const graph::Node& node = *program.nodes().at(0);
  const Resize resize = read_resize(program, node).value();
  EXPECT_EQ(resize.axes.size(), 1);
  const ResizedAxis& axis = resize.axes.at(0);
  Samples samples = samples_of(node, resize, axis).value();
  if (samples.weights.empty()) samples.weights.assign(samples.places.size(), 1);
  const std::vector<double> all = matrix_of(samples, axis.from);
  std::vector<std::vector<double>> rows;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const auto begin = all.begin() + i * axis.from;
    rows.emplace_back(begin, begin + axis.from);
    if (!samples.outside.empty() && samples.outside[static_cast<std::size_t>(i)] != 0)
      rows.back().assign(rows.back().size(), resize.outside);
  }
  return rows;
}

TEST(Resize, HasTheWeightsOfOnnxsReferenceImplementation) {
  const std::filesystem::path file = ASSAY_SOURCE_DIR "/src/models/lower/testdata/resize.json";
  const Json cases = read_json(file).value();
  EXPECT_GT(cases.size(), 100);
  for (const Json& each : cases) {
    const auto expected = each.at("matrix").get<std::vector<std::vector<double>>>();
    const auto made = matrix_for(each);
    // The reference implementation computes the cubic kernel in float32.
    const double limit = each.at("mode") == "cubic" ? 1e-5 : 1e-9;
    ASSERT_EQ(made.size(), expected.size()) << each;
    for (std::size_t i = 0; i < made.size(); ++i)
      for (std::size_t k = 0; k < made[i].size(); ++k)
        EXPECT_TRUE(std::abs(made[i][k] - expected[i].at(k)) <= limit)
            << "row " << i << ", column " << k << ": " << made[i][k] << ", expected " << expected[i][k] << " of\n"
            << each;
  }
}

// The length that scales of float32 give is not exactly 1.
TEST(Resize, AnAxisThatBecomesOneElementIsReadInTheMiddleOfTheRegion) {
  const Json given = {{"extent", 49},           {"size", 1},
                      {"mode", "linear"},       {"coordinate_transformation_mode", "tf_crop_and_resize"},
                      {"roi", Json{0.0, 0.25}}, {"extrapolation_value", 0.5}};
  const auto rows = matrix_for(given);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0][6], 1);
  EXPECT_EQ(std::accumulate(rows[0].begin(), rows[0].end(), 0.0), 1);
}

// One second of sound from 16 to 48 kHz: a matrix would have 768 million elements.
TEST(Resize, ALongAxisIsASumOfTheFewPlacesThatItReads) {
  for (const auto& [mode, taps] : {std::pair("linear", 2), std::pair("cubic", 4)}) {
    const ResizeModel model({{"extent", 16'000}, {"size", 48'000}, {"mode", mode}});
    for (const Dialect dialect : kBothDialects) {
      const Result<Program> program = model.lowered(dialect);
      ASSERT_TRUE(program) << to_string(program.error());
      ASSERT_EQ(program->weights.size(), 2);
      EXPECT_EQ(program->weights[0].bytes,
                48'000U * static_cast<unsigned>(taps) * (dialect == Dialect::kTorchScript ? 8 : 4));
      EXPECT_EQ(program->weights[1].bytes, 48'000U * static_cast<unsigned>(taps) * 4);
    }
  }
}

TEST(Resize, AnAxisThatReadsTooManyPlacesIsRefused) {
  const ResizeModel model({{"extent", 5'000'000}, {"size", 10'000'000}, {"mode", "linear"}});
  for (const Dialect dialect : kBothDialects) {
    const Result<Program> program = model.lowered(dialect);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(
        program.error().message,
        HasSubstr("axis 1, which reads 2 places for each of 10000000 elements (at most 16777216 together), of"));
  }
}

TEST(Resize, WhatOnnxDoesNotHaveIsRefusedByName) {
  for (const auto& [attribute, value] : {std::pair("mode", "sinc"), std::pair("nearest_mode", "up"),
                                         std::pair("coordinate_transformation_mode", "whole_pixel")}) {
    const ResizeModel model({{"extent", 4}, {"size", 6}, {attribute, value}});
    for (const Dialect dialect : kBothDialects) {
      const Result<Program> program = model.lowered(dialect);
      ASSERT_FALSE(program);
      EXPECT_EQ(program.error().code, ErrorCode::kUnsupported);
      EXPECT_THAT(program.error().message, HasSubstr(attribute));
      EXPECT_THAT(program.error().message, HasSubstr(value));
    }
  }
}

// Halves to even, and no number beyond the range: cubic sampling has weights below 0.
TEST(Resize, IntegersAreRoundedAndLimitedInBothDialects) {
  const Json given = {{"extent", 4}, {"size", 7}, {"mode", "cubic"}};
  const ResizeModel bytes(given, onnx::TensorProto::UINT8), whole(given, onnx::TensorProto::INT32);
  const Program torch = bytes.lowered(Dialect::kTorchScript).value();
  EXPECT_THAT(torch.text, HasSubstr("torch.to(torch.clamp(torch.round(v0), 0.0, 255.0), 0)"));
  const Program hlo = bytes.lowered(Dialect::kStableHlo).value();
  EXPECT_THAT(hlo.text, HasSubstr("stablehlo.round_nearest_even"));
  EXPECT_THAT(hlo.text, HasSubstr("dense<255.0> : tensor<1x7xf32>"));
  // float32 does not have all integers of 32 bits.
  EXPECT_THAT(whole.lowered(Dialect::kTorchScript)->text, HasSubstr("-2147483648.0, 2147483647.0), 3)"));
  EXPECT_THAT(whole.lowered(Dialect::kStableHlo)->text, HasSubstr("tensor<1x7xf64>"));
}

}  // namespace
}  // namespace assay::lowering
