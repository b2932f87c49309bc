// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/page.hpp"

#include <array>
#include <utility>

#include "core/base/base64.hpp"
#include "core/base/files.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/chart.hpp"

// The bundles of web/src, part of the program (cmake/embed_binary.cmake).
namespace assay::embedded {
std::string_view page_frame();
std::string_view page_script();
std::string_view page_style();
}  // namespace assay::embedded

namespace assay::dashboard {
namespace {

struct Hole {
  std::string_view name;
  std::string content;
};

std::string fill(std::string_view frame, const std::array<Hole, 5>& holes) {
  std::string page;
  while (!frame.empty()) {
    const std::size_t at = frame.find('@');
    page += frame.substr(0, at);
    if (at == std::string_view::npos) break;
    frame.remove_prefix(at);
    bool filled = false;
    for (const Hole& hole : holes) {
      if (!frame.starts_with(hole.name)) continue;
      page += hole.content;
      frame.remove_prefix(hole.name.size());
      filled = true;
      break;
    }
    if (filled) continue;
    page += frame.front();
    frame.remove_prefix(1);
  }
  return page;
}

std::string assembled(std::string_view title, std::string document, std::string_view further_policy) {
  const std::string_view script = embedded::page_script(), style = embedded::page_style();
  std::string policy = "default-src 'none'; script-src '" + policy_hash(script) + "'; style-src '" +
                       policy_hash(style) + "'; img-src data: blob:; base-uri 'none'; form-action 'none'";
  policy += further_policy;
  return fill(embedded::page_frame(), {{{"@CSP@", std::move(policy)},
                                        {"@TITLE@", chart::escaped(title)},
                                        {"@STYLE@", std::string(style)},
                                        {"@DOCUMENT@", std::move(document)},
                                        {"@SCRIPT@", std::string(script)}}});
}

}  // namespace

std::string page(const Packed& document, std::string_view title) {
  return assembled(title, base64(document.bytes), "");
}

std::string live_page() { return assembled("assay", "", "; connect-src 'self'"); }

std::size_t empty_page_bytes() { return assembled("", "", "").size(); }

Result<std::filesystem::path> write_dashboard(const Dataset& data, const Analysis& analysis,
                                              const std::filesystem::path& folder) {
  constexpr std::size_t kRoomForTitle = 400;
  const Packed packed =
      pack(data, analysis, page_charts(data, analysis), {.fixed_bytes = empty_page_bytes() + kRoomForTitle});
  std::filesystem::path path = folder / "index.html";
  ASSAY_CHECK_OK(write_file_atomically(path, page(packed, "assay: " + data.source)));
  return path;
}

}  // namespace assay::dashboard
