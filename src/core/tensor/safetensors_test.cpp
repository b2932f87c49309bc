// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/safetensors.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string with_length(std::uint64_t length, std::string_view rest) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i) & 0xFF));
  return bytes.append(rest);
}
std::string file_of(std::string_view header, std::size_t data) {
  return with_length(header.size(), std::string(header) + std::string(data, '\1'));
}
Result<SafetensorsContent> parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "m.safetensors");
}
std::string complaint(const std::string& bytes) {
  const auto content = parse(bytes);
  if (content) return "accepted";
  EXPECT_EQ(content.error().code, ErrorCode::kInvalidArgument);
  return content.error().message;
}
std::string tensor(std::string_view name, std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return '"' + std::string(name) + R"(":{"dtype":")" + std::string(dtype) + R"(","shape":)" + std::string(shape) +
         R"(,"data_offsets":)" + std::string(offsets) + '}';
}

TEST(Safetensors, GoesThroughAFile) {
  const auto folder = TemporaryDirectory::create();
  auto a = Tensor::create(DType::kFloat32, {2, 3});
  a->as<float>()[5] = 1.5F;
  auto b = Tensor::create(DType::kBool, {3});
  auto c = Tensor::create(DType::kInt64, {0, 7});
  auto d = Tensor::create(DType::kBFloat16, {});
  const std::vector<NamedView> views{{"b", b->view()}, {"a", a->view()}, {"c", c->view()}, {"d", d->view()}};
  const auto path = folder->path() / "x.safetensors";
  ASSERT_TRUE(write_safetensors(path, views, {{"format", "pt"}}));

  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->names(), ElementsAre("b", "a", "c", "d"));
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_TRUE(file->contains("d"));
  const auto view = file->tensor("a");
  EXPECT_EQ(view->dtype, DType::kFloat32);
  EXPECT_THAT(view->shape, ElementsAre(2, 3));
  EXPECT_EQ(element_as_double(*view, 5), 1.5);
  EXPECT_THAT(file->tensor("c")->shape, ElementsAre(0, 7));
}

TEST(Safetensors, SuggestsNamesForAMissingTensor) {
  const auto folder = TemporaryDirectory::create();
  auto a = Tensor::create(DType::kFloat32, {1});
  const std::vector<NamedView> views{{"encoder.weight", a->view()}};
  ASSERT_TRUE(write_safetensors(folder->path() / "x", views));
  const auto missing = SafetensorsFile::open(folder->path() / "x")->tensor("encoder.weights");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().hint, HasSubstr("encoder.weight"));
}

TEST(Safetensors, ReadsTheGoldens) {
  const std::filesystem::path goldens =
      std::getenv("ASSAY_GOLDENS_DIR") != nullptr ? std::getenv("ASSAY_GOLDENS_DIR") : "";
  if (goldens.empty()) GTEST_SKIP() << "ASSAY_GOLDENS_DIR is not set";
  for (const auto& folder : std::filesystem::directory_iterator(goldens)) {
    for (const char* name : {"model", "inputs", "outputs"}) {
      const auto path = folder.path() / (std::string(name) + ".safetensors");
      EXPECT_TRUE(!std::filesystem::exists(path) || SafetensorsFile::open(path)) << path;
    }
  }
}

// That the time does not grow with the square of their number is the test of OrderedObject.
TEST(Safetensors, ReadsVeryManyTensors) {
  constexpr std::size_t kTensors = 20'000;
  const std::vector<std::byte> data(kTensors);
  std::vector<NamedView> views;
  views.reserve(kTensors);
  for (std::size_t i = 0; i < kTensors; ++i)
    views.push_back({fmt::format("layer.{}.weight", i), {DType::kInt8, {1}, std::span(data).subspan(i, 1)}});
  const TemporaryDirectory folder = *TemporaryDirectory::create();
  ASSERT_TRUE(write_safetensors(folder.path() / "many.safetensors", views));
  const auto file = SafetensorsFile::open(folder.path() / "many.safetensors");
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->names().size(), kTensors);
  EXPECT_TRUE(file->contains("layer.19999.weight"));
}

