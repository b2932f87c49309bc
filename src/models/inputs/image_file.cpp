// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/image_file.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/files.hpp"
#include "core/base/text.hpp"

// gdk-pixbuf is opened and not linked, like librsvg, which depends on it: most commands do not need it. Its functions
// are in its documentation; all have been stable since version 2.32.
namespace assay {
namespace fs = std::filesystem;
namespace {

struct LibraryError {  // GError
  std::uint32_t domain;
  int code;
  char* message;
};

template <class Function>
struct Symbol {
  Function* call = nullptr;
};

struct Library {
  Symbol<void*(const char*, LibraryError**)> open;
  Symbol<int(const void*)> width, height, rowstride, channels, bits;
  Symbol<const std::uint8_t*(const void*)> pixels;
  Symbol<void(void*)> unref;
  Symbol<void(LibraryError*)> free_error;
};

constexpr const char* kLibrary = "libgdk_pixbuf-2.0.so.0";
constexpr const char* kPackage = "libgdk-pixbuf-2.0-0";

Result<Library> open_library() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  Library found;
  const auto find = [&]<class Function>(const char* name, Symbol<Function>& symbol) {
    if (library != nullptr) symbol.call = reinterpret_cast<Function*>(dlsym(library, name));
    return symbol.call != nullptr;
  };
  // The last two are GLib's, on which the library depends.
  if (find("gdk_pixbuf_new_from_file", found.open) && find("gdk_pixbuf_get_width", found.width) &&
      find("gdk_pixbuf_get_height", found.height) && find("gdk_pixbuf_get_rowstride", found.rowstride) &&
      find("gdk_pixbuf_get_n_channels", found.channels) && find("gdk_pixbuf_get_bits_per_sample", found.bits) &&
      find("gdk_pixbuf_read_pixels", found.pixels) && find("g_object_unref", found.unref) &&
      find("g_error_free", found.free_error))
    return found;
  const char* reason = dlerror();
  return fail(ErrorCode::kNotFound,
              fmt::format("image files need {} (2.32 or later), which cannot be opened: {}", kLibrary,
                          reason != nullptr ? reason : "no reason given"),
              fmt::format("install it: apt-get install {}; or give arrays as .npy files", kPackage));
}

const Result<Library>& library() {
  static const Result<Library> opened = open_library();
  return opened;
}

tl::unexpected<Error> damaged(const fs::path& file, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("the image {} cannot be read: {}", shown_path(file), why),
              "replace or remove it");
}

// The decoder fills the rest of a JPEG that was cut short with grey. The end-of-image marker is missing then: after the
// last start of a scan, no other byte 0xff is followed by 0xd9 (ITU-T T.81, B.1.1).
bool is_cut_short(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with("\xff\xd8")) return false;
  const std::size_t scan = text.rfind("\xff\xda");
  return scan == std::string_view::npos || text.find("\xff\xd9", scan) == std::string_view::npos;
}

}  // namespace

bool has_image_name(const fs::path& file) {
  return is_any(lower(file.extension().string()), {".jpg", ".jpeg", ".png"});
}

Result<Image> read_image(const fs::path& file) {
  const Result<Library>& opened = library();
  if (!opened) return tl::unexpected<Error>(opened.error());
  const Library& use = *opened;
  {
    ASSAY_TRY(const MappedFile bytes, MappedFile::open(file));
    if (bytes.bytes().empty()) return damaged(file, "the file is empty");
    if (is_cut_short(bytes.bytes())) return damaged(file, "the JPEG data is cut short");
  }
  LibraryError* error = nullptr;
  const std::unique_ptr<void, std::function<void(void*)>> decoded(use.open.call(file.c_str(), &error),
                                                                  [&](void* object) { use.unref.call(object); });
  if (!decoded) {
    const std::string why = error != nullptr ? one_line(error->message) : "no reason given";
    if (error != nullptr) use.free_error.call(error);
    return damaged(file, why);
  }
  constexpr int kDecodedColours = 3, kBits = 8;
  const void* const pixels = decoded.get();
  const int channels = use.channels.call(pixels);
  if (channels < kDecodedColours || use.bits.call(pixels) != kBits)
    return damaged(file, "it has not 8 bits for each colour");
  Image image{use.width.call(pixels), use.height.call(pixels), {}};
  const auto stride = static_cast<std::size_t>(use.rowstride.call(pixels));
  const std::uint8_t* const rows = use.pixels.call(pixels);
  image.pixels.resize(static_cast<std::size_t>(image.width * image.height * kDecodedColours));
  auto out = image.pixels.begin();
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; ++x)
      out = std::copy_n(rows + static_cast<std::size_t>(y) * stride + static_cast<std::size_t>(x * channels),
                        kDecodedColours, out);
  return image;
}

}  // namespace assay
