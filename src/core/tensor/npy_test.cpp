// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <cstring>
#include <string>

#include "core/base/files.hpp"
#include "core/tensor/npz.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string npy(std::string_view header, std::string_view data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  if (version > 1) bytes.append(2, '\0');
  return bytes.append(header).append(data);
}
std::string dictionary(std::string_view descr, std::string_view fortran, std::string_view shape) {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(fortran) +
         ", 'shape': " + std::string(shape) + ", }  \n";
}
Result<Tensor> parse_array(const std::string& bytes) { return parse_npy(std::as_bytes(std::span(bytes)), "x.npy"); }
std::string array_complaint(const std::string& bytes) {
  const auto tensor = parse_array(bytes);
  return tensor ? "accepted" : tensor.error().message;
}

TEST(Npy, ReadsVersionsOneToThree) {
  for (const char version : {'\1', '\2', '\3'}) {
    const auto tensor =
        parse_array(npy(dictionary("<i2", "False", "(2, 2)"), std::string("\1\0\2\0\3\0\4\0", 8), version));
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->dtype(), DType::kInt16);
    EXPECT_THAT(tensor->shape(), ElementsAre(2, 2));
    EXPECT_THAT(tensor->as<std::int16_t>(), ElementsAre(1, 2, 3, 4));
  }
}

TEST(Npy, TransposesFortranOrder) {
  // Column by column: element (i, j, k) of [2, 3, 2] is i + 2 j + 6 k.
  std::string data;
  for (char i = 0; i < 12; ++i) data.push_back(i);
  const auto tensor = parse_array(npy(dictionary("|u1", "True", "(2, 3, 2)"), data));
  ASSERT_TRUE(tensor);
  EXPECT_THAT(tensor->as<std::uint8_t>(), ElementsAre(0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11));
}

TEST(Npy, ReadsScalarsVectorsAndEmptyArrays) {
  EXPECT_THAT(parse_array(npy(dictionary("|b1", "False", "()"), "\1"))->shape(), ElementsAre());
  EXPECT_THAT(parse_array(npy(dictionary("|i1", "True", "(3,)"), "abc"))->shape(), ElementsAre(3));
  EXPECT_THAT(parse_array(npy(dictionary("<f8", "True", "(0, 4)"), ""))->shape(), ElementsAre(0, 4));
  EXPECT_TRUE(parse_array(npy("{'shape':(1,),\"descr\":'<f4','fortran_order':False}", "abcd")));
}

TEST(Npy, RefusesElementsItCannotHold) {
  for (const char* descr : {">f4", "|O", "<U3", "<c8", "|S5", "<M8[ns]", "|V2"}) {
    const auto tensor = parse_array(npy(dictionary(descr, "False", "(1,)"), "12345678"));
    ASSERT_FALSE(tensor) << descr;
    EXPECT_EQ(tensor.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(tensor.error().message, HasSubstr(std::string("x.npy: elements of type ") + descr));
  }
  EXPECT_THAT(array_complaint(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "")),
              HasSubstr("elements of type [('a', '<f4')]"));
}

TEST(Npy, RefusesDamagedFiles) {
  EXPECT_THAT(array_complaint(""), HasSubstr("not a .npy"));
  EXPECT_THAT(array_complaint("\x93NUMPY\4\0\0\0\0\0"), HasSubstr("not a .npy"));
  EXPECT_THAT(array_complaint(npy("{}", "", '\4')), HasSubstr("version 4"));
  EXPECT_THAT(array_complaint(npy("{}", "")), HasSubstr("dictionary"));
  EXPECT_THAT(array_complaint(npy(dictionary("<f4", "Maybe", "(1,)"), "abcd")), HasSubstr("dictionary"));
  EXPECT_THAT(array_complaint(npy(dictionary("<f4", "False", "(-1,)"), "abcd")), HasSubstr("dictionary"));
  EXPECT_THAT(array_complaint(npy(dictionary("<f4", "False", "(1 2)"), "abcd")), HasSubstr("dictionary"));
  EXPECT_THAT(array_complaint(npy(dictionary("<f4", "False", "(2,)"), "abcd")),
              HasSubstr("float32 of shape [2] has 8 bytes, the file has 4"));
  EXPECT_THAT(array_complaint(npy(dictionary("<f4", "False", "(1,)"), "abcdefgh")),
              HasSubstr("has 4 bytes, the file has 8"));
  EXPECT_THAT(array_complaint(npy(dictionary("<f4", "False", "(4611686018427387904, 16)"), "")), HasSubstr("2^63"));
  std::string long_header = npy("{}", "");
  long_header[8] = '\x7F';
  EXPECT_THAT(array_complaint(long_header), HasSubstr("a header of 127 bytes does not fit"));
}

