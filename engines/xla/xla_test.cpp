// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_suite.hpp"
#include "xla_engine.hpp"

namespace assay::plugin::test {

namespace {

std::string home() {
  const char* given = std::getenv("ASSAY_XLA_HOME");
  return (given != nullptr ? std::string(given) : ASSAY_TEST_DEPS_DIR "/xla") + "/jaxlib";
}

}  // namespace

Result<std::unique_ptr<Engine>> open_engine() { return XlaEngine::create(home(), host()); }

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;

/// y = x · w + b over x[2, 3]; w is a weight in the sidecar, and so is b.
constexpr std::string_view kAffine = R"(module @affine {
  func.func public @main(%x: tensor<2x3xf32>, %w0: tensor<3x2xf32>, %w1: tensor<2xf32>) -> (tensor<2x2xf32>) {
    %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.broadcast_in_dim %w1, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x2xf32>
    return %2 : tensor<2x2xf32>
  }
})";
constexpr std::string_view kAffineSidecar = R"({"format_version": 1,
  "inputs": [{"name": "pixels", "dtype": "float32", "shape": [2, 3]}],
  "outputs": [{"name": "logits", "dtype": "float32", "shape": [2, 2]}],
  "weights": [
    {"name": "weight", "dtype": "float32", "shape": [3, 2], "permutation": [1, 0], "file": "affine.weights", "offset": 4, "bytes": 24},
    {"name": "bias", "dtype": "float32", "shape": [2], "file": "affine.weights", "offset": 28, "bytes": 8}]})";

std::string affine() {
  const float weights[] = {-1, 1, 2, 3, 4, 5, 6, 10, 20};  // the first one belongs to nobody
  const std::string path = write_bytes(kAffine, "affine.stablehlo");
  EXPECT_FALSE(write_bytes(kAffineSidecar, "affine.stablehlo.json").empty());
  EXPECT_FALSE(write_bytes({reinterpret_cast<const char*>(weights), sizeof weights}, "affine.weights").empty());
  return path;
}

class Xla : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    engine_ = engine(why);
    if (engine_ == nullptr) GTEST_SKIP() << why;
  }
  [[nodiscard]] Result<std::unique_ptr<Program>> load(const std::string& path,
                                                      const std::string& precision = "as_is") const {
    LoadArgs args;
    args.model_path = path;
    args.precision = precision;
    args.threads = 1;
    return engine_->load(args);
  }

  Engine* engine_ = nullptr;
};

TEST_F(Xla, RunsAProgramWithWeightsOfASidecar) {
  const auto program = load(affine());
  ASSERT_THAT(program, IsOk());
  EXPECT_EQ((*program)->inputs()[0].name, "pixels");
  EXPECT_THAT((*program)->inputs()[0].dims, ElementsAre(2, 3));
  EXPECT_EQ((*program)->outputs()[0].name, "logits");
  Tensor a = floats({2, 3}, {1, 0, 0, 0, 1, 0}), b = floats({2, 3}, {0, 0, 1, 1, 1, 1});
  const auto context = (*program)->create_context(std::vector{a.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, a.view()), IsOk());
  ASSERT_THAT((*context)->set_input(1, 0, b.view()), IsOk());
  const void* data = nullptr;
  for (const std::size_t set : {0u, 1u, 1u, 0u}) {
    ASSERT_THAT((*context)->run(set), IsOk());
    const auto y = output(**context);
    ASSERT_THAT(y, IsOk());
    EXPECT_EQ(y->values, set == 0 ? (std::vector<float>{11, 24, 12, 25}) : (std::vector<float>{13, 26, 16, 35}));
    EXPECT_TRUE(data == nullptr || data == y->data) << "outputs are allocated once";
    data = y->data;
  }
}

}  // namespace
}  // namespace assay::plugin::test
