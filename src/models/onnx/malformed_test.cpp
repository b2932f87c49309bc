// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "models/onnx/inspect.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {

using onnx::TensorProto;
using testing::add_floats;
using testing::add_node;
using testing::add_value;
using ::testing::HasSubstr;
using testing::ModelFolder;
using testing::set_external;
using testing::small_model;

struct Malformed {
  const char* name;
  std::function<void(onnx::ModelProto&)> damage;
  const char* says;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

std::ostream& operator<<(std::ostream& out, const Malformed& m) { return out << m.name; }

onnx::GraphProto& graph_of(onnx::ModelProto& m) { return *m.mutable_graph(); }
onnx::TypeProto& input_type(onnx::ModelProto& m) { return *graph_of(m).mutable_input(0)->mutable_type(); }
onnx::TensorShapeProto& input_shape(onnx::ModelProto& m) {
  return *input_type(m).mutable_tensor_type()->mutable_shape();
}
TensorProto& weight(onnx::ModelProto& m) { return *graph_of(m).mutable_initializer(0); }

onnx::GraphProto& add_branch(onnx::ModelProto& m) {
  onnx::NodeProto& node = add_node(graph_of(m), "If", {"x"}, {"branch_output"});
  auto& branch = *node.add_attribute();
  branch.set_name("then_branch");
  branch.set_type(onnx::AttributeProto::GRAPH);
  return *branch.mutable_g();
}

onnx::FunctionProto& add_function(onnx::ModelProto& m, const char* name, std::initializer_list<const char*> calls) {
  onnx::FunctionProto& f = *m.add_functions();
  f.set_domain("f");
  f.set_name(name);
  f.add_input("a");
  f.add_output("out");
  f.add_opset_import()->set_version(17);
  onnx::GraphProto body;
  add_node(body, "Relu", {"a"}, {"out"});
  for (const char* call : calls) {
    const std::string output = "o" + std::to_string(body.node_size());
    add_node(body, call, {"a"}, {output.c_str()}).set_domain("f");
  }
  *f.mutable_node() = body.node();
  return f;
}

void add_sparse(onnx::ModelProto& m, const std::vector<std::int64_t>& indices, std::int64_t values) {
  onnx::SparseTensorProto& sparse = *graph_of(m).add_sparse_initializer();
  *sparse.mutable_values() = add_floats(graph_of(m), "sparse", {values});
  graph_of(m).mutable_initializer()->RemoveLast();
  sparse.mutable_indices()->set_data_type(TensorProto::INT64);
  sparse.mutable_indices()->add_dims(static_cast<std::int64_t>(indices.size()));
  for (const std::int64_t i : indices) sparse.mutable_indices()->add_int64_data(i);
  sparse.add_dims(3);
  sparse.add_dims(3);
}

const Malformed kMalformed[] = {
    // the graph
    {"NoGraph", [](auto& m) { m.clear_graph(); }, "no graph"},
    {"NoOutputs", [](auto& m) { graph_of(m).clear_output(); }, "no outputs"},
    {"OutputThatNothingProduces", [](auto& m) { graph_of(m).mutable_output(0)->set_name("nowhere"); },
     "output 'nowhere' is produced by nothing"},
    {"OutputWithoutName", [](auto& m) { graph_of(m).mutable_output(0)->clear_name(); }, "output has no name"},
    {"OutputListedTwice", [](auto& m) { *graph_of(m).add_output() = m.graph().output(0); }, "'y' is listed twice"},
    {"InputThatNothingProduces", [](auto& m) { graph_of(m).mutable_node(1)->set_input(1, "ghost"); },
     "'Add_2' (Add) reads 'ghost'"},
    {"InputListedTwice", [](auto& m) { *graph_of(m).add_input() = m.graph().input(0); }, "'x' is defined twice"},
    {"InputWithoutName", [](auto& m) { graph_of(m).mutable_input(0)->clear_name(); }, "has no name"},
    {"InputNameThatIsNotUtf8",
     [](auto& m) {
       graph_of(m).mutable_input(0)->set_name("\xff\xfe");
       graph_of(m).mutable_node(0)->set_input(0, "\xff\xfe");
     },
     "not valid UTF-8"},
    {"TwoNodesMakeOneValue", [](auto& m) { graph_of(m).mutable_node(1)->set_output(0, "product"); },
     "'product' is defined twice"},
    {"OneNodeMakesAValueTwice", [](auto& m) { graph_of(m).mutable_node(1)->add_output("sum"); },
     "'sum' is defined twice"},
    {"NodeMakesAnInput", [](auto& m) { graph_of(m).mutable_node(1)->add_output("x"); }, "'x' is defined twice"},
    {"NodeMakesAnInitializer", [](auto& m) { graph_of(m).mutable_node(1)->add_output("w"); }, "'w' is defined twice"},
    {"Cycle", [](auto& m) { graph_of(m).mutable_node(0)->set_input(0, "sum"); },
     "cycle: node 'MatMul_1' (MatMul) → node 'Add_2' (Add) → node 'MatMul_1' (MatMul)"},
    {"NodeThatReadsItself", [](auto& m) { graph_of(m).mutable_node(2)->set_input(0, "y"); },
     "cycle: node 'Relu_3' (Relu) → node 'Relu_3'"},
    {"CycleThroughABranch",
     [](auto& m) {
       auto& g = add_branch(m);
       add_node(g, "Relu", {"later"}, {"r"});
       g.add_output()->set_name("r");
       add_node(graph_of(m), "Relu", {"branch_output"}, {"later"});
     },
     "cycle"},
    {"NodeWithoutOperator", [](auto& m) { graph_of(m).mutable_node(1)->clear_op_type(); }, "no operator type"},
    {"OperatorThatIsNotUtf8", [](auto& m) { graph_of(m).mutable_node(1)->set_op_type("\xc3("); }, "not valid UTF-8"},
    {"AttributeTwice",
     [](auto& m) {
       for (int i = 0; i < 2; ++i) graph_of(m).mutable_node(1)->add_attribute()->set_name("axis");
     },
     "attribute 'axis' of node 'Add_2' (Add) is given twice"},
    {"AttributeWithoutName", [](auto& m) { graph_of(m).mutable_node(1)->add_attribute()->set_i(3); }, "has no name"},
    {"AttributeWithoutItsTensor",
     [](auto& m) {
       auto& a = *graph_of(m).mutable_node(1)->add_attribute();
       a.set_name("value");
       a.set_type(onnx::AttributeProto::TENSOR);
     },
     "has no value"},
    {"BranchThatReadsNothingKnown",
     [](auto& m) {
       auto& g = add_branch(m);
       add_node(g, "Relu", {"inner_ghost"}, {"r"});
       g.add_output()->set_name("r");
     },
     "reads 'inner_ghost'"},
    {"BranchOutputThatNothingProduces", [](auto& m) { add_branch(m).add_output()->set_name("r"); },
     "'r' is produced by nothing"},
    // versions
    {"NoIrVersion", [](auto& m) { m.clear_ir_version(); }, "0 is not a version"},
    {"NegativeIrVersion", [](auto& m) { m.set_ir_version(-3); }, "-3 is not a version"},
    {"AbsurdIrVersion", [](auto& m) { m.set_ir_version(1LL << 60); }, "is not a version"},
    {"NextCenturysIrVersion", [](auto& m) { m.set_ir_version(99); }, "99 is not a version"},
    {"OpsetFarBeyond", [](auto& m) { m.mutable_opset_import(0)->set_version(999); }, "imports version 999"},
    {"OpsetOfAnotherSetFarBeyond",
     [](auto& m) {
       m.add_opset_import()->set_domain("ai.onnx.ml");
       m.mutable_opset_import(1)->set_version(999);
     },
     "imports version 999 of the operator set 'ai.onnx.ml'"},
    {"NoOpset", [](auto& m) { m.clear_opset_import(); }, "imports no operator set"},
    {"OpsetOfAnotherDomainOnly", [](auto& m) { m.mutable_opset_import(0)->set_domain("com.microsoft"); },
     "is not imported"},
    {"OpsetZero", [](auto& m) { m.mutable_opset_import(0)->set_version(0); }, "imports version 0"},
    {"TwoOpsets", [](auto& m) { m.add_opset_import()->set_version(9); }, "versions 17 and 9"},
    // types and extents
    {"InputWithoutType", [](auto& m) { graph_of(m).mutable_input(0)->clear_type(); }, "input 'x' has no type"},
    {"InputOfUndefinedType", [](auto& m) { input_type(m).mutable_tensor_type()->clear_elem_type(); }, "element type 0"},
    {"InputOfUnknownType", [](auto& m) { input_type(m).mutable_tensor_type()->set_elem_type(99); }, "element type 99"},
    {"StringInput", [](auto& m) { input_type(m).mutable_tensor_type()->set_elem_type(TensorProto::STRING); },
     "input 'x' is a tensor of strings", ErrorCode::kUnsupported},
    {"ReservedNameOfAnInput",
     [](auto& m) {
       graph_of(m).mutable_input(0)->set_name("__metadata__");
       graph_of(m).mutable_node(0)->set_input(0, "__metadata__");
     },
     "input '__metadata__': safetensors", ErrorCode::kUnsupported},
    {"SequenceInput",
     [](auto& m) { input_type(m).mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type(); },
     "input 'x' is a sequence", ErrorCode::kUnsupported},
    {"MapInput", [](auto& m) { input_type(m).mutable_map_type()->set_key_type(7); }, "input 'x' is a map",
     ErrorCode::kUnsupported},
    {"OptionalInput", [](auto& m) { input_type(m).mutable_optional_type(); }, "input 'x' is optional",
     ErrorCode::kUnsupported},
    {"SparseInput", [](auto& m) { input_type(m).mutable_sparse_tensor_type()->set_elem_type(1); }, "a sparse tensor",
     ErrorCode::kUnsupported},
    {"ExtentBelowMinusOne", [](auto& m) { input_shape(m).mutable_dim(1)->set_dim_value(-2); },
     "input 'x': extent -2 at axis 1 is below -1"},
    {"OutputExtentBelowMinusOne",
     [](auto& m) {
       graph_of(m)
           .mutable_output(0)
           ->mutable_type()
           ->mutable_tensor_type()
           ->mutable_shape()
           ->mutable_dim(0)
           ->set_dim_value(-7);
     },
     "output 'y': extent -7"},
    {"InnerExtentBelowMinusOne",
     [](auto& m) { add_value(graph_of(m).mutable_value_info(), "sum", TensorProto::FLOAT, {"-9"}); },
     "value 'sum': extent -9"},
    {"InputTooLargeForItsSize",
     [](auto& m) {
       for (auto& dim : *input_shape(m).mutable_dim()) dim.set_dim_value(1LL << 40);
     },
     "overflows"},
    {"InputLargerThanMemory", [](auto& m) { input_shape(m).mutable_dim(0)->set_dim_value(1LL << 50); },
     "more than this machine's memory"},
    {"InputOfAbsurdRank",
     [](auto& m) {
       for (int i = 0; i < 100; ++i) input_shape(m).add_dim()->set_dim_value(1);
     },
     "102 extents"},
    // initializers
    {"InitializerTwice", [](auto& m) { *graph_of(m).add_initializer() = m.graph().initializer(0); },
     "initializer 'w' is defined twice"},
    {"InitializerWithoutName", [](auto& m) { weight(m).clear_name(); }, "initializer has no name"},
    {"InitializerOfUnknownType", [](auto& m) { weight(m).set_data_type(77); },
     "initializer 'w' has the unknown element type 77"},
    {"InitializerOfUndefinedType", [](auto& m) { weight(m).clear_data_type(); }, "element type 0"},
    {"InitializerOfSixBitFloats", [](auto& m) { weight(m).set_data_type(TensorProto::FLOAT6E2M3); }, "six-bit",
     ErrorCode::kUnsupported},
    {"InitializerTooShort", [](auto& m) { weight(m).mutable_raw_data()->pop_back(); }, "64 bytes, but has 63"},
    {"InitializerTooLong", [](auto& m) { weight(m).mutable_raw_data()->push_back('x'); }, "64 bytes, but has 65"},
    {"InitializerWithoutData", [](auto& m) { weight(m).clear_raw_data(); }, "16 entries of float_data, but has 0"},
    {"InitializerWithEmptyData", [](auto& m) { weight(m).set_raw_data(""); }, "64 bytes, but has 0"},
    {"InitializerWithTooFewEntries",
     [](auto& m) {
       weight(m).clear_raw_data();
       weight(m).add_float_data(1);
     },
     "16 entries of float_data, but has 1"},
    {"InitializerWithDataTwice", [](auto& m) { weight(m).add_float_data(1); }, "has its data twice"},
    {"InitializerWithDataOfAnotherType", [](auto& m) { weight(m).add_int64_data(1); }, "data of another type"},
    {"InitializerOfRawStrings", [](auto& m) { weight(m).set_data_type(TensorProto::STRING); }, "strings as raw_data"},
    {"InitializerWithANegativeExtent", [](auto& m) { weight(m).set_dims(0, -4); }, "extent -4 at axis 0 is below 0"},
    {"InitializerWithAnUnknownExtent", [](auto& m) { weight(m).set_dims(0, -1); }, "extent -1 at axis 0 is below 0"},
    {"InitializerThatOverflows",
     [](auto& m) {
       weight(m).set_dims(0, 1LL << 40);
       weight(m).set_dims(1, 1LL << 40);
     },
     "overflows"},
    {"InitializerThatWrapsToItsRealSize",
     [](auto& m) {
       weight(m).set_dims(0, (1LL << 62) + 4);
       weight(m).set_dims(1, 4);
     },
     "overflows"},
    {"InitializerLargerThanMemory", [](auto& m) { weight(m).set_dims(0, 1LL << 48); },
     "more than this machine's memory"},
    {"InitializerLargerThanItsFile", [](auto& m) { weight(m).set_dims(0, 1LL << 20); }, "16777216 bytes, but has 64"},
    {"InitializerThatIsASegment", [](auto& m) { weight(m).mutable_segment()->set_begin(0); }, "segment",
     ErrorCode::kUnsupported},
    {"AttributeTensorTooShort",
     [](auto& m) {
       auto& a = *graph_of(m).mutable_node(1)->add_attribute();
       a.set_name("value");
       *a.mutable_t() = m.graph().initializer(0);
       a.mutable_t()->mutable_raw_data()->pop_back();
     },
     "attribute 'value' of node 'Add_2' (Add) is float32 [4, 4], 64 bytes, but has 63"},
    {"BranchInitializerTooShort",
     [](auto& m) {
       auto& g = add_branch(m);
       g.add_output()->set_name("r");
       add_floats(g, "r", {8}).mutable_raw_data()->pop_back();
     },
     "initializer 'r'"},
    {"SparseIndexOutside",
     [](auto& m) {
       add_sparse(m, {1, 9}, 2);
     },
     "index 9 is outside [3, 3]"},
    {"SparseIndexNegative",
     [](auto& m) {
       add_sparse(m, {-1, 2}, 2);
     },
     "index -1 is outside"},
    {"SparseIndicesDescending",
     [](auto& m) {
       add_sparse(m, {5, 2}, 2);
     },
     "not ascending"},
    {"SparseCountsDiffer",
     [](auto& m) {
       add_sparse(m, {1, 2, 3}, 2);
     },
     "do not fit a sparse tensor"},
    // external data
    {"ExternalWithoutLocation", [](auto& m) { set_external(weight(m), {}); }, "names no location"},
    {"ExternalMissing",
     [](auto& m) {
       set_external(weight(m), {{"location", "none.bin"}});
     },
     "none.bin' is missing", ErrorCode::kNotFound},
    {"ExternalTooShort",
     [](auto& m) {
       set_external(weight(m), {{"location", "sixty.bin"}});
     },
     "needs 64 bytes from offset 0"},
    {"ExternalOffsetBeyondTheEnd",
     [](auto& m) {
       set_external(weight(m), {{"location", "hundred.bin"}, {"offset", "40"}});
     },
     "needs 64 bytes from offset 40"},
    {"ExternalOffsetThatWraps",
     [](auto& m) {
       set_external(weight(m), {{"location", "hundred.bin"}, {"offset", "18446744073709551600"}});
     },
     "from offset 18446744073709551600"},
    {"ExternalOffsetTooLargeForANumber",
     [](auto& m) {
       set_external(weight(m), {{"location", "hundred.bin"}, {"offset", "99999999999999999999"}});
     },
     "not a number of bytes"},
    {"ExternalOffsetNegative",
     [](auto& m) {
       set_external(weight(m), {{"location", "hundred.bin"}, {"offset", "-8"}});
     },
     "the offset of its external data is '-8'"},
    {"ExternalLengthNotANumber",
     [](auto& m) {
       set_external(weight(m), {{"location", "hundred.bin"}, {"length", "64x"}});
     },
     "the length of its external data is '64x'"},
    {"ExternalLengthWrong",
     [](auto& m) {
       set_external(weight(m), {{"location", "hundred.bin"}, {"length", "60"}});
     },
     "has length 60"},
    {"ExternalAbsolute",
     [](auto& m) {
       set_external(weight(m), {{"location", "/etc/passwd"}});
     },
     "absolute path"},
    {"ExternalAbove",
     [](auto& m) {
       set_external(weight(m), {{"location", "../outside.bin"}});
     },
     "leaves the model's folder"},
    {"ExternalAboveInTheMiddle",
     [](auto& m) {
       set_external(weight(m), {{"location", "sub/../../outside.bin"}});
     },
     "leaves the model's folder"},
    {"ExternalLinkOutside",
     [](auto& m) {
       set_external(weight(m), {{"location", "link.bin"}});
     },
     "link that leaves the model's folder"},
    {"ExternalFolder",
     [](auto& m) {
       set_external(weight(m), {{"location", "sub"}});
     },
     "not a regular file"},
    {"ExternalAddress",
     [](auto& m) {
       set_external(weight(m), {{"location", "*/_ORT_MEM_ADDR_/*"}});
     },
     "is an address"},
    {"ExternalBesideData",
     [](auto& m) {
       set_external(weight(m), {{"location", "hundred.bin"}});
       weight(m).set_raw_data("0123");
     },
     "has data and names external data"},
    {"ExternalStrings",
     [](auto& m) {
       set_external(weight(m), {{"location", "hundred.bin"}});
       weight(m).set_data_type(TensorProto::STRING);
     },
     "strings as external data"},
    // functions
    {"FunctionThatCallsItself", [](auto& m) { add_function(m, "A", {"A"}); }, "calls itself"},
    {"FunctionsThatCallEachOther",
     [](auto& m) {
       add_function(m, "A", {"B"});
       add_function(m, "B", {"A"});
     },
     "calls itself"},
    {"FunctionsThatGrowWithoutBound",
     [](auto& m) {
       const char* names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
       for (int i = 0; i < 8; ++i) {
         const char* n = names[i + 1];
         add_function(m, names[i], {n, n, n, n, n, n, n, n, n, n});
       }
       add_function(m, "i", {});
     },
     "once local functions are inlined"},
    {"FunctionTwice",
     [](auto& m) {
       add_function(m, "A", {});
       add_function(m, "A", {});
     },
     "function 'A' is defined twice"},
    {"FunctionOutputThatNothingProduces", [](auto& m) { add_function(m, "A", {}).add_output("none"); },
     "output 'none' is produced by nothing"},
    {"FunctionWithoutOpset", [](auto& m) { add_function(m, "A", {}).clear_opset_import(); }, "is not imported"},
};

class MalformedModel : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedModel, IsRefusedWithItsReason) {
  const ModelFolder folder;
  folder.write_bytes(std::string(60, 'a'), "in/sixty.bin");
  folder.write_bytes(std::string(100, 'a'), "in/hundred.bin");
  folder.write_bytes(std::string(100, 'a'), "outside.bin");
  std::filesystem::create_directory(folder.path() / "in/sub");
  std::filesystem::create_symlink(folder.path() / "outside.bin", folder.path() / "in/link.bin");
  onnx::ModelProto model = small_model();
  GetParam().damage(model);
  const auto info = inspect_model(folder.write(model, "in/model.onnx"));
  ASSERT_FALSE(info) << "was taken for a sound model";
  EXPECT_THAT(info.error().message, HasSubstr(GetParam().says));
  EXPECT_EQ(info.error().code, GetParam().code);
  EXPECT_THAT(to_string(info.error()), HasSubstr("model.onnx"));
}