TEST(Npy, WritesWhatItReads) {
  const auto folder = TemporaryDirectory::create();
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}}) {
    auto tensor = Tensor::create(DType::kFloat32, shape);
    tensor->as<float>()[0] = 2.5F;
    ASSERT_TRUE(write_npy(folder->path() / "x.npy", tensor->view()));
    const auto text = read_file(folder->path() / "x.npy");
    EXPECT_EQ((text->size() - tensor->bytes().size()) % 64, 0U);
    const auto back = read_npy(folder->path() / "x.npy");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->shape(), shape);
    EXPECT_EQ(back->as<float>()[0], 2.5F);
  }
  EXPECT_EQ(write_npy(folder->path() / "y.npy", Tensor::create(DType::kBFloat16, {1})->view()).error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(read_npy(folder->path() / "none.npy").error().code, ErrorCode::kNotFound);
}

class Npz : public ::testing::Test {
 protected:
  // Writes an archive of the given entries; false leaves them uncompressed.
  std::filesystem::path archive(const std::vector<std::pair<std::string, std::string>>& entries, bool deflate) {
    auto path = folder_->path() / "x.npz";
    zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    for (const auto& [name, content] : entries) {
      zip_source_t* source = zip_source_buffer(zip, content.data(), content.size(), 0);
      const zip_int64_t index = zip_file_add(zip, name.c_str(), source, 0);
      zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    }
    EXPECT_EQ(zip_close(zip), 0);
    return path;
  }
  Result<TemporaryDirectory> folder_ = TemporaryDirectory::create();
  std::string one_ = npy(dictionary("|u1", "False", "(3,)"), "abc");
  std::string many_ = npy(dictionary("|u1", "False", "(4000,)"), std::string(4000, 'x'));
};

TEST_F(Npz, ReadsStoredAndDeflatedArrays) {
  for (const bool deflate : {false, true}) {
    const auto tensors = read_npz(archive({{"a.npy", one_}, {"b.npy", many_}}, deflate));
    ASSERT_TRUE(tensors) << tensors.error().message;
    ASSERT_EQ(tensors->size(), 2U);
    EXPECT_EQ((*tensors)[0].name, "a");
    EXPECT_THAT((*tensors)[0].tensor.as<std::uint8_t>(), ElementsAre('a', 'b', 'c'));
    EXPECT_THAT((*tensors)[1].tensor.shape(), ElementsAre(4000));
  }
}

TEST_F(Npz, NamesTheArrayThatIsDamaged) {
  EXPECT_THAT(read_npz(archive({{"a.npy", one_}, {"b.npy", "nonsense, at length"}}, false)).error().message,
              HasSubstr("x.npz: array 'b': not a .npy"));
  const auto path = archive({{"a.npy", one_}}, false);
  std::string bytes = *read_file(path);
  bytes[bytes.find("abc")] = 'X';
  ASSERT_TRUE(write_file_atomically(path, bytes));
  EXPECT_THAT(read_npz(path).error().message, HasSubstr("array 'a': its data are damaged"));
}

TEST_F(Npz, DoesNotBelieveAClaimedSize) {
  const auto path = archive({{"a.npy", many_}}, true);
  std::string bytes = *read_file(path);
  std::size_t claims = 0;
  const std::uint32_t size = static_cast<std::uint32_t>(many_.size()), claim = 0xF0000000U;
  for (std::size_t i = 0; i + 4 <= bytes.size(); ++i) {
    if (std::memcmp(bytes.data() + i, &size, 4) != 0) continue;
    std::memcpy(bytes.data() + i, &claim, 4);
    ++claims;
  }
  ASSERT_EQ(claims, 2U) << "once before the data, once in the directory";
  ASSERT_TRUE(write_file_atomically(path, bytes));
  EXPECT_THAT(read_npz(path).error().message, HasSubstr("4026531840 bytes cannot come out of"));
}

TEST_F(Npz, RefusesWhatIsNoArchive) {
  ASSERT_TRUE(write_file_atomically(folder_->path() / "y.npz", "PK nothing"));
  EXPECT_THAT(read_npz(folder_->path() / "y.npz").error().message, HasSubstr("not an .npz archive"));
  EXPECT_EQ(read_npz(folder_->path() / "none.npz").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay
