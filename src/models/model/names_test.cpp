// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/model/names.hpp"
#include "models/model/zip_testing.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ModelFolder;
using testing::small_model;
using Kind = ModelReference::Kind;

TEST(IdentifyModel, TakesWordsForNames) {
  for (const char* word : {"bert", "prajjwal1/bert-tiny", "openai/clip-vit-base-patch32", "gpt2"}) {
    const auto found = identify_model(word);
    ASSERT_TRUE(found) << to_string(found.error());
    EXPECT_EQ(found->kind, Kind::kName);
    EXPECT_EQ(found->name, word);
  }
  EXPECT_EQ(identify_model("zoo:bert")->name, "bert");
  EXPECT_EQ(identify_model(std::string(5000, 'x'))->kind, Kind::kName);
}

TEST(IdentifyModel, SaysThatAPathLeadsNowhere) {
  for (const char* path : {"none.onnx", "./bert", "/none/bert", "models/", "none.pt", "none.xml"}) {
    const auto found = identify_model(path);
    ASSERT_FALSE(found) << path;
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(found.error().message, HasSubstr(path));
  }
  EXPECT_EQ(identify_model("").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(identify_model("/dev/null").error().code, ErrorCode::kInvalidArgument);
}

TEST(IdentifyModel, KnowsFilesByNameAndContent) {
  const ModelFolder folder;
  EXPECT_EQ(identify_model(folder.write(small_model(), "a b ü.onnx").string())->kind, Kind::kOnnxFile);
  EXPECT_EQ(identify_model(folder.write(small_model(), "blob").string())->kind, Kind::kOnnxFile);
  EXPECT_EQ(identify_model(folder.write_bytes("<?xml version=\"1.0\"?>\n<net name=\"m\">", "m.xml").string())->kind,
            Kind::kRuntimeFile);
  EXPECT_THAT(identify_model(folder.write_bytes("<html>", "page.xml").string()).error().message,
              HasSubstr("not an OpenVINO IR"));
  const auto pickle = identify_model(folder.write_bytes(testing::zip_of({"p/data.pkl", "p/version"}), "p.pt").string());
  EXPECT_THAT(pickle.error().message, HasSubstr("Python pickle (torch.save), not TorchScript"));
  EXPECT_THAT(pickle.error().hint, HasSubstr("torch.jit.script(m)"));
  const std::string quoted = folder.write_bytes("\x80\x02}q", "it's \"new\" $m.pt").string();
  EXPECT_THAT(identify_model(quoted).error().hint,
              AllOf(HasSubstr("torch.load(sys.argv[1], "), HasSubstr("/it'\\''s \"new\" $m.pt' '"),
                    HasSubstr("/it'\\''s \"new\" $m.script.pt'")));
  EXPECT_FALSE(identify_model(folder.write_bytes("\x80\x02}q", "old.pth").string()));
  EXPECT_THAT(identify_model(folder.write_bytes("", "e.pt").string()).error().message, HasSubstr("it is empty"));
  EXPECT_THAT(identify_model(folder.write_bytes("notes", "notes.txt").string()).error().message,
              HasSubstr("plain text"));
  EXPECT_THAT(identify_model(folder.write_bytes("GGUF....", "m.gguf").string()).error().message, HasSubstr("GGUF"));
}

TEST(IdentifyModel, KnowsArchivesOfPyTorchByTheirEntries) {
  const ModelFolder folder;
  const auto identify = [&](const std::vector<std::string>& names) {
    return identify_model(folder.write_bytes(testing::zip_of(names), "m.pt").string());
  };
  // The entries that PyTorch 2.15 writes.
  for (const std::vector<std::string>& program :
       {std::vector<std::string>{"m/data/0", "m/data.pkl", "m/code/__torch__.py", "m/constants.pkl", "m/version"},
        {"m/data/weights/weight_0", "m/models/model.json", "m/data/sample_inputs/model.pt", "m/archive_format"},
        {"m/data/aotinductor/model/c.so", "m/archive_format", "m/archive_version"},
        {"serialized_exported_program.json", "serialized_state_dict.pt", "version"}}) {
    const auto found = identify(program);
    ASSERT_TRUE(found) << program[1];
    EXPECT_EQ(found->format, "pt");
  }
  EXPECT_THAT(identify({"m/data.pkl", "m/.format_version", "m/data/0", "m/version"}).error().message,
              HasSubstr("Python pickle (torch.save), not TorchScript"));
  EXPECT_THAT(identify({"x.npy", "y.npy"}).error().message,
              HasSubstr("is not a TorchScript model: it is a zip archive"));
  std::string torn_bytes = testing::zip_of({"m/constants.pkl", "m/version"});
  torn_bytes.resize(torn_bytes.size() - 5);
  const auto torn = identify_model(folder.write_bytes(torn_bytes, "t.pt").string());
  EXPECT_THAT(torn.error().message, HasSubstr("is not whole"));
}

TEST(IdentifyModel, TheContentDecidesWhateverTheName) {
  const ModelFolder folder;
  const std::string script = testing::zip_of({"m/data.pkl", "m/code/__torch__.py", "m/constants.pkl"});
  const std::string ir = "<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">";
  const std::string hlo = "module @jit_f {\n func.func public @main(%a: tensor<2xf32>) { stablehlo.add }\n}";
  for (const char* name : {"vad.jit", "m.onnx", "m.xml", "m.bin", "m", "m.zip", "m.ptl", "m.stablehlo"}) {
    const auto identify = [&](const std::string& bytes) {
      const auto found = identify_model(folder.write_bytes(bytes, name).string(), {"pt", "xml", "stablehlo", "mlir"});
      return found ? found->format : to_string(found.error());
    };
    EXPECT_EQ(identify(script), "pt") << name;
    EXPECT_EQ(identify(ir), "xml") << name;
    EXPECT_EQ(identify(hlo), "stablehlo") << name;
    EXPECT_EQ(identify("ML\xEFR\x0DMLIR"), "stablehlo") << name;
    EXPECT_EQ(identify("def forward(self, x0: Tensor):\n  return x0"), "torchscript") << name;
    EXPECT_EQ(identify_model(folder.write(small_model(), name).string())->kind, Kind::kOnnxFile) << name;
    EXPECT_THAT(identify("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."),
                HasSubstr("is a Python pickle (torch.save), not TorchScript"))
        << name;
    EXPECT_THAT(identify(testing::zip_of({"m/constants.pkl"}).substr(0, 40)), HasSubstr("is not whole")) << name;
  }
}

TEST(IdentifyModel, SaysWhatAFileIsAndWhatIsValid) {
  const ModelFolder folder;
  const auto refused = [&](const std::string& bytes, const char* name = "model") {
    const auto found = identify_model(folder.write_bytes(bytes, name).string(), {"pt", "xml", "stablehlo", "mlir"});
    return found ? "valid" : to_string(found.error());
  };
  const auto safetensors = [] {
    std::string bytes(8, '\0');
    bytes[0] = 2;
    return bytes + "{}";
  };
  EXPECT_THAT(refused(safetensors()), HasSubstr("is not a model that assay reads: it is a safetensors file"));
  EXPECT_THAT(refused("GGUF\x03"), AllOf(HasSubstr("it is a GGUF file"), HasSubstr("valid: a file (.onnx")));
  EXPECT_THAT(refused("\x80\x04K\x01."), HasSubstr("a Python pickle, which only the program that wrote it can use"));
  EXPECT_THAT(refused("\x80\x06K\x01."), HasSubstr("of an unknown kind")) << "a protocol that Python does not have";
  EXPECT_THAT(refused("\x80\xFFK\x01."), HasSubstr("of an unknown kind"));
  EXPECT_THAT(refused(testing::zip_of({"a.npy", "b.npy", "c.npy", "d.npy"}), "x.npz"),
              HasSubstr("it is a zip archive of 'a.npy', 'b.npy', 'c.npy' and 1 more"));
  EXPECT_THAT(refused(testing::zip_of({"metadata.json", "model.weights.h5"})), HasSubstr("it is a Keras model"));
  EXPECT_THAT(refused("\x0a\x05hello\x12\x02ok"), HasSubstr("of an unknown kind")) << "protobuf, but not ONNX";
  EXPECT_THAT(refused("\x01\x02\x03"), HasSubstr("of an unknown kind"));
}

TEST(IdentifyModel, ATornOnnxFileIsLeftToTheReaderOfOnnx) {
  const ModelFolder folder;
  std::string bytes = small_model().SerializeAsString();
  bytes.resize(bytes.size() - 3);
  EXPECT_EQ(identify_model(folder.write_bytes(bytes, "blob").string())->kind, Kind::kOnnxFile);
}

TEST(IdentifyModel, KnowsTheFormatsOfRuntimesThatItIsGiven) {
  const ModelFolder folder;
  const std::string file = folder.write_bytes("text of its own", "m.TOY").string();
  EXPECT_FALSE(identify_model(file));
  const auto found = identify_model(file, {"other", "toy"});
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->kind, Kind::kRuntimeFile);
  EXPECT_EQ(found->format, "toy");
  EXPECT_EQ(identify_model(folder.write_bytes("<net name=\"m\">", "m.xml").string())->format, "xml");
  EXPECT_FALSE(identify_model(folder.write_bytes("<html>", "page.xml").string(), {"xml"})) << "its content is known";
}

