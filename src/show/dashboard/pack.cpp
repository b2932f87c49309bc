// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/pack.hpp"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include <assay/result.hpp>

#include "history/store/dataset.hpp"

namespace assay::dashboard {
namespace {

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  ASSAY_CHECK(code == Z_OK, "zlib compresses into a buffer of the size that it asked");
  result.resize(size);
  return result;
}

std::size_t size_in_base64(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

// From most to least.
std::vector<Detail> details(std::size_t cells) {
  constexpr std::size_t kManyCells = 200, kShortHistory = 5;
  std::vector<Detail> list;
  Detail detail;
  if (cells <= kManyCells) list.push_back(detail);
  detail.quantiles = 33;
  detail.bins = 25;
  list.push_back(detail);
  detail.quantiles = 17;
  detail.bins = 12;
  list.push_back(detail);
  detail.shapes_of_ranked_only = true;
  list.push_back(detail);
  detail.quantiles = 0;
  list.push_back(detail);
  detail.history_points = kShortHistory;
  list.push_back(detail);
  detail.history_points = 1;
  list.push_back(detail);
  detail.charts = false;
  list.push_back(detail);
  for (std::size_t fewer = cells / 2; fewer >= 1; fewer /= 2) {
    detail.cells = fewer;
    list.push_back(detail);
  }
  return list;
}

}  // namespace

Packed pack(const Dataset& data, const Analysis& analysis, std::span<const PageChart> charts,
            const PackOptions& options) {
  Packed packed;
  for (const Detail& detail : options.most_bytes == 0 ? std::vector{Detail()} : details(data.cells.size())) {
    packed.bytes = deflated(document(data, analysis, charts, detail));
    packed.detail = detail_words(detail);
    packed.size_in_page = options.fixed_bytes + size_in_base64(packed.bytes.size());
    if (packed.size_in_page <= options.most_bytes) break;
  }
  return packed;
}

}  // namespace assay::dashboard
