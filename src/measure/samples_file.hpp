// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "measure/measurement.hpp"

namespace assay {

/// The samples file (docs/formats.md), little-endian:
///
///   header   "ASSAYSMP", u32 length L, L bytes of JSON, u32 CRC-32 of the JSON
///            {"schema_version": 1, "columns": [{"name": "kind", "dtype": "uint8"}, {"name": "stream", "dtype":
///            "uint32"},
///             {"name": "start_ns", "dtype": "int64"}, {"name": "duration_ns", "dtype": "int64"}]}, padded with blanks
///   block*   "BLCK", u32 rows, each column's values one after the other, u32 CRC-32 of rows and values
///
/// A torn file is readable up to its last whole block. CRC-32 is zlib's (ISO 3309). An unknown start is INT64_MIN.
class SamplesWriter {
 public:
  /// Makes the file, or empties it, and writes the header. Errors: invalid_argument (the path), internal (disk full).
  [[nodiscard]] static Result<SamplesWriter> create(const std::filesystem::path& path);
  SamplesWriter(SamplesWriter&& other) noexcept;
  SamplesWriter& operator=(SamplesWriter&& other) noexcept;
  ~SamplesWriter();

  /// Appends the samples from index `first` on and hands them to the kernel: they survive this process.
  /// Errors: internal (disk full, I/O): the file is cut back to its last whole block, and later calls fail likewise.
  [[nodiscard]] Status append(const Samples& samples, std::size_t first = 0);
  /// Flushes to the disk and closes. Errors: internal.
  [[nodiscard]] Status close();

 private:
  SamplesWriter(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
  Status write(const std::string& bytes);

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;  ///< bytes of whole blocks
  bool failed_ = false;
};

struct SamplesFile {
  Samples samples;
  bool truncated = false;  ///< the file does not end with a whole block
  std::string why;         ///< what is wrong behind the last whole block, and where
};

/// Reads what is whole. Columns of a newer writer are skipped.
/// Errors: not_found; invalid_argument (no samples file, a torn header, a column missing or of another type; a
/// sample of an unknown kind or with a negative duration, naming it).
[[nodiscard]] Result<SamplesFile> read_samples(const std::filesystem::path& path);
/// The same of a file's bytes; `path` stands in messages.
[[nodiscard]] Result<SamplesFile> parse_samples(std::string_view bytes, const std::filesystem::path& path);

}  // namespace assay
