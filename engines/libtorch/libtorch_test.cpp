// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "libtorch_engine.hpp"
#include "support/runtime_suite.hpp"
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

/// A lowered model in a file: the statements of its method, and the JSON of its inputs, outputs and weights.
struct Lowered {
  std::string arguments, statements, inputs, outputs, weights{};
};

std::string value(const std::string& name, const std::string& dtype, const std::string& shape) {
  return R"({"name": ")" + name + R"(", "dtype": ")" + dtype + R"(", "shape": [)" + shape + "]}";
}

LoadArgs write_lowered(const Lowered& model, const std::string& name, const std::string& precision = "as_is") {
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

/// y = x · x, the matrix product of 64 x 64 numbers.
LoadArgs product(const std::string& dtype = "float32") {
  return write_lowered({", x0: Tensor", "    return (torch.matmul(x0, x0), )\n", value("x", dtype, "64, 64"),
                        value("y", dtype, "64, 64")},
                       "product_" + dtype);
}

/// y = x · w + b for x [rows, 4], w [4, 3] and b [3], from a file with both, w at an odd place.
LoadArgs layer(std::int64_t rows) {
  std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 100, 200, 300};
  std::string bytes("x");
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  EXPECT_THAT(write_bytes(bytes, "layer.weights"), HasSubstr("layer.weights"));
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

class Libtorch : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    engine_ = engine(why);
    if (engine_ == nullptr) GTEST_SKIP() << why;
  }
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

  Engine* engine_ = nullptr;
};

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
  EXPECT_THAT(check_whole_library("/nowhere/libc10.so"), HasError(ErrorCode::kNotFound, "there is no"));
  EXPECT_THAT(check_whole_library(write_bytes("<html>", "page.so")), HasError(ErrorCode::kNotFound, "6 bytes"));
  std::ifstream own("/proc/self/exe", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(own), {}};
  EXPECT_THAT(check_whole_library(write_bytes(whole, "whole.so")), IsOk());
  EXPECT_THAT(check_whole_library(write_bytes(whole.substr(0, whole.size() / 2), "half.so")),
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

TEST_F(Libtorch, RefusesTextsThatAreNotAMethodAndNamesTheOperatorThatIsMissing) {
  const auto with = [&](const std::string& statements) {
    return write_lowered({", x0: Tensor", statements, value("x", "float32", "2"), value("y", "float32", "2")}, "bad");
  };
  EXPECT_THAT(engine_->load(with("    return (torch.frobnicate(x0), )\n")),
              HasError(ErrorCode::kUnsupported, "frobnicate"));
  EXPECT_THAT(engine_->load(with("    return (torch.relu(x0\n")), HasError(ErrorCode::kInvalidArgument, "bad"));
}

TEST_F(Libtorch, RefusesASignatureThatDoesNotFitItsWeights) {
  LoadArgs args = layer(2);
  fs::resize_file(fs::path(args.model_path).parent_path() / "layer.weights", 20);
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "layer.weights"));
  fs::remove(fs::path(args.model_path).parent_path() / "layer.weights");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kNotFound, "layer.weights"));
  EXPECT_EQ(write_bytes("{}", "layer2.torchscript.json"), args.model_path + ".json");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "format_version"));
}

TEST_F(Libtorch, RefusesDevicesThatWereNotTried) {
  LoadArgs args = product();
  args.device_id = "cuda:0";
  EXPECT_THAT(engine_->load(args),
              HasError(ErrorCode::kUnsupported, "device 'cuda:0': this engine has not been run on cuda yet"));
  args.device_id = "abacus";
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kNotFound, "abacus"));
}

/// Saves a lowered model as a .pt file, as `zoo build -o m.pt` does, and returns what loads it.
LoadArgs saved(Engine& engine, const LoadArgs& lowered, const std::string& name, bool frozen = false) {
  const auto* save = static_cast<const assay_save_extension*>(LibtorchEngine::extension("save"));
  assay_program program;
  auto loaded = engine.load(lowered);
  EXPECT_THAT(loaded, IsOk());
  if (loaded) program.object = std::move(*loaded);
  LoadArgs args = lowered;
  args.model_path = write_bytes("", name + ".pt");
  fs::remove(args.model_path + ".json");
  const assay_save_args how{sizeof how, {args.model_path.data(), args.model_path.size()}, frozen ? 1 : 0};
  EXPECT_EQ(program.object == nullptr ? nullptr : save->save(&program, &how), nullptr);
  return args;
}

/// The JSON beside a .pt file: an input x0 with these extents, and these outputs.
void write_sidecar(const LoadArgs& args, const std::string& extents, const std::string& outputs = "") {
  const std::string text =
      R"({"format_version": 1, "inputs": [)" + value("x0", "float32", extents) + R"(], "outputs": [)" + outputs + "]}";
  EXPECT_EQ(write_bytes(text, fs::path(args.model_path).filename().string() + ".json"), args.model_path + ".json");
}

