// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/looks_like.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/base/text.hpp"

namespace assay {
namespace {

bool starts_with(Bytes bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()) + at, magic.size()) == magic;
}

bool is_text(Bytes bytes) {
  Bytes head = bytes.first(std::min<std::size_t>(bytes.size(), 512));
  const auto is_part_of_longer = [](std::byte b) { return (b & std::byte{0x80}) != std::byte{0}; };
  while (bytes.size() > head.size() && !head.empty() && is_part_of_longer(head.back()))
    head = head.first(head.size() - 1);
  const bool printable = std::all_of(head.begin(), head.end(), [](std::byte b) {
    const auto c = std::to_integer<unsigned char>(b);
    return c >= 0x20 ? c != 0x7F : c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
  return printable && is_utf8({reinterpret_cast<const char*>(head.data()), head.size()});
}

}  // namespace

std::string_view looks_like(Bytes bytes) {
  struct Magic {
    std::string_view bytes;
    std::size_t at;
    std::string_view kind;
  };
  static constexpr Magic kMagics[] = {
      {"PK\x03\x04", 0, "a zip archive (a PyTorch checkpoint, TorchScript or .npz; export it with torch.onnx)"},
      {"\x1f\x8b", 0, "gzip-compressed: unpack it first"},
      {"BZh", 0, "bzip2-compressed: unpack it first"},
      {"\xFD"
       "7zXZ",
       0, "xz-compressed: unpack it first"},
      {"\x28\xB5\x2F\xFD", 0, "zstd-compressed: unpack it first"},
      {"\x80\x02", 0, "a Python pickle (a PyTorch checkpoint; export it with torch.onnx)"},
      {"\x80\x03", 0, "a Python pickle"},
      {"\x80\x04", 0, "a Python pickle"},
      {"\x80\x05", 0, "a Python pickle"},
      {"\x89HDF", 0, "an HDF5 file (Keras)"},
      {"GGUF", 0, "a GGUF file (llama.cpp)"},
      {"TFL3", 4, "a TensorFlow Lite model"},
      {"ORTM", 4, "ONNX Runtime's own .ort format, not ONNX"},
      {"\x93NUMPY", 0, "a NumPy array"},
      {"\x7F"
       "ELF",
       0, "an ELF executable or library"},
      {"\x89PNG", 0, "a PNG image"},
      {"\xFF\xD8\xFF", 0, "a JPEG image"},
      {"%PDF", 0, "a PDF document"},
      {"ustar", 257, "a tar archive: unpack it first"},
      {"version https://git-lfs", 0, "a Git LFS pointer, not the file itself: run `git lfs pull`"},
  };
  for (const Magic& magic : kMagics) {
    if (starts_with(bytes, magic.bytes, magic.at)) return magic.kind;
  }
  if (bytes.size() > 9 && bytes[8] == std::byte{'{'} && bytes[7] == std::byte{0} && bytes[6] == std::byte{0}) {
    return "a safetensors file (weights without a graph): give the folder with its config.json instead";
  }
  if (bytes.empty() || !is_text(bytes)) return {};
  const auto* first = std::find_if(bytes.data(), bytes.data() + std::min<std::size_t>(bytes.size(), 512),
                                   [](std::byte b) { return std::isspace(std::to_integer<unsigned char>(b)) == 0; });
  if (first == bytes.data() + bytes.size()) return "blank text";
  if (*first == std::byte{'<'}) return "an HTML or XML page";
  if (*first == std::byte{'{'} || *first == std::byte{'['}) return "JSON text";
  return "plain text";
}

}  // namespace assay
