// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <assay/support/plugin_support.hpp>
#include "libtorch_testing.hpp"
#include "torch_library.hpp"

namespace assay::plugin::test {
namespace fs = std::filesystem;
namespace {

std::string home() {
  const char* given = std::getenv("ASSAY_LIBTORCH_HOME");
  return given != nullptr ? given : ASSAY_TEST_DEPS_DIR "/libtorch/torch/lib";
}

}  // namespace

Result<std::unique_ptr<Engine>> open_engine() { return LibtorchEngine::create(home(), host()); }

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// y = x · x, the matrix product of 64 x 64 numbers.
LoadArgs product(const std::string& dtype = "float32") {
  return write_lowered({", x0: Tensor", "    return (torch.matmul(x0, x0), )\n", value("x", dtype, "64, 64"),
                        value("y", dtype, "64, 64")},
                       "product_" + dtype);
}

TEST(LibtorchLibrary, SaysWhichFileIsMissing) {
  EXPECT_THAT(LibtorchEngine::create("/nowhere", host()), HasError(ErrorCode::kNotFound, "/nowhere"));
  EXPECT_THAT(LibtorchEngine::create("", host()), HasError(ErrorCode::kNotFound, "no libtorch was found"));
}

TEST(LibtorchLibrary, RefusesAnotherMinorReleaseAndNamesBoth) {
  EXPECT_THAT(check_torch_version("2.15.3+cpu", "2.15.0", "/x"), IsOk());
  EXPECT_THAT(check_torch_version("2.14.1", "2.15.0", "/x"), HasError(ErrorCode::kIncompatiblePlugin, "2.14.1"));
  EXPECT_THAT(check_torch_version("2.1.5", "2.15.0", "/x"), HasError(ErrorCode::kIncompatiblePlugin, "2.15.0"));
}

TEST(LibtorchLibrary, ReadsTheVersionOfAWheelAndOfADistribution) {
  const fs::path wheel = write_bytes("__version__ = '2.15.0+cu132'\ndebug = False\n", "version.py");
  const auto version = torch_version(wheel.parent_path() / "lib");
  ASSERT_THAT(version, IsOk());
  EXPECT_EQ(*version, "2.15.0+cu132");
  fs::remove(wheel);
  const fs::path built = write_bytes("2.14.0+cpu\n", "build-version");
  EXPECT_EQ(torch_version(built.parent_path() / "lib").value_or(""), "2.14.0+cpu");
  fs::remove(built);
  EXPECT_THAT(torch_version(built.parent_path() / "lib"), HasError(ErrorCode::kNotFound, "version.py"));
}

TEST(LibtorchLibrary, RefusesALibraryThatWasCutShort) {
  EXPECT_THAT(check_whole_library("/nowhere/libc10.so", ""), HasError(ErrorCode::kNotFound, "there is no"));
  EXPECT_THAT(check_whole_library(write_bytes("<html>", "page.so"), ""), HasError(ErrorCode::kNotFound, "6 bytes"));
  std::ifstream own("/proc/self/exe", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(own), {}};
  EXPECT_THAT(check_whole_library(write_bytes(whole, "whole.so"), ""), IsOk());
  EXPECT_THAT(check_whole_library(write_bytes(whole.substr(0, whole.size() / 2), "half.so"), ""),
              HasError(ErrorCode::kNotFound, "not whole"));
}

TEST_F(Libtorch, ComputesFloat32InFloat32EvenOnProcessorsWithBfloat16) {
  const auto program = engine_->load(product());
  ASSERT_THAT(program, IsOk());
  EXPECT_THAT(*(*program)->effective(), AllOf(Contains(Pair("precision", "float32")), Contains(Pair("threads", "1")),
                                              Contains(Pair("denormals", "kept")), Contains(Pair("device", "cpu"))));
  const float number = 1.0f + 0x1p-12f;  // no bfloat16 is nearer than 2^-12
  const auto y = run(product(), {floats({64, 64}, std::vector<float>(64 * 64, number))});
  ASSERT_EQ(y.size(), 64U * 64U);
  EXPECT_NEAR(y[5] / (64 * number * number), 1, 1e-6);
}

TEST_F(Libtorch, ReportsTheTypeOfAModelOf16Bits) {
  for (const char* dtype : {"float16", "bfloat16"}) {
    const auto program = engine_->load(product(dtype));
    ASSERT_THAT(program, IsOk());
    EXPECT_THAT(*(*program)->effective(), Contains(Pair("precision", dtype)));
  }
  LoadArgs args = product("bfloat16");
  args.precision = "float32";
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "bfloat16"));
}

