// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "xla_testing.hpp"

namespace assay::plugin::test {

Result<std::unique_ptr<Engine>> open_engine() { return XlaEngine::create(home(), host()); }

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
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

class Xla : public RuntimeTest {
 protected:
  /// kAffine, with a change to the text of its sidecar.
  [[nodiscard]] Result<std::unique_ptr<Program>> load_changed(std::string_view from, std::string_view to) const {
    const std::string path = affine();
    std::string text(kAffineSidecar);
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    EXPECT_FALSE(write_bytes(text.replace(at, from.size(), to), "affine.stablehlo.json").empty());
    return load(path);
  }
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

/// A cache of four rows, written at a place; the result may be written over it.
constexpr std::string_view kCache = R"(module @cache {
  func.func public @main(%cache: tensor<4x2xf32> {tf.aliasing_output = 0 : i32}, %row: tensor<1x2xf32>, %place: tensor<i64>) -> (tensor<4x2xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.dynamic_update_slice %cache, %row, %place, %0 : (tensor<4x2xf32>, tensor<1x2xf32>, tensor<i64>, tensor<i64>) -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
})";

TEST_F(Xla, ACacheStaysInItsMemoryAndTheCallersBufferIsNotWritten) {
  const auto program = load(write_bytes(kCache, "cache.mlir"));
  ASSERT_THAT(program, IsOk());
  Tensor start = floats({4, 2}, {1, 1, 1, 1, 1, 1, 1, 1}), row = floats({1, 2}, {5, 6});
  Tensor place(7, {}, std::vector<std::int64_t>{0});
  const auto context = (*program)->create_context(std::vector{start.shape(), row.shape(), place.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->alias_output_to_input(0, 0), IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, start.view()), IsOk());
  ASSERT_THAT((*context)->set_input(0, 1, row.view()), IsOk());
  ASSERT_THAT((*context)->set_input(0, 2, place.view()), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  const auto first = output(**context);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(first->values, ElementsAre(5, 6, 1, 1, 1, 1, 1, 1));
  place.assign(std::vector<std::int64_t>{2});
  ASSERT_THAT((*context)->run(0), IsOk());
  const auto second = output(**context);
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(second->values, ElementsAre(5, 6, 1, 1, 5, 6, 1, 1));
  EXPECT_EQ(second->data, first->data) << "the second run writes over the result of the first";
  ASSERT_THAT((*context)->reset_state(), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  const auto again = output(**context);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->values, ElementsAre(1, 1, 1, 1, 5, 6, 1, 1)) << "the caller's buffer was not written";
}

TEST_F(Xla, OffersOfMemoryThatCannotBeAcceptedAreLeftOut) {
  const std::string offer = "tf.aliasing_output = 0 : i32";
  for (const char* other : {"tf.aliasing_output = \"x\"", "tf.aliasing_output = 7 : i32"}) {
    std::string text(kCache);
    text.replace(text.find(offer), offer.size(), other);
    const auto program = load(write_bytes(text, "offer.mlir"));
    ASSERT_THAT(program, IsOk());
    const std::vector<TensorShape> shapes{{1, {4, 2}}, {1, {1, 2}}, {7, {}}};
    EXPECT_THAT((*program)->create_context(shapes), IsOk()) << other;
  }
  std::string text(kCache);  // the row has another shape than the output, and the cache's offer is the first one
  text.replace(text.find("%row: tensor<1x2xf32>"), 21, "%row: tensor<1x2xf32> {" + offer + "}");
  const auto program = load(write_bytes(text, "offer.mlir"));
  ASSERT_THAT(program, IsOk());
  EXPECT_THAT((*program)->create_context(std::vector<TensorShape>{{1, {4, 2}}, {1, {1, 2}}, {7, {}}}), IsOk());
}

TEST_F(Xla, AFailedCompilationLeavesTheModuleAsItWas) {
  const auto runtime = PyRuntime::start(home());
  ASSERT_THAT(runtime, IsOk());
  const std::string path = write_bytes(R"(module {
    func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.custom_call @nobody(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  })",
                                       "custom.mlir");
  const PyLock lock;
  const auto client = (*runtime)->call("client_of", "(i)", 1);
  ASSERT_THAT(client, IsOk());
  const auto model = (*runtime)->call("Model", "(Os)", client->get(), path.c_str());
  ASSERT_THAT(model, IsOk());
  const auto text = [&] {
    const auto module = PyRuntime::attribute(model->get(), "module");
    const PyRef shown(py().PyObject_Str(module->get()));
    return text_of(shown.get());
  };
  const std::string before = text();
  EXPECT_THAT(before, ::testing::HasSubstr("@nobody"));
  const auto options = (*runtime)->call("overrides", "(i)", 1);
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT((*runtime)->call("Compiled", "(OO)", model->get(), options->get()),
                HasError(ErrorCode::kUnsupported, "nobody"));
    EXPECT_EQ(text(), before);
  }
}