TEST(IdentifyModel, LooksIntoFolders) {
  const ModelFolder folder;
  const auto empty = folder.path() / "empty";
  std::filesystem::create_directory(empty);
  EXPECT_THAT(identify_model(empty.string()).error().message,
              HasSubstr("neither model.onnx nor config.json: it is empty"));

  folder.write_bytes("x", "other/decoder.onnx");
  EXPECT_THAT(identify_model((folder.path() / "other").string()).error().hint, HasSubstr("decoder.onnx?"));

  folder.write_bytes("{}", "seeded/config.json");
  const auto seeded = identify_model((folder.path() / "seeded").string());
  EXPECT_EQ(seeded->kind, Kind::kConfigFolder);
  EXPECT_FALSE(seeded->weights);
  EXPECT_EQ(identify_model((folder.path() / "seeded/config.json").string())->kind, Kind::kConfigFolder);

  folder.write_bytes("x", "seeded/pytorch_model.bin");
  const auto pickled = identify_model((folder.path() / "seeded").string());
  EXPECT_EQ(pickled.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(pickled.error().hint, HasSubstr("save_file"));
  const auto spaced = folder.write_bytes("x", "it's/pytorch_model.bin").parent_path();
  folder.write_bytes("{}", "it's/config.json");
  EXPECT_THAT(identify_model(spaced.string()).error().hint, HasSubstr("/it'\\''s' && python3 -c"));

  folder.write_bytes("x", "seeded/model.safetensors");
  EXPECT_EQ(identify_model((folder.path() / "seeded").string())->weights->filename(), "model.safetensors");

  folder.write(small_model(), "seeded/model.onnx");
  EXPECT_EQ(identify_model((folder.path() / "seeded").string())->kind, Kind::kOnnxFile);
}

}  // namespace
}  // namespace assay
