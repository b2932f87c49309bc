// SPDX-License-Identifier: Apache-2.0
#include "core/base/base64.hpp"

#include <openssl/evp.h>

#include "core/base/hash.hpp"

namespace assay {

std::string base64(std::string_view bytes) {
  // Four characters for each three bytes that have begun, and a zero that EVP_EncodeBlock adds.
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string policy_hash(std::string_view content) {
  const std::string hex = sha256_hex(content);
  std::string bytes;
  constexpr int kHexadecimal = 16;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, kHexadecimal));
  return "sha256-" + base64(bytes);
}

}  // namespace assay
