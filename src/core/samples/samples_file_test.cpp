// SPDX-License-Identifier: Apache-2.0
#include "core/samples/samples_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "core/base/files.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;

Samples some_samples(std::size_t n, std::int64_t first = 1'000) {
  Samples samples;
  for (std::size_t i = 0; i < n; ++i) {
    samples.kind.push_back(i % 3 == 0 ? 0 : 2);
    samples.stream.push_back(static_cast<std::uint32_t>(i % 4));
    samples.start_ns.push_back(i == 1 ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(i) * 10);
    samples.duration_ns.push_back(first + static_cast<std::int64_t>(i));
  }
  return samples;
}

void expect_equal(const Samples& a, const Samples& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.stream, b.stream);
  EXPECT_EQ(a.start_ns, b.start_ns);
  EXPECT_EQ(a.duration_ns, b.duration_ns);
}

class SamplesFileTest : public ::testing::Test {
 protected:
  std::string bytes() const { return read_file(path_).value(); }
  void overwrite(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  /// Two blocks, of 100 and 50 samples.
  Samples write_two_blocks() const {
    Samples samples = some_samples(150);
    auto writer = SamplesWriter::create(path_).value();
    EXPECT_TRUE(writer.append(some_samples(100)));
    EXPECT_TRUE(writer.append(samples, 100));
    EXPECT_TRUE(writer.close());
    return samples;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  std::filesystem::path path_ = folder_.path() / "samples.bin";
};

TEST_F(SamplesFileTest, ReadsWhatWasWritten) {
  const Samples samples = write_two_blocks();
  const auto file = read_samples(path_);
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->truncated);
  expect_equal(file->samples, samples);
}

TEST_F(SamplesFileTest, NamesItsColumnsInTheHeader) {
  write_two_blocks();
  EXPECT_THAT(bytes().substr(0, 8), "ASSAYSMP");
  EXPECT_THAT(bytes(), HasSubstr(R"({"name":"duration_ns","dtype":"int64"})"));
  EXPECT_THAT(bytes(), HasSubstr(R"("schema_version":1)"));
}

TEST_F(SamplesFileTest, AFileWithoutBlocksIsEmptyAndComplete) {
  EXPECT_TRUE(SamplesWriter::create(path_).value().close());
  const auto file = read_samples(path_);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->samples.size(), 0U);
  EXPECT_FALSE(file->truncated);
}

TEST_F(SamplesFileTest, ATruncatedFileIsReadUpToItsLastCompleteBlock) {
  write_two_blocks();
  const std::string whole = bytes();
  const std::size_t second_block = whole.rfind("BLCK");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto file = parse_samples(std::string_view(whole).substr(0, size), path_);
    if (!file) {
      EXPECT_EQ(file.error().code, ErrorCode::kInvalidArgument);
      continue;
    }
    EXPECT_EQ(file->samples.size(), size >= second_block ? 100U : 0U) << size;
    EXPECT_EQ(file->truncated, size != second_block && size != whole.find("BLCK")) << size;
  }
}

TEST_F(SamplesFileTest, ADamagedBlockEndsTheReadingWithItsPosition) {
  write_two_blocks();
  std::string damaged = bytes();
  damaged[damaged.size() - 20] = static_cast<char>(damaged[damaged.size() - 20] ^ 1);
  overwrite(damaged);
  const auto file = read_samples(path_);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->truncated);
  EXPECT_EQ(file->samples.size(), 100U);
  EXPECT_THAT(file->why, HasSubstr("wrong checksum at byte"));
}

TEST_F(SamplesFileTest, AWrongNumberOfRowsAllocatesNothing) {
  write_two_blocks();
  std::string damaged = bytes();
  const std::uint32_t rows = 0xFFFFFFFF;
  std::memcpy(damaged.data() + damaged.find("BLCK") + 4, &rows, sizeof rows);
  overwrite(damaged);
  const auto file = read_samples(path_);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->samples.size(), 0U);
  EXPECT_THAT(file->why, HasSubstr("an incomplete block at byte"));
}

TEST_F(SamplesFileTest, RefusesForeignFiles) {
  EXPECT_EQ(read_samples(path_).error().code, ErrorCode::kNotFound);
  overwrite("not samples at all");
  EXPECT_THAT(read_samples(path_).error().message, HasSubstr("does not begin with ASSAYSMP"));
  overwrite(std::string("ASSAYSMP\xff\xff\xff\xff", 12) + "{}");
  EXPECT_THAT(read_samples(path_).error().message, HasSubstr("header is incomplete"));
}

TEST_F(SamplesFileTest, RefusesImpossibleSamples) {
  const auto refusal = [&](const Samples& samples) {
    auto writer = SamplesWriter::create(path_).value();
    EXPECT_TRUE(writer.append(some_samples(7)));
    EXPECT_TRUE(writer.append(samples));
    EXPECT_TRUE(writer.close());
    const auto file = read_samples(path_);
    return file ? "" : file.error().message;
  };
  Samples samples = some_samples(5);
  EXPECT_EQ(refusal(samples), "");
  samples.kind[2] = 3;
  EXPECT_THAT(refusal(samples), HasSubstr("sample 9 has kind 3"));
  samples = some_samples(5);
  samples.duration_ns[4] = -1;
  EXPECT_THAT(refusal(samples), HasSubstr("sample 11 took -1 ns"));
}

TEST_F(SamplesFileTest, NeverFailsOtherwiseOnFlippedBytes) {
  write_two_blocks();
  const std::string whole = bytes();
  std::mt19937 random(7);
  for (int i = 0; i < 2'000; ++i) {
    std::string damaged = whole;
    for (int flips = 0; flips < 3; ++flips)
      damaged[random() % (i < 1'000 ? 300 : damaged.size())] = static_cast<char>(random());
    const auto file = parse_samples(damaged, path_);
    if (!file) {
      EXPECT_EQ(file.error().code, ErrorCode::kInvalidArgument);
    }
  }
}

TEST_F(SamplesFileTest, AFullDiskKeepsTheBlocksBefore) {
  const Samples samples = some_samples(1'000);
  auto writer = SamplesWriter::create(path_).value();
  ASSERT_TRUE(writer.append(samples));

  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{std::filesystem::file_size(path_) + 100, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Status failed = writer.append(samples);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_THAT(failed.error().message, HasSubstr("samples.bin"));
  EXPECT_FALSE(writer.append(samples)) << "a file with a gap would look complete";
  const auto file = read_samples(path_);
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->truncated);
  expect_equal(file->samples, samples);
}

TEST_F(SamplesFileTest, SaysWhichFileCannotBeCreated) {
  const auto writer = SamplesWriter::create(folder_.path() / "missing" / "samples.bin");
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(writer.error().message, HasSubstr("missing/samples.bin"));
}

}  // namespace
}  // namespace assay
