// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <assay/result.hpp>

namespace assay {

/// Pixels of 8 bits: [height, width, 3], red, green, blue.
struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// Whether the name has the extension of a file that read_image() reads: .jpg, .jpeg, .png.
[[nodiscard]] bool has_image_name(const std::filesystem::path& file);

/// Decodes a JPEG or PNG file. Grey becomes three equal channels; transparency and the orientation that a camera noted
/// are ignored, as torchvision's ImageFolder does. Opens gdk-pixbuf, once. Thread: any. Errors: not_found (gdk-pixbuf
/// is not installed: names the package; no such file), invalid_argument (damaged, cut short, not an image: names the
/// file).
[[nodiscard]] Result<Image> read_image(const std::filesystem::path& file);

}  // namespace assay
