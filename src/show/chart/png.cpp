// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>

#include "show/chart/render.hpp"

// librsvg and cairo are opened and not linked: most commands need neither, and their development packages bring those
// of GLib. The functions are in the libraries' documentation; all have been stable since librsvg 2.46.
#ifdef __SANITIZE_ADDRESS__
// librsvg's font library keeps its tables until the process ends. The sanitiser is a shared library: it must see this.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {  // NOLINT
  return "leak:libfontconfig.so\n";
}
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_options() {  // NOLINT
  return "print_suppressions=0";
}
#endif

namespace assay::chart {
namespace {

struct Rectangle {
  double x, y, width, height;
};

template <class Function>
struct Symbol {
  Function* call = nullptr;
};

struct Libraries {
  Symbol<void*(const unsigned char*, std::size_t, void**)> new_from_data;
  Symbol<void(void*, double)> set_dpi;
  Symbol<int(void*, void*, const Rectangle*, void**)> render_document;
  Symbol<void(void*)> unref;
  Symbol<void*(int, int, int)> surface_create;
  Symbol<void(void*)> surface_destroy;
  Symbol<int(void*, int (*)(void*, const unsigned char*, unsigned), void*)> write_png;
  Symbol<void*(void*)> create;
  Symbol<void(void*)> destroy;
};

Error missing(const char* library, const char* package) {
  const char* reason = dlerror();
  return {.code = ErrorCode::kNotFound,
          .message = fmt::format("PNG files need {}, which cannot be opened: {}", library,
                                 reason != nullptr ? reason : "no reason given"),
          .hint = fmt::format("install it: apt-get install {}; SVG files do not need it", package)};
}

template <class Function>
bool find_symbol(void* library, const char* name, Symbol<Function>& symbol) {
  symbol.call = reinterpret_cast<Function*>(dlsym(library, name));
  return symbol.call != nullptr;
}

Result<Libraries> open_libraries() {
  void* const rsvg = dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
  if (rsvg == nullptr) return tl::unexpected(missing("librsvg-2.so.2", "librsvg2-2 fonts-dejavu-core"));
  void* const cairo = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
  if (cairo == nullptr) return tl::unexpected(missing("libcairo.so.2", "libcairo2"));
  Libraries found;
  // g_object_unref is GLib's: librsvg depends on it, so that a search in librsvg finds it.
  const bool complete = find_symbol(rsvg, "rsvg_handle_new_from_data", found.new_from_data) &&
                        find_symbol(rsvg, "rsvg_handle_set_dpi", found.set_dpi) &&
                        find_symbol(rsvg, "rsvg_handle_render_document", found.render_document) &&
                        find_symbol(rsvg, "g_object_unref", found.unref) &&
                        find_symbol(cairo, "cairo_image_surface_create", found.surface_create) &&
                        find_symbol(cairo, "cairo_surface_destroy", found.surface_destroy) &&
                        find_symbol(cairo, "cairo_surface_write_to_png_stream", found.write_png) &&
                        find_symbol(cairo, "cairo_create", found.create) &&
                        find_symbol(cairo, "cairo_destroy", found.destroy);
  if (!complete) return tl::unexpected(missing("a newer librsvg (2.46 or later)", "librsvg2-2"));
  return found;
}

const Result<Libraries>& libraries() {
  static const Result<Libraries> opened = open_libraries();
  return opened;
}

double number_after(std::string_view svg, std::string_view name) {
  const std::size_t at = svg.find(name);
  return at == std::string_view::npos ? 0 : std::strtod(std::string(svg.substr(at + name.size(), 16)).c_str(), nullptr);
}

int append(void* bytes, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
  return 0;
}

}  // namespace

Result<std::string> png(std::string_view svg, double scale) {
  const Result<Libraries>& opened = libraries();
  if (!opened) return tl::unexpected(opened.error());
  const Libraries& use = *opened;
  const double width = number_after(svg, " width=\"") * scale, height = number_after(svg, " height=\"") * scale;
  constexpr double kLargest = 32767;  // cairo's limit
  if (!(width >= 1 && height >= 1 && width <= kLargest && height <= kLargest))
    return fail(ErrorCode::kInternal, fmt::format("a picture of {} x {} pixels cannot be made", width, height));
  const auto released = [&](void (*release)(void*)) { return [release](void* object) { release(object); }; };
  using Owned = std::unique_ptr<void, std::function<void(void*)>>;
  const Owned document(use.new_from_data.call(reinterpret_cast<const unsigned char*>(svg.data()), svg.size(), nullptr),
                       released(use.unref.call));
  if (!document) return fail(ErrorCode::kInternal, "librsvg does not accept the picture as an SVG document");
  constexpr double kDpi = 96;
  use.set_dpi.call(document.get(), kDpi);
  constexpr int kArgb32 = 0;
  const Owned surface(
      use.surface_create.call(kArgb32, static_cast<int>(std::lround(width)), static_cast<int>(std::lround(height))),
      released(use.surface_destroy.call));
  const Rectangle whole{0, 0, width, height};
  {
    const Owned context(use.create.call(surface.get()), released(use.destroy.call));
    if (use.render_document.call(document.get(), context.get(), &whole, nullptr) == 0)
      return fail(ErrorCode::kInternal, "librsvg could not draw the picture");
  }
  std::string bytes;
  if (const int status = use.write_png.call(surface.get(), append, &bytes); status != 0)
    return fail(
        ErrorCode::kInternal,
        fmt::format("cairo could not write a picture of {:.0f} x {:.0f} pixels (status {})", width, height, status));
  return bytes;
}

}  // namespace assay::chart