TEST_F(Xla, ProgramsShareTheWeightsOfAFile) {
  const auto runtime = PyRuntime::start(home());
  ASSERT_THAT(runtime, IsOk());
  const auto held = [&]() -> long long {
    const PyLock lock;
    const auto client = (*runtime)->call("client_of", "(i)", 1);
    const auto weights = PyRuntime::attribute(client->get(), "weights");
    const auto count = PyRuntime::method(weights->get(), "__len__", "()");
    return py().PyLong_AsLongLong(count->get());
  };
  {
    const std::string path = affine();
    const auto first = load(path), second = load(path);
    ASSERT_THAT(first, IsOk());
    ASSERT_THAT(second, IsOk());
    EXPECT_EQ(held(), 2);
  }
  const auto third = load(affine());  // the file was written anew
  ASSERT_THAT(third, IsOk());
  EXPECT_EQ(held(), 2) << "the weights of programs that ended are freed";
}

TEST_F(Xla, ASidecarThatIsIncompleteOrOfAnotherTypeIsRefusedByTheEntry) {
  const auto refuses = [&](std::string_view from, std::string_view to, const std::string& message) {
    EXPECT_THAT(load_changed(from, to), HasError(ErrorCode::kInvalidArgument, message)) << to;
  };
  refuses("{", "[{", "'affine.stablehlo.json' is not the signature of a lowered model: ");
  refuses("\"format_version\"", "\"format\"", "the file has no \"format_version\"");
  refuses("\"inputs\": [", "\"inputs\": 1, \"given\": [", "\"inputs\" of the file is 1, not an array");
  refuses("{\"name\": \"pixels\"", "{\"title\": \"pixels\"", "inputs[0] has no \"name\"");
  refuses("\"pixels\"", "[]", "\"name\" of inputs[0] is [], not a string");
  refuses("\"pixels\"", "\"\\ud800\"", "is \"\\ud800\", which is not a text");
  refuses("\"float32\"", "\"float31\"", "'pixels' has the dtype 'float31'; valid are float32, uint8");
  refuses("\"float32\"", "{}", "\"dtype\" of 'pixels' is {}, not a string");
  refuses("[2, 3]", "[2, 3.0]", "'pixels' has the shape [2, 3.0]; all extents are integers");
  refuses("[2, 3]", "[2, -3]", "'pixels' has the shape [2, -3]");
  refuses("[2, 3]", "[2, 3], \"index_limit\": 0", "\"index_limit\" of 'pixels' is 0, not an integer of 1 or more");
  refuses("[2, 3]", "[2, 3], \"index_limit\": true", "\"index_limit\" of 'pixels' is true");
  refuses(", \"file\": \"affine.weights\"", "", "the weight 'weight' has no \"file\"");
  refuses(", \"offset\": 28", "", "the weight 'bias' has no \"offset\"");
  refuses(", \"bytes\": 8", "", "the weight 'bias' has no \"bytes\"");
  refuses("\"bytes\": 8", "\"bytes\": 12", "the weight 'bias' has 12 bytes, its type and shape need 8");
  refuses("\"offset\": 28", "\"offset\": -4", "\"offset\" of the weight 'bias' is -4; valid is 0 or more");
  refuses("\"offset\": 28", "\"offset\": 99999999999999999999", "is too short for the weight 'bias'");
  refuses("\"offset\": 28", "\"offset\": true", "\"offset\" of the weight 'bias' is true, not an integer");
  for (const char* permutation : {"[1, 1]", "[0]", "[2, 0]", "[\"1\", 0]", "[true, 0]"})
    refuses("[1, 0]", permutation, "valid is each axis of 2 once, counted from 0");
  refuses("[1, 0]", "{}", "\"permutation\" of the weight 'weight' is {}, not an array");
  EXPECT_THAT(load_changed("\"affine.weights\"", "\"\\u0000\""),
              HasError(ErrorCode::kNotFound, "cannot read the weight 'weight'"));
}

TEST_F(Xla, TheRowsOfATableAreRead) {
  const auto program = load_changed("[2, 3]", "[2, 3], \"index_limit\": 99");
  ASSERT_THAT(program, IsOk());
  EXPECT_EQ((*program)->inputs()[0].index_limit, 99);
}

TEST_F(Xla, WhatCannotBeReadIsRefusedByName) {
  EXPECT_THAT(load_changed("affine.weights", "nowhere.weights"), HasError(ErrorCode::kNotFound, "the weight 'weight'"));
  EXPECT_THAT(load_changed("\"offset\": 28", "\"offset\": 32"),
              HasError(ErrorCode::kInvalidArgument, "is too short for the weight 'bias': it has 36 bytes"));
  EXPECT_THAT(load_changed("\"format_version\": 1", "\"format_version\": 9"),
              HasError(ErrorCode::kUnsupported, "format version 9"));
  EXPECT_THAT(load_changed("[2, 3]", "[3, 2]"),
              HasError(ErrorCode::kInvalidArgument, "argument 0 of main differs from 'pixels'"));
  EXPECT_THAT(load(write_bytes("module {", "bad.mlir")),
              HasError(ErrorCode::kInvalidArgument, "'bad.mlir' is not a StableHLO module: line 1"));
  EXPECT_THAT(load(write_bytes("", "empty.mlir")),
              HasError(ErrorCode::kInvalidArgument, "'empty.mlir' has no function main"));
  EXPECT_THAT(load(write_bytes("module { func.func private @main(tensor<f32>) -> tensor<f32> }", "declared.mlir")),
              HasError(ErrorCode::kInvalidArgument, "the function main of 'declared.mlir' has no body"));
  EXPECT_THAT(load(write_bytes("module {", "\u00e4.mlir")),
              HasError(ErrorCode::kInvalidArgument, "'\u00e4.mlir' is not a StableHLO module: line 1"));
  EXPECT_THAT(load(write_bytes("module {", "\xff.mlir")),
              HasError(ErrorCode::kInvalidArgument, "'\\udcff.mlir' is not a StableHLO module: line 1"));
  EXPECT_THAT(load("/nowhere.mlir"), HasError(ErrorCode::kNotFound, "no model file '/nowhere.mlir'"));
}

