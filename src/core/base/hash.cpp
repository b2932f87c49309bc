// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>

#include "core/base/files.hpp"

namespace assay {

namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hex_of(const Digest& digest, unsigned size) {
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest.at(i));
  return text;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { EVP_DigestInit_ex(context, EVP_sha256(), nullptr); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
  return *this;
}
Sha256& Sha256::update(std::string_view text) { return update(std::as_bytes(std::span(text))); }

Status Sha256::update(std::span<const std::byte> bytes, const Cancelled& cancelled) {
  constexpr std::size_t kPiece = 16 << 20;
  while (!bytes.empty()) {
    ASSAY_CHECK_OK(check_cancelled(cancelled));
    const std::size_t size = std::min(kPiece, bytes.size());
    update(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return {};
}

std::string Sha256::hex() {
  Digest digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  return hex_of(digest, size);
}

std::string sha256_hex(std::string_view text) { return Sha256().update(text).hex(); }

Result<std::string> sha256_file(const std::filesystem::path& path, const Cancelled& cancelled) {
  ASSAY_TRY(const MappedFile file, MappedFile::open(path));
  Sha256 hash;
  ASSAY_CHECK_OK(hash.update(file.bytes(), cancelled));
  return hash.hex();
}

std::string git_blob_hash(std::string_view content) {
  std::string blob = fmt::format("blob {}", content.size());
  blob += '\0';
  blob += content;
  Digest digest{};
  unsigned size = 0;
  EVP_Digest(blob.data(), blob.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return hex_of(digest, size);
}

std::string make_uuid() {
  std::array<unsigned char, 16> b{};
  ASSAY_CHECK(RAND_bytes(b.data(), static_cast<int>(b.size())) == 1, "the system gives random bytes");
  b[6] = static_cast<unsigned char>((b[6] & 0x0F) | 0x40);
  b[8] = static_cast<unsigned char>((b[8] & 0x3F) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", b.at(i));
  }
  return text;
}

}  // namespace assay