TEST(Safetensors, RefusesBrokenFrames) {
  EXPECT_THAT(complaint(""), HasSubstr("m.safetensors: 0 bytes are not a safetensors file"));
  EXPECT_THAT(complaint("1234567"), HasSubstr("7 bytes"));
  EXPECT_THAT(complaint(with_length(3, "{}")), HasSubstr("a header of 3 bytes does not fit a file of 10 bytes"));
  EXPECT_THAT(complaint(with_length(UINT64_MAX, "{}")), HasSubstr("18446744073709551615"));
  EXPECT_THAT(complaint(file_of("[]", 0)), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(complaint(file_of("{\"\xFF\":1}", 0)), HasSubstr("UTF-8"));
  EXPECT_THAT(complaint(file_of("{\"a\":", 0)), HasSubstr("the header of m.safetensors: not valid JSON"));
  EXPECT_THAT(complaint(file_of("{}", 3)), HasSubstr("3 bytes at its end belong to no tensor"));
  EXPECT_THAT(
      complaint(file_of('{' + tensor("a", "U8", "[1]", "[0,1]") + ',' + tensor("a", "U8", "[1]", "[1,2]") + '}', 2)),
      HasSubstr("\"a\" is given twice"));
  EXPECT_EQ(complaint(file_of("{}   ", 0)), "accepted") << "padding with spaces is usual";
}

TEST(Safetensors, NamesTheTensorThatIsWrong) {
  const auto wrong = [](std::string_view dtype, std::string_view shape, std::string_view offsets,
                        std::size_t data = 4) {
    return complaint(file_of('{' + tensor("w", dtype, shape, offsets) + '}', data));
  };
  EXPECT_EQ(wrong("F32", "[1]", "[0,4]"), "accepted");
  EXPECT_THAT(wrong("F33", "[1]", "[0,4]"), AllOf(HasSubstr("tensor 'w'"), HasSubstr("unknown dtype \"F33\"")));
  EXPECT_THAT(wrong("F32", "[-1]", "[0,4]"), HasSubstr("is not a list of whole numbers"));
  EXPECT_THAT(wrong("F32", "[1.5]", "[0,4]"), HasSubstr("is not a list of whole numbers"));
  EXPECT_THAT(wrong("F32", "3", "[0,4]"), HasSubstr("is not a list of whole numbers"));
  EXPECT_THAT(wrong("F32", "[2]", "[0,4]"), HasSubstr("float32 of shape [2] has 8 bytes, its data_offsets have 4"));
  EXPECT_THAT(wrong("F32", "[1]", "[0,8]"), HasSubstr("bytes 0 to 8 are not inside the 4 bytes of data"));
  EXPECT_THAT(wrong("F32", "[1]", "[4,0]"), HasSubstr("are not inside"));
  EXPECT_THAT(wrong("F32", "[1]", "[0]"), HasSubstr("are not two whole numbers"));
  EXPECT_THAT(wrong("F32", "[1]", "[0,1152921504606846976]"), HasSubstr("are not inside"));
  EXPECT_THAT(wrong("F32", "[1152921504606846976]", "[0,4]"), HasSubstr("4611686018427387904 bytes"));
  EXPECT_THAT(wrong("F32", "[4611686018427387904,16]", "[0,4]"), HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(wrong("F32", "[18446744073709551615]", "[0,4]"), HasSubstr("beyond 2^63"));
  EXPECT_THAT(complaint(file_of(R"({"w":{"dtype":"F32","shape":[1]}})", 4)), HasSubstr("needs exactly"));
  EXPECT_THAT(complaint(file_of(R"({"w":[]})", 4)), HasSubstr("needs exactly"));
  EXPECT_THAT(complaint(file_of(R"({"w":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", 4)),
              HasSubstr("unknown dtype 1"));
}

TEST(Safetensors, RefusesOverlapsAndHoles) {
  const auto two = [](std::string_view first, std::string_view second, std::size_t data) {
    return complaint(
        file_of('{' + tensor("a", "U8", "[2]", first) + ',' + tensor("b", "U8", "[2]", second) + '}', data));
  };
  EXPECT_EQ(two("[2,4]", "[0,2]", 4), "accepted");
  EXPECT_THAT(two("[0,2]", "[1,3]", 3), HasSubstr("tensor 'b': its bytes overlap"));
  EXPECT_THAT(two("[0,2]", "[0,2]", 2), HasSubstr("overlap"));
  EXPECT_THAT(two("[0,2]", "[3,5]", 5), HasSubstr("tensor 'b': 1 bytes before it belong to no tensor"));
}

TEST(Safetensors, ChecksMetadata) {
  EXPECT_THAT(complaint(file_of(R"({"__metadata__":[]})", 0)), HasSubstr("__metadata__ is not an object"));
  EXPECT_THAT(complaint(file_of(R"({"__metadata__":{"a":1}})", 0)), HasSubstr("metadata 'a' is not a string"));
}

TEST(Safetensors, SaysWhatItCannotWrite) {
  const auto folder = TemporaryDirectory::create();
  const auto path = folder->path() / "x";
  auto a = Tensor::create(DType::kFloat32, {1});
  auto packed = Tensor::create(DType::kInt4, {2});
  const auto write = [&](std::vector<NamedView> views) { return write_safetensors(path, views).error().message; };
  EXPECT_THAT(write({{"a", a->view()}, {"a", a->view()}}), HasSubstr("tensor 'a': given twice"));
  EXPECT_THAT(write({{"p", packed->view()}}), HasSubstr("safetensors has no int4"));
  EXPECT_THAT(write({{"\xFF", a->view()}}), HasSubstr("not a name"));
  TensorView short_one = a->view();
  short_one.shape = {2};
  EXPECT_THAT(write({{"a", short_one}}), HasSubstr("has 8 bytes, not 4"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace assay
