// SPDX-License-Identifier: Apache-2.0
// Files of models: their signatures, and those of PyTorch's own.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtorch_testing.hpp"

namespace assay::plugin::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

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

TEST_F(Libtorch, RefusesASignatureThatDoesNotFitItsWeights) {
  LoadArgs args = layer(2);
  fs::resize_file(fs::path(args.model_path).parent_path() / "layer.weights", 20);
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "layer.weights"));
  fs::remove(fs::path(args.model_path).parent_path() / "layer.weights");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kNotFound, "layer.weights"));
  EXPECT_EQ(write_bytes("{}", "layer2.torchscript.json"), args.model_path + ".json");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "format_version"));
}

TEST_F(Libtorch, ASignatureThatIsIncompleteOrOfAnotherTypeIsRefusedByTheEntry) {
  const LoadArgs args = layer(2);
  std::ifstream stream(args.model_path + ".json");
  const std::string known{std::istreambuf_iterator<char>(stream), {}};
  const auto refuses = [&](std::string_view from, std::string_view to, const std::string& message) {
    std::string text = known;
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_EQ(write_bytes(text.replace(at, from.size(), to), "layer2.torchscript.json"), args.model_path + ".json");
    EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, message)) << to;
  };
  refuses("{", "[{", "not a signature");
  refuses("\"inputs\": [", "\"inputs\": 1, \"given\": [", "\"inputs\" of the file is 1, not an array");
  refuses("{\"name\": \"x\"", "{\"title\": \"x\"", "inputs[0] has no \"name\"");
  refuses("\"x\"", "[]", "\"name\" of inputs[0] is [], not a string");
  refuses("\"float32\"", "\"float31\"", "there is no dtype 'float31'");
  refuses("[2, 4]", "[2, 4.5]", "\"shape\" of 'x' is [2,4.5], not a list of extents");
  refuses("[2, 4]", "[2, -3]", "\"shape\" of 'x' is [2,-3]");
  refuses("[2, 4]", "[2, 4], \"index_limit\": 0", "\"index_limit\" of 'x' is 0, not an integer of 1 or more");
  refuses("[2, 4]", "[2, 4], \"index_limit\": \"9\"", "\"index_limit\" of 'x' is \"9\"");
  refuses("[4, 3]", "[-1, 3]", "the weight 'w' has an open extent");
  refuses("[4, 3]", "[4, \"n\"]", "the weight 'w' has an open extent");
  refuses("[4, 3]", "[4611686018427387907, 4]", "weight 'w' has 48 bytes, its type and shape need more than 2^64");
  refuses(", \"file\": \"layer.weights\"", "", "the weight 'w' has no \"file\"");
  refuses(", \"offset\": 49", "", "the weight 'b' has no \"offset\"");
  refuses("\"offset\": 49", "\"offset\": -4", "\"offset\" of the weight 'b' is -4, not an integer of 0 or more");
  refuses("\"bytes\": 12", "\"bytes\": \"12\"", "\"bytes\" of the weight 'b' is \"12\"");
  refuses("\"bytes\": 12", "\"bytes\": 8", "weight 'b' has 8 bytes, its type and shape need 12");
  refuses("\"name\": \"y\"", "\"name\": \"y\", \"dtype\": \"float32\", \"shape\": []}, {\"name\": \"y\"",
          "\"outputs\" has the name 'y' twice");
  EXPECT_FALSE(write_bytes("", "layer.weights").empty());
  refuses("layer.weights", "layer.weights", "layer.weights' has 0 bytes");
}

TEST_F(Libtorch, AFileThatFailsWithItsInputsIsNotAnInternalError) {
  const LoadArgs args = saved(*engine_, tensors_of("torch.reshape(x0, [6])", value("y", "float32", "6")), "reshape");
  write_sidecar(args, R"("n", 3)", value("y", "float32", "6"));
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  Tensor x = floats({1, 3}, {1, 2, 3});
  const auto context = (*program)->create_context(std::vector{x.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  EXPECT_THAT((*context)->run(0),
              HasError(ErrorCode::kInvalidArgument, "the model fails with these inputs: shape '[6]'"));
}

TEST_F(Libtorch, TheRowsOfATableAreReadAndSaved) {
  const std::string row = R"({"name": "x0", "dtype": "float32", "shape": [2, 3], "index_limit": 99})";
  const LoadArgs first = saved(*engine_, tensors_of("torch.neg(x0)", value("y", "float32", "2, 3")), "table");
  EXPECT_FALSE(write_bytes(R"({"format_version": 1, "inputs": [)" + row + "]}", "table.pt.json").empty());
  const LoadArgs again = saved(*engine_, first, "again");
  for (const LoadArgs& args : {first, again}) {
    const auto program = engine_->load(args);
    ASSERT_THAT(program, IsOk());
    EXPECT_EQ((*program)->inputs()[0].index_limit, 99);
  }
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
  EXPECT_THAT(output(**context, 1)->values, ElementsAre(4, 5, 6)) << "this model writes nothing in place";
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
  args = saved(*engine_, tensors_of("(None, )", one), "nothing");
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
