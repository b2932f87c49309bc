// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "show/dashboard/charts.hpp"

namespace assay {

struct Dataset;
struct Analysis;

/// The document that the dashboard shows: rows, history, shapes of samples and the sentences of the analysis, in one
/// block of bytes. `web/src/read_document.ts` reads it (docs/dashboard.md, "The file").
///
///   "ASSAYDD1", u32 length of the header, header (JSON, UTF-8, padded with spaces to 8 bytes), sections
///
/// All numbers are little-endian. The sections contain columns; the header says for each where it is (`at`, `bytes`,
/// from the end of the header), its name and its type:
///
///   f64 f32 i32 u16 u8   numbers; an absent one is NaN, in i32 the least value
///   text                 u32 indices into the header's list `text`, whose first entry is ""
///   value                no section: all rows have the value that the header states
///
/// The bytes of a column stand by significance: all first bytes, then all second ones. That halves what deflate leaves.
/// Quantiles and bins of shapes are u16 codes (history/store/distribution_codec.hpp), of each shape the differences,
/// modulo 65536.
///
/// Nothing here reads files, knows time or compares cells.
namespace dashboard {

struct PackOptions {
  std::size_t most_bytes = 3'000'000;  ///< size limit of the whole page; 0: no limit, for a page of `assay serve`
  std::size_t fixed_bytes = 0;         ///< size of the page's script, style and text
};

struct Packed {
  std::string bytes;   ///< deflated (zlib's format)
  std::string detail;  ///< "full", or what was left out: "33 quantiles and 25 bins of each launch"
  std::size_t size_in_page = 0;
};

/// How much of the data a document has.
struct Detail {
  std::size_t quantiles = 64, bins = 100;  ///< the most of each launch; 0: no shapes
  bool shapes_of_ranked_only = false;
  std::size_t history_points = SIZE_MAX;  ///< number of points of each series, the newest
  std::size_t cells = SIZE_MAX;           ///< the newest
  bool charts = true;                     ///< false: no charts, except those of cells and series, which are few
};
/// "full", or what is left out in words.
[[nodiscard]] std::string detail_words(const Detail& detail);

/// The document before it is deflated.
[[nodiscard]] std::string document(const Dataset& data, const Analysis& analysis, std::span<const PageChart> charts,
                                   const Detail& detail = {});

/// Makes the document; leaves details out until the page fits into `most_bytes`: first coarser shapes, then shapes of
/// cells that are not ranked, then all shapes, then older history, then older cells.
/// Cost: 0.3 s for a thousand cells.
[[nodiscard]] Packed pack(const Dataset& data, const Analysis& analysis, std::span<const PageChart> charts,
                          const PackOptions& options = {});

}  // namespace dashboard
}  // namespace assay