TEST_F(Libtorch, ReadsWeightsWhereTheyAreWithAndWithoutPackedOnes) {
  for (const std::int64_t rows : {1, 5}) {
    std::vector<float> x(static_cast<std::size_t>(rows * 4), 0);
    x[0] = 1;
    x[3] = 2;
    for (const char* how : {"inference", "frozen", "none"}) {
      LoadArgs args = layer(rows);
      args.options = {{"optimize", how}};
      const auto y = run(args, {floats({rows, 4}, x)});
      ASSERT_EQ(y.size(), static_cast<std::size_t>(rows * 3)) << how;
      EXPECT_THAT(std::vector(y.begin(), y.begin() + 3), ElementsAre(121, 224, 327)) << how;
    }
  }
}

TEST_F(Libtorch, CopiesAnOutputThatIsAViewOfAnInput) {
  const LoadArgs args = write_lowered({", x0: Tensor", "    return (torch.reshape(x0, [4]), )\n",
                                       value("x", "float32", "2, 2"), value("y", "float32", "4")},
                                      "view");
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  Tensor x = floats({2, 2}, {1, 2, 3, 4});
  const auto context = (*program)->create_context(std::vector{x.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  for (int run = 0; run < 2; ++run) {
    x.assign<float>({1, 2, 3, 4});
    ASSERT_THAT((*context)->run(0), IsOk());
    x.assign<float>({9, 9, 9, 9});
    EXPECT_THAT(output(**context)->values, ElementsAre(1, 2, 3, 4));
  }
}

// y = x with the row `place` replaced: a cache that is its own next input.
TEST_F(Libtorch, WritesACacheInPlaceAndKeepsTheBoundBuffer) {
  const LoadArgs args = write_lowered(
      {", x0: Tensor, x1: Tensor, x2: Tensor", "    return (torch.scatter(x0, 0, x1, x2), )\n",
       value("x", "float32", "3, 2") + ", " + value("place", "int64", "1, 2") + ", " + value("row", "float32", "1, 2"),
       value("y", "float32", "3, 2")},
      "cache");
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6}), row = floats({1, 2}, {7, 8});
  Tensor place(7 /* int64 */, {1, 2}, std::vector<std::int64_t>{0, 0});
  const auto context = (*program)->create_context(std::vector{x.shape(), place.shape(), row.shape()});
  ASSERT_THAT(context, IsOk());
  std::size_t index = 0;
  for (Tensor* each : {&x, &place, &row}) ASSERT_THAT((*context)->set_input(0, index++, each->view()), IsOk());
  const auto run = [&](std::int64_t at) {
    place.assign<std::int64_t>({at, at});
    EXPECT_THAT((*context)->run(0), IsOk());
    return output(**context)->values;
  };
  EXPECT_THAT(run(0), ElementsAre(7, 8, 3, 4, 5, 6));
  EXPECT_THAT(run(1), ElementsAre(1, 2, 7, 8, 5, 6)) << "without a state each run begins with the bound buffer";
  ASSERT_THAT((*context)->alias_output_to_input(0, 0), IsOk());
  EXPECT_THAT(run(0), ElementsAre(7, 8, 3, 4, 5, 6));
  const void* const first = output(**context)->data;
  EXPECT_THAT(run(2), ElementsAre(7, 8, 3, 4, 7, 8));
  EXPECT_EQ(output(**context)->data, first);
  ASSERT_THAT((*context)->reset_state(), IsOk());
  EXPECT_THAT(run(1), ElementsAre(1, 2, 7, 8, 5, 6));
}