LoadArgs tensors_of(const std::string& expression, const std::string& outputs) {
  return write_lowered({", x0: Tensor", "    return " + expression + "\n", value("x0", "float32", "2, 3"), outputs},
                       "expression");
}

TEST_F(Libtorch, SavesFilesThatItReads) {
  EXPECT_EQ(static_cast<const assay_save_extension*>(LibtorchEngine::extension("save"))->version, 1U);
  EXPECT_EQ(LibtorchEngine::extension("energy"), nullptr);
  for (const bool frozen : {false, true}) {
    const LoadArgs args = saved(*engine_, layer(2), "saved", frozen);
    const auto program = engine_->load(args);
    ASSERT_THAT(program, IsOk()) << frozen;
    ASSERT_EQ((*program)->inputs().size(), 1U);
    EXPECT_EQ((*program)->inputs()[0].name, "x");
    EXPECT_EQ((*program)->inputs()[0].dtype, 1);
    EXPECT_THAT((*program)->inputs()[0].dims, ElementsAre(2, 4));
    ASSERT_EQ((*program)->outputs().size(), 1U);
    EXPECT_EQ((*program)->outputs()[0].name, "y");
    EXPECT_THAT((*program)->outputs()[0].dims, ElementsAre(2, 3));
    EXPECT_THAT(run(args, {floats({2, 4}, {1, 0, 0, 2, 0, 1, 0, 0})}), ElementsAre(121, 224, 327, 104, 205, 306));
  }
}

TEST_F(Libtorch, RefusesFilesWhoseNumberOfOutputsDependsOnTheInput) {
  const std::string two = value("a", "float32", "3") + ", " + value("b", "float32", "3");
  const LoadArgs args = saved(*engine_, tensors_of("torch.unbind(x0)", two), "unbind");
  write_sidecar(args, R"("n", 3)");
  EXPECT_THAT(engine_->load(args),
              HasError(ErrorCode::kUnsupported, "the number of outputs depends on the inputs' open extents: 2 or 3"));
  write_sidecar(args, "2, 3");
  EXPECT_THAT(run(args, {floats({2, 3}, {1, 2, 3, 4, 5, 6})}), ElementsAre(1, 2, 3));

  write_sidecar(args, R"("n", 3)", two);  // the signature is wrong for other extents than 2
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  const auto context = (*program)->create_context(std::vector<TensorShape>{{1, {-1, 3}}});
  ASSERT_THAT(context, IsOk());
  Tensor right = floats({2, 3}, {1, 2, 3, 4, 5, 6}), wrong = floats({1, 3}, {1, 2, 3});
  ASSERT_THAT((*context)->set_input(0, 0, right.view()), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  EXPECT_THAT(output(**context, 1)->values, ElementsAre(4, 5, 6));
  ASSERT_THAT((*context)->set_input(0, 0, wrong.view()), IsOk());
  EXPECT_THAT((*context)->run(0), HasError(ErrorCode::kMismatch, "the model returns 1 tensors, its signature has 2"));
  EXPECT_THAT(output(**context, 1)->values, ElementsAre(4, 5, 6)) << "a failed run changes nothing";
}

TEST_F(Libtorch, RefusesResultsThatItCannotReturn) {
  const std::string one = value("y", "float32", "2, 3");
  LoadArgs args = saved(*engine_, tensors_of("torch.squeeze(torch.slice(x0, 0, 2), 0)", one), "rank");
  write_sidecar(args, R"("n", 3)");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "the rank of output depends on"));
  args = saved(*engine_, tensors_of("torch.to_sparse(x0)", one), "sparse");
  write_sidecar(args, "2, 3");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "a tensor of Float in the layout Sparse"));
  args = saved(*engine_, tensors_of("torch.quantize_per_tensor(x0, 1., 0, 12)", one), "quantised");
  write_sidecar(args, "2, 3");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "a tensor of QInt8"));
  args = saved(*engine_, tensors_of("None", one), "nothing");
  write_sidecar(args, "2, 3");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "returns no tensor"));
}

TEST_F(Libtorch, ReturnsNumbersWhoseSignChangesWhenTheyAreRead) {
  EXPECT_THAT(run(tensors_of("torch.imag(torch.conj(torch.complex(x0, x0)))", value("y", "float32", "2, 3")),
                  {floats({2, 3}, {1, 2, 3, 4, 5, 6})}),
              ElementsAre(-1, -2, -3, -4, -5, -6));
}

TEST_F(Libtorch, RefusesFilesOfPytorchThatAreNotTorchScript) {
  LoadArgs args;
  args.precision = "as_is";
  args.model_path = write_bytes("\x80\x02}q\x01.", "legacy.pt");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "is a pickle of Python objects"));
  args.model_path = write_bytes("<html>", "page.pt");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "not a file of PyTorch"));
  args.model_path = write_bytes("PK\x03\x04", "torn.pt");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "torn.pt"));
}

}  // namespace
}  // namespace assay::plugin::test