/// Sorts 2^46 numbers, which is more memory than a processor can address: compiled, and then refused by the run.
constexpr std::string_view kTooLarge = R"(module @large {
  func.func public @main(%x: tensor<f32>) -> tensor<1xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<70368744177664xf32>
    %1 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<70368744177664xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<70368744177664xf32>
    %3 = "stablehlo.sort"(%2) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<70368744177664xf32>) -> tensor<70368744177664xf32>
    %4 = stablehlo.slice %3 [0:1] : (tensor<70368744177664xf32>) -> tensor<1xf32>
    return %4 : tensor<1xf32>
  }
})";
/// Has an output of that size.
constexpr std::string_view kLargeOutput = R"(module @output {
  func.func public @main(%x: tensor<f32>) -> tensor<70368744177664xf32> {
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<70368744177664xf32>
    return %0 : tensor<70368744177664xf32>
  }
})";

TEST_F(Xla, ElementTypesOfASidecarHaveTheNamesOfResults) {
  const std::string path = write_bytes(R"(module {
    func.func public @main(%x: tensor<2xf8E8M0FNU>) -> tensor<2xf8E8M0FNU> { return %x : tensor<2xf8E8M0FNU> }
  })",
                                       "scales.stablehlo");
  const std::string value = R"([{"name": "x", "dtype": ")" + dtype_name(24) + R"(", "shape": [2]}])";
  EXPECT_FALSE(write_bytes(R"({"format_version": 1, "inputs": )" + value + R"(, "outputs": )" + value + "}",
                           "scales.stablehlo.json")
                   .empty());
  const auto program = load(path);
  ASSERT_THAT(program, IsOk());
  EXPECT_EQ((*program)->inputs()[0].dtype, 24);
}

TEST_F(Xla, MemoryThatRunsOutHasACodeOfItsOwnWhereverItDoes) {
  Tensor x = floats({}, {1});
  const auto program = load(write_bytes(kTooLarge, "large.mlir"));
  ASSERT_THAT(program, IsOk());
  const auto context = (*program)->create_context(std::vector{x.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  for (int attempt = 0; attempt < 2; ++attempt)
    EXPECT_THAT((*context)->run(0), HasError(ErrorCode::kOutOfMemory, "the run failed: XLA: Out of memory"));
  const auto output = load(write_bytes(kLargeOutput, "output.mlir"));
  ASSERT_THAT(output, IsOk());
  EXPECT_THAT((*output)->create_context(std::vector{x.shape()}), HasError(ErrorCode::kOutOfMemory, "256. TiB"));
}

TEST_F(Xla, ArgumentsHaveTheNamesOfTheText) {
  std::string text(kCache);
  text.replace(text.find("%place: tensor<i64>"), 19, "%arg2: tensor<i64>");
  for (auto at = text.find("%place"); at != std::string::npos; at = text.find("%place")) text.replace(at, 6, "%arg2");
  const auto program = load(write_bytes(text, "names.mlir"));
  ASSERT_THAT(program, IsOk());
  std::vector<std::string> names;
  for (const ValueInfo& input : (*program)->inputs()) names.push_back(input.name);
  EXPECT_THAT(names, ElementsAre("cache", "row", "arg2"));
  EXPECT_EQ((*program)->outputs()[0].name, "out0");
}

TEST_F(Xla, DevicesWhereTheEngineHasNotBeenRunAreUnsupported) {
  LoadArgs args;
  args.model_path = affine();
  for (const char* device : {"cuda", "cuda:0", "tpu"}) {
    args.device_id = device;
    EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "no plug-in of jax in")) << device;
  }
  args.device_id = "abacus";
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kNotFound, "there is no device 'abacus', only cpu"));
}

TEST_F(Xla, TheArithmeticAndTheThreadsAreMeasured) {
  const auto program = load(affine(), "float32");
  ASSERT_THAT(program, IsOk());
  const auto effective = (*program)->effective();
  ASSERT_THAT(effective, IsOk());
  EXPECT_THAT(*effective, Contains(Pair("precision", "float32")));
  EXPECT_THAT(*effective, Contains(Pair("threads", "1")));
  EXPECT_THAT(load(affine(), "bfloat16"), HasError(ErrorCode::kUnsupported, "bfloat16"));
}

}  // namespace
}  // namespace assay::plugin::test
