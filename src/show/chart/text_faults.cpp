// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "show/chart/layout.hpp"

namespace assay::chart {
namespace {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  std::string words;
};

std::string_view attribute(std::string_view element, std::string_view name) {
  const std::string start = fmt::format(" {}=\"", name);
  const std::size_t at = element.find(start);
  if (at == std::string_view::npos) return {};
  const std::size_t from = at + start.size();
  return element.substr(from, element.find('"', from) - from);
}

double number(std::string_view text) { return text.empty() ? 0 : std::strtod(std::string(text).c_str(), nullptr); }

std::vector<double> numbers(std::string_view list) {
  std::vector<double> found;
  const std::string text(list);
  const char* at = text.c_str();
  while (*at != 0) {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end == at) {
      ++at;
      continue;
    }
    found.push_back(value);
    at = end;
  }
  return found;
}

std::string unescaped(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&amp;", '&'}}};
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const auto* entity =
        std::ranges::find_if(kEntities, [&](const auto& one) { return text.substr(at).starts_with(one.first); });
    if (entity != kEntities.end()) {
      plain += entity->second;
      at += entity->first.size();
    } else {
      plain += text[at++];
    }
  }
  return plain;
}

// translate(x y), or matrix(a,b,c,d,e,f): the corners of the text are moved there.
Box placed(const Box& box, std::string_view transform) {
  const std::vector<double> values = numbers(transform.substr(std::min(transform.find('('), transform.size())));
  std::array<double, 6> m{1, 0, 0, 1, 0, 0};
  if (transform.starts_with("translate") && values.size() >= 2) m = {1, 0, 0, 1, values[0], values[1]};
  if (transform.starts_with("matrix") && values.size() >= 6) std::copy_n(values.begin(), 6, m.begin());
  Box moved{1e9, 1e9, -1e9, -1e9, box.words};
  for (const double x : {box.left, box.right})
    for (const double y : {box.top, box.bottom}) {
      const double px = m[0] * x + m[2] * y + m[4], py = m[1] * x + m[3] * y + m[5];
      moved.left = std::min(moved.left, px);
      moved.right = std::max(moved.right, px);
      moved.top = std::min(moved.top, py);
      moved.bottom = std::max(moved.bottom, py);
    }
  return moved;
}

std::optional<Box> box_of(std::string_view element) {
  const std::size_t close = element.find('>');
  const std::string_view head = element.substr(0, close);
  const std::string words = unescaped(element.substr(close + 1, element.rfind("</text>") - close - 1));
  if (words.empty()) return std::nullopt;
  const std::string_view style = attribute(head, "style");
  const std::size_t size_at = style.find("font-size:");
  const double size = size_at == std::string_view::npos ? 12 : number(style.substr(size_at + 10, 6));
  const bool bold = style.find("font-weight:bold") != std::string_view::npos;
  const double width = text_width(words, size, bold), x = number(attribute(head, "x")),
               y = number(attribute(head, "y"));
  const std::string_view anchor = attribute(head, "text-anchor");
  Box box;
  box.words = words;
  box.left = anchor == "middle" ? x - width / 2 : anchor == "end" ? x - width : x;
  box.right = box.left + width;
  // Without the room that lines have between them: capitals and descenders.
  const bool central = !attribute(head, "dy").empty();
  box.top = y - (central ? 0.42 : 0.76) * size;
  box.bottom = y + (central ? 0.42 : 0.2) * size;
  return placed(box, attribute(head, "transform"));
}

}  // namespace

std::vector<std::string> text_faults(std::string_view svg) {
  std::vector<Box> boxes;
  for (std::size_t at = svg.find("<text"); at != std::string_view::npos; at = svg.find("<text", at + 1)) {
    const std::size_t end = svg.find("</text>", at);
    if (std::optional<Box> box = box_of(svg.substr(at, end + 7 - at))) boxes.push_back(std::move(*box));
  }
  const std::string_view head = svg.substr(0, svg.find('>'));
  const double width = number(attribute(head, "width")), height = number(attribute(head, "height"));
  std::vector<std::string> faults;
  for (const Box& box : boxes)
    if (box.left < 0 || box.top < 0 || box.right > width || box.bottom > height)
      faults.push_back(fmt::format("'{}' is cut: {:.0f} to {:.0f}, {:.0f} to {:.0f} in {} x {}", box.words, box.left,
                                   box.right, box.top, box.bottom, width, height));
  std::ranges::sort(boxes, {}, &Box::top);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = i + 1; j < boxes.size() && boxes[j].top < boxes[i].bottom; ++j)
      if (boxes[i].left < boxes[j].right && boxes[j].left < boxes[i].right)
        faults.push_back(fmt::format("'{}' and '{}' overlap at {:.0f}, {:.0f}", boxes[i].words, boxes[j].words,
                                     boxes[j].left, boxes[j].top));
  return faults;
}

}  // namespace assay::chart