// Two outputs are one tensor, which becomes the cache and another input.
TEST_F(Libtorch, DoesNotWriteInPlaceWhatAnotherInputReads) {
  const std::string cache = value("x", "float32", "2, 1"), other = value("z", "float32", "2, 1");
  const LoadArgs args = write_lowered(
      {", x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor",
       "    v0 = torch.scatter(x0, 0, x1, x2)\n    v1 = torch.neg(x3)\n    return (v0, v1, v1, )\n",
       cache + ", " + value("place", "int64", "1, 1") + ", " + value("row", "float32", "1, 1") + ", " + other,
       value("y", "float32", "2, 1") + ", " + value("a", "float32", "2, 1") + ", " + value("b", "float32", "2, 1")},
      "shared_cache");
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  Tensor x = floats({2, 1}, {1, 2}), row = floats({1, 1}, {9}), z = floats({2, 1}, {5, 6});
  Tensor place(7 /* int64 */, {1, 1}, std::vector<std::int64_t>{0});
  const auto context = (*program)->create_context(std::vector{x.shape(), place.shape(), row.shape(), z.shape()});
  ASSERT_THAT(context, IsOk());
  std::size_t index = 0;
  for (Tensor* each : {&x, &place, &row, &z}) ASSERT_THAT((*context)->set_input(0, index++, each->view()), IsOk());
  ASSERT_THAT((*context)->alias_output_to_input(1, 0), IsOk());
  ASSERT_THAT((*context)->alias_output_to_input(2, 3), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  EXPECT_THAT(output(**context, 0)->values, ElementsAre(9, -6));
  EXPECT_THAT(output(**context, 1)->values, ElementsAre(5, 6));
}

TEST_F(Libtorch, RefusesTextsThatAreNotAMethodAndNamesTheOperatorThatIsMissing) {
  const auto with = [&](const std::string& statements) {
    return write_lowered({", x0: Tensor", statements, value("x", "float32", "2"), value("y", "float32", "2")}, "bad");
  };
  EXPECT_THAT(engine_->load(with("    return (torch.frobnicate(x0), )\n")),
              HasError(ErrorCode::kUnsupported, "frobnicate"));
  EXPECT_THAT(engine_->load(with("    return (torch.relu(x0\n")), HasError(ErrorCode::kInvalidArgument, "bad"));
}

// Half a file is only one case: a text that ends after a statement is valid.
TEST_F(Libtorch, RefusesEveryBeginningOfAText) {
  const std::string statements = "    v0 = torch.relu(x0)\n    v1 = torch.neg(v0)\n    return (v0, v1, )\n";
  const auto load = [&](std::size_t length) {
    const std::string y = value("y", "float32", "2"), z = value("z", "float32", "2");
    return engine_->load(
        write_lowered({", x0: Tensor", statements.substr(0, length), value("x", "float32", "2"), y + ", " + z}, "cut"));
  };
  EXPECT_THAT(load(statements.size()), IsOk());
  for (std::size_t length = 0; length + 1 < statements.size(); ++length)  // the last line may lack its end
    EXPECT_THAT(load(length), HasError(ErrorCode::kInvalidArgument, "cut.torchscript")) << length;
}

TEST_F(Libtorch, RefusesDevicesThatWereNotTried) {
  LoadArgs args = product();
  args.device_id = "cuda:0";
  EXPECT_THAT(engine_->load(args),
              HasError(ErrorCode::kUnsupported, "device 'cuda:0': this engine has not been run on cuda yet"));
  args.device_id = "abacus";
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kNotFound, "abacus"));
}

}  // namespace
}  // namespace assay::plugin::test