INSTANTIATE_TEST_SUITE_P(All, MalformedModel, ::testing::ValuesIn(kMalformed),
                         [](const auto& test) { return test.param.name; });

struct Foreign {
  const char* name;
  std::string bytes;
  const char* says;
};
std::ostream& operator<<(std::ostream& out, const Foreign& f) { return out << f.name; }

const Foreign kForeign[] = {
    {"Empty", "", "is empty"},
    {"Html", "<!DOCTYPE html>\n<html><body>404</body></html>", "an HTML or XML page"},
    {"Json", "{\"error\": \"not found\"}", "JSON text"},
    {"Text", "This is not a model.\n", "plain text"},
    {"Blank", "\n\n\n  \n", "blank text"},
    {"LfsPointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "git lfs pull"},
    {"Zip", std::string("PK\x03\x04\x14\0\0\0", 8), "zip archive (a PyTorch"},
    {"Pickle", std::string("\x80\x02}q\x01.", 6), "Python pickle"},
    {"Gzip", "\x1f\x8b\x08junk", "gzip"},
    {"Safetensors", std::string("\x02\0\0\0\0\0\0\0{}", 10) + "\xff", "safetensors"},
    {"Gguf", std::string("GGUF\x03\0\0\0", 8), "GGUF"},
    {"Elf",
     "\x7F"
     "ELF\x02\x01\x01",
     "ELF"},
    {"Zeros", std::string(64, '\0'), "truncated or damaged"},
    {"Noise", "\xde\xad\xbe\xef\xff\xff\xff\xff\xff\xff\xff", "truncated or damaged"},
    {"Nesting",
     [] {
       std::string bytes = "x";
       for (int i = 0; i < 400; ++i) {  // graph inside attribute inside node inside graph …
         onnx::NodeProto node;
         node.add_attribute();
         node.mutable_attribute(0)->set_s(bytes);
         const char head[] = {'\x0a', static_cast<char>(0x80 | (bytes.size() & 0x7F)),
                              static_cast<char>(bytes.size() >> 7)};
         bytes.insert(0, head, sizeof head);
       }
       return bytes;
     }(),
     "truncated or damaged"},
};

class ForeignFile : public ::testing::TestWithParam<Foreign> {};

TEST_P(ForeignFile, IsNamedForWhatItLooksLike) {
  const ModelFolder folder;
  const auto info = inspect_model(folder.write_bytes(GetParam().bytes, "model.onnx"));
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().message, HasSubstr(GetParam().says));
  EXPECT_EQ(info.error().code, ErrorCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(All, ForeignFile, ::testing::ValuesIn(kForeign),
                         [](const auto& test) { return test.param.name; });

TEST(InspectModel, SaysThatAFileIsMissingOrAFolder) {
  const ModelFolder folder;
  EXPECT_EQ(inspect_model(folder.path() / "none.onnx").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(inspect_model(folder.path()).error().code, ErrorCode::kInvalidArgument);
}

TEST(InspectModel, RefusesSubgraphsNestedDeeperThanProtobufReads) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < 60; ++i) {
    onnx::NodeProto& node = add_node(*graph, "If", {"x"}, {});
    node.add_attribute()->set_name("then_branch");
    graph = node.mutable_attribute(0)->mutable_g();
  }
  const ModelFolder folder;
  const auto info = inspect_model(folder.write(model));
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().message, HasSubstr("nest deeper than 100 levels"));
}

TEST(InspectModel, RefusesFilesBeyondTwoGibibytesWithoutReadingThem) {
  const ModelFolder folder;
  const auto path = folder.write(small_model());
  std::filesystem::resize_file(path, 1ULL << 31);  // sparse
  const auto info = inspect_model(path);
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().message, HasSubstr("larger than 2 GiB"));
  EXPECT_THAT(info.error().hint, HasSubstr("external data"));
}

TEST(InspectModel, FollowsLinksAsHuggingFacesCacheMakesThem) {
  const ModelFolder folder;
  onnx::ModelProto model = small_model();
  set_external(weight(model), {{"location", "w.bin"}});
  folder.write_bytes(std::string(64, 'a'), "blobs/2222");
  const auto blob = folder.write(model, "blobs/1111");
  std::filesystem::create_directory(folder.path() / "snapshot");
  std::filesystem::create_symlink("../blobs/1111", folder.path() / "snapshot/model.onnx");
  std::filesystem::create_symlink("../blobs/2222", folder.path() / "snapshot/w.bin");
  const auto info = inspect_model(folder.path() / "snapshot/model.onnx");
  EXPECT_TRUE(info) << to_string(info.error());
}

}  // namespace
}  // namespace assay
