// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "show/dashboard/pack.hpp"

namespace assay::dashboard {

/// One self-contained HTML file: script, style and document, under a content security policy that allows nothing else.
[[nodiscard]] std::string page(const Packed& document, std::string_view title);

/// The same page without a document; it fetches /data (`assay serve`).
[[nodiscard]] std::string live_page();

/// The bytes of page() without a document.
[[nodiscard]] std::size_t empty_page_bytes();

/// Packs and writes `folder`/index.html, whole or not at all; returns its path. `analysis` is that of `data`.
/// Errors: those of write_file_atomically.
[[nodiscard]] Result<std::filesystem::path> write_dashboard(const Dataset& data, const Analysis& analysis,
                                                            const std::filesystem::path& folder);

}  // namespace assay::dashboard
