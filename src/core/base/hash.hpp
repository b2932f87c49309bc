// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"

namespace assay {

/// Incremental SHA-256 (FIPS 180-4, by OpenSSL).
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  /// For many bytes. Errors: cancelled.
  [[nodiscard]] Status update(std::span<const std::byte> bytes, const Cancelled& cancelled);
  /// 64 lower-case hexadecimal digits. Ends the computation.
  [[nodiscard]] std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string sha256_hex(std::string_view text);
/// Errors: those of MappedFile::open; cancelled.
[[nodiscard]] Result<std::string> sha256_file(const std::filesystem::path& path, const Cancelled& cancelled = {});

/// The name git gives a file of that content (SHA-1 over "blob SIZE", a zero byte and the content).
[[nodiscard]] std::string git_blob_hash(std::string_view content);

/// A random (version 4) UUID in its usual text form.
[[nodiscard]] std::string make_uuid();

}  // namespace assay
