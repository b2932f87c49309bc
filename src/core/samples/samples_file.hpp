// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "core/samples/measurement.hpp"

namespace assay {

/// The samples file (docs/formats.md), little-endian:
///
///   header   "ASSAYSMP", u32 length L, L bytes of JSON, u32 CRC-32 of the JSON
///            {"schema_version": 1, "columns": [{"name": "kind", "dtype": "uint8"}, {"name": "stream", "dtype":
///            "uint32"},
///             {"name": "start_ns", "dtype": "int64"}, {"name": "duration_ns", "dtype": "int64"}]}, padded with blanks
///   block*   "BLCK", u32 rows, each column's values one after the other, u32 CRC-32 of rows and values
///
/// A truncated file is readable up to its last complete block. CRC-32 is zlib's (ISO 3309). An unknown start is
/// INT64_MIN.
class SamplesWriter {
 public:
  /// Creates or truncates the file and writes the header. Errors: invalid_argument (the path), internal (disk full).
  [[nodiscard]] static Result<SamplesWriter> create(const std::filesystem::path& path);
  SamplesWriter(SamplesWriter&& other) noexcept;
  SamplesWriter& operator=(SamplesWriter&& other) noexcept;
  ~SamplesWriter();

  /// Appends the samples from index `first` on and passes them to the kernel: they survive this process.
  /// Errors: internal (disk full, I/O): the file is truncated to its last complete block, and later calls fail too.
  [[nodiscard]] Status append(const Samples& samples, std::size_t first = 0);
  /// Flushes to the disk and closes. Errors: internal.
  [[nodiscard]] Status close();

 private:
  SamplesWriter(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
  Status write(const std::string& bytes);

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;  ///< bytes of complete blocks
  bool failed_ = false;
};

struct SamplesFile {
  Samples samples;
  bool truncated = false;  ///< the file does not end with a complete block
  std::string why;         ///< the fault after the last complete block, and its position
};

/// Reads the complete blocks. Columns of a newer writer are skipped.
/// Errors: not_found; invalid_argument (not a samples file, an incomplete header, a column that is missing or has
/// another type; a sample with an unknown kind or a negative duration, naming it).
[[nodiscard]] Result<SamplesFile> read_samples(const std::filesystem::path& path);
/// The same for the bytes of a file; `path` is its name in messages.
[[nodiscard]] Result<SamplesFile> parse_samples(std::string_view bytes, const std::filesystem::path& path);

}  // namespace assay
