// SPDX-License-Identifier: Apache-2.0
#include "show/chart/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/result/hardware_words.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/engine_entry.hpp"
#include "show/chart/layout.hpp"

namespace assay::chart {
namespace {

constexpr double kMargin = 16, kTitleSize = 16, kTitleLine = 21, kSubtitleSize = 12, kSubtitleLine = 16,
                 kLegendSize = 12, kLegendLine = 20, kNoteSize = 11, kNoteLine = 15, kPanelTitleSize = 12,
                 kAbovePanel = 30;
constexpr double kLegendIcon = 12, kLegendGap = 14;

Json colour(const std::string& token) { return {{"$colour", token}}; }

Json optional_number(const Number& number) { return number && std::isfinite(*number) ? Json(*number) : Json(nullptr); }

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

// The rows of the legend, by the widths of its names; ECharts wraps in the same way.
int legend_rows(const Frame& frame, double width) {
  if (frame.named || frame.legend.empty()) return 0;
  int rows = 1;
  double at = 0;
  for (const Look& look : frame.legend) {
    const double item = kLegendIcon + 5 + text_width(look.name, kLegendSize);
    if (at > 0 && at + item > width) {
      ++rows;
      at = 0;
    }
    at += item + kLegendGap;
  }
  return rows;
}

const char* icon_of(const Look& look) { return look.marker == "circle" ? "circle" : look.marker.c_str(); }

std::string grouped(std::string digits) {
  constexpr std::size_t kShortest = 5, kGroup = 3;
  if (digits.size() < kShortest) return digits;
  for (std::size_t at = digits.size() - kGroup; at > 0 && at<digits.size(); at = at> kGroup ? at - kGroup : 0)
    digits.insert(at, "\u2009");
  return digits;
}

std::vector<std::string> engines_in_order() {
  std::vector<std::string> names;
  // An exact engine is not compared with others: it would take a style that one of them has.
  for (const EngineEntry& entry : own_engines())
    if (!entry.exact) names.push_back(entry.name);
  return names;
}

}  // namespace

std::string number_words(double value) {
  if (!std::isfinite(value)) return "–";
  if (value == 0) return "0";
  const double size = std::abs(value);
  double power = 1;
  int exponent = 0;
  constexpr double kTen = 10, kHundred = 100;
  for (; size >= 1 && size / power >= kTen; ++exponent) power *= kTen;
  for (; size < 1 && size * power < 1; --exponent) power *= kTen;
  const std::string sign = value < 0 ? "-" : "";
  if (exponent >= 2) return sign + grouped(fmt::format("{:.0f}", std::floor(size + 0.5)));
  double digits = std::floor((exponent < 0 ? size * power : size / power) * kHundred + 0.5);
  if (digits >= kHundred * kTen) {
    digits = kHundred;
    if (++exponent == 2) return sign + "100";
  }
  const std::string text = fmt::format("{:.0f}", digits);
  if (exponent >= 0)
    return sign + text.substr(0, static_cast<std::size_t>(exponent) + 1) + "." +
           text.substr(static_cast<std::size_t>(exponent) + 1);
  return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + text;
}

std::vector<Look> looks_of(std::span<const Record> rows) {
  static const std::vector<std::string> engines = engines_in_order();
  constexpr std::array kMarkers{"circle", "diamond", "rect", "triangle", "pin"};
  const std::array<Json, 5> dashes{Json("solid"), Json::array({6, 4}), Json::array({2, 3}), Json::array({7, 3, 2, 3}),
                                   Json::array({11, 4})};
  struct Placed {
    std::size_t hardware, engine;
    Look look;
  };
  std::vector<Placed> found;
  for (const Record& row : rows) {
    const std::string name = target_key(row);
    if (std::ranges::find(found, name, [](const Placed& one) { return one.look.name; }) != found.end()) continue;
    const auto place = static_cast<std::size_t>(std::ranges::find(engines, row.engine) - engines.begin());
    const std::vector<std::string>& words = hardware_words();
    const auto hardware = static_cast<std::size_t>(std::ranges::find(words, row.hardware) - words.begin());
    const bool inner = name.find('@') != std::string::npos;
    const bool known = hardware_colour(row.hardware, theme("light")) != hardware_colour("ink-2", theme("light"));
    found.push_back({hardware,
                     inner ? place + 1 : 0,
                     {name, known ? row.hardware : "ink-2", kMarkers.at(place % kMarkers.size()),
                      dashes.at(place % dashes.size()), inner, is_simulated(row)}});
  }
  std::ranges::stable_sort(found, {}, [](const Placed& one) { return std::pair(one.hardware, one.engine); });
  std::vector<Look> looks;
  looks.reserve(found.size());
  for (Placed& one : found) looks.push_back(std::move(one.look));
  return looks;
}

Json arguments_of(const Look& look) {
  return {{"colour", colour(look.colour)},
          {"ink", colour("ink")},
          {"ink2", colour("ink-2")},
          {"paper", colour("background")},
          {"marker", look.marker},
          {"dash", look.dash},
          {"inner", look.inner}};
}

PanelGrid::PanelGrid(std::size_t columns, double width, double pitch)
    : columns_(columns), column_((width - kMargin) / static_cast<double>(columns)), pitch_(pitch) {}

double PanelGrid::left(std::size_t panel) const { return static_cast<double>(panel % columns_) * column_; }

double PanelGrid::top(std::size_t panel) const {
  const std::size_t line = panel / columns_;
  return static_cast<double>(line) * pitch_ + kAbovePanel;
}

double PanelGrid::height(std::size_t panels) const {
  const std::size_t lines = (panels + columns_ - 1) / columns_;
  return static_cast<double>(lines) * pitch_;
}

Picture::Picture(Frame frame) : frame_(std::move(frame)) {
  const double inside = frame_.width - 2 * kMargin;
  const std::vector<std::string> title = wrapped(frame_.title, inside, kTitleSize, true);
  const std::vector<std::string> subtitle = wrapped(frame_.subtitle, inside, kSubtitleSize);
  titles_.push_back(
      {{"text", joined(title)},
       {"left", kMargin},
       {"top", 12},
       {"padding", 0},
       {"itemGap", 0},
       {"textStyle",
        {{"fontSize", kTitleSize}, {"fontWeight", "bold"}, {"lineHeight", kTitleLine}, {"color", colour("ink")}}}});
  double y = 12 + kTitleLine * static_cast<double>(title.size()) + 2;
  if (!subtitle.empty())
    titles_.push_back({{"text", joined(subtitle)},
                       {"left", kMargin},
                       {"top", y},
                       {"padding", 0},
                       {"textStyle",
                        {{"fontSize", kSubtitleSize},
                         {"fontWeight", "normal"},
                         {"lineHeight", kSubtitleLine},
                         {"color", colour("ink-2")}}}});
  y += kSubtitleLine * static_cast<double>(subtitle.size());
  const int rows = legend_rows(frame_, inside);
  head_ = y + 8 + kLegendLine * rows;
}

int Picture::add(const Panel& panel) {
  const int number = static_cast<int>(grids_.size());
  const double top = head_ + panel.top;
  grids_.push_back({{"left", panel.left},
                    {"top", top},
                    {"width", panel.width},
                    {"height", panel.height},
                    {"outerBoundsMode", "none"}});
  Json x = panel.x, y = panel.y;
  x["gridIndex"] = y["gridIndex"] = number;
  x_.push_back(std::move(x));
  y_.push_back(std::move(y));
  if (!panel.title.empty())
    titles_.push_back(
        {{"$panel", number},
         {"text", panel.title},
         {"left", panel.left},
         {"top", top - 20},
         {"padding", 0},
         {"textStyle", {{"fontSize", kPanelTitleSize}, {"fontWeight", "bold"}, {"color", colour("ink")}}}});
  return number;
}

void Picture::draw(int panel, const std::string& series, const char* function, const char* by, Json arguments) {
  Json rows{{"panel", panel}};
  if (!series.empty()) rows["series"] = series;
  arguments["$fn"] = function;
  Json made{{"type", "custom"},    {"xAxisIndex", panel},
            {"yAxisIndex", panel}, {"$rows", std::move(rows)},
            {"$by", by},           {"z", 3},
            {"clip", false},       {"renderItem", std::move(arguments)}};
  made["encode"] = {{"x", 0}, {"y", 1}};
  if (!series.empty()) made["name"] = series;
  series_.push_back(std::move(made));
}

void Picture::line(int panel, const Look& look) {
  series_.push_back({{"type", "line"},
                     {"name", look.name},
                     {"xAxisIndex", panel},
                     {"yAxisIndex", panel},
                     {"$rows", {{"panel", panel}, {"series", look.name}}},
                     {"showSymbol", false},
                     {"silent", true},
                     {"lineStyle", {{"color", colour(look.colour)}, {"width", 2}, {"type", look.dash}}},
                     {"itemStyle", {{"color", colour(look.colour)}}}});
}

void Picture::plain_line(int panel, const std::string& series, const char* name, Json dash, const char* step, int z) {
  Json made{{"type", "line"},
            {"xAxisIndex", panel},
            {"yAxisIndex", panel},
            {"$rows", {{"panel", panel}, {"series", series}}},
            {"showSymbol", false},
            {"silent", true},
            {"z", z},
            {"lineStyle", {{"color", colour(name)}, {"width", step == nullptr ? 1.2 : 2}, {"type", std::move(dash)}}}};
  if (step != nullptr) made["step"] = step;
  series_.push_back(std::move(made));
}

void Picture::rule(int panel, const char* axis, double at, const char* name) {
  series_.push_back({{"type", "custom"},
                     {"xAxisIndex", panel},
                     {"yAxisIndex", panel},
                     {"silent", true},
                     {"z", 1},
                     {"encode", {{"x", 0}, {"y", 1}}},
                     {"renderItem", {{"$fn", "rule"}, {axis, at}, {"colour", colour(name)}}}});
}

Chart Picture::finish(double height, Table table, std::string summary) const {
  const double inside = frame_.width - 2 * kMargin;
  std::vector<std::string> notes;
  for (const std::string& note : frame_.notes)
    for (std::string& line : wrapped(note, inside, kNoteSize)) notes.push_back(std::move(line));
  const double whole = head_ + height + (notes.empty() ? 0 : 6 + kNoteLine * static_cast<double>(notes.size())) + 10;

  Json titles = titles_;
  if (!notes.empty())
    titles.push_back(
        {{"text", joined(notes)},
         {"left", kMargin},
         {"top", head_ + height + 4},
         {"padding", 0},
         {"textStyle",
          {{"fontSize", kNoteSize}, {"fontWeight", "normal"}, {"lineHeight", kNoteLine}, {"color", colour("ink-2")}}}});
  Json source = Json::array({{"panel", "group", "series", "x", "value", "low", "high", "mark", "style", "text"}});
  for (const Row& row : rows_)
    source.push_back({row.panel, row.group, row.series, optional_number(row.x), optional_number(row.value),
                      optional_number(row.low), optional_number(row.high), static_cast<int>(row.mark), row.style,
                      row.text});
  Json option{{"backgroundColor", colour("background")},
              {"title", std::move(titles)},
              {"dataset", {{"source", std::move(source)}}},
              {"grid", grids_},
              {"xAxis", x_},
              {"yAxis", y_},
              {"series", series_},
              {"tooltip", {{"trigger", "item"}, {"renderMode", "richText"}, {"formatter", {{"$fn", "tooltip"}}}}}};
  if (!frame_.legend.empty()) {
    Json names = Json::array();
    for (const Look& look : frame_.legend)
      names.push_back({{"name", look.name},
                       {"icon", icon_of(look)},
                       {"itemStyle",
                        {{"color", look.hatched ? colour("background") : colour(look.colour)},
                         {"borderColor", colour(look.colour)},
                         {"borderWidth", 1.5}}},
                       {"lineStyle", {{"color", colour(look.colour)}, {"type", look.dash}, {"width", 2}}}});
    option["legend"] = {{"show", !frame_.named}, {"data", std::move(names)},
                        {"left", kMargin},       {"top", head_ - 8 - kLegendLine * legend_rows(frame_, inside) + 4},
                        {"width", inside},       {"padding", 0},
                        {"itemGap", kLegendGap}, {"itemWidth", kLegendIcon},
                        {"itemHeight", 12},      {"textStyle", {{"fontSize", kLegendSize}, {"color", colour("ink")}}}};
  }
  Chart chart;
  chart.name = frame_.name;
  chart.title = frame_.title;
  chart.subtitle = frame_.subtitle;
  chart.summary = std::move(summary);
  chart.table = std::move(table);
  chart.option = std::move(option);
  chart.width = frame_.width;
  chart.height = static_cast<int>(std::ceil(whole));
  chart.notes = frame_.notes;
  return chart;
}

Json number_axis(const std::string& name, std::vector<std::string> columns, std::vector<int> panels, const char* scale,
                 bool zero, const std::vector<double>& include) {
  Json range{{"columns", std::move(columns)}, {"panels", std::move(panels)}, {"scale", scale}, {"zero", zero}};
  if (!include.empty()) range["include"] = include;
  return {{"type", "value"},
          {"$range", std::move(range)},
          {"name", name},
          {"nameLocation", "middle"},
          {"nameGap", 26},
          {"nameTextStyle", {{"color", colour("ink-2")}, {"fontSize", 12}}},
          {"axisLine", {{"show", true}, {"onZero", false}, {"lineStyle", {{"color", colour("ink-3")}}}}},
          {"axisTick", {{"show", true}, {"lineStyle", {{"color", colour("ink-3")}}}}},
          {"axisLabel", {{"color", colour("ink-2")}, {"fontSize", 11}, {"hideOverlap", true}}},
          {"splitLine", {{"show", true}, {"lineStyle", {{"color", colour("grid")}}}}}};
}

Json group_axis(int panel, double label_width) {
  return {{"type", "category"},
          {"$categories", {{"panel", panel}}},
          {"inverse", true},
          {"axisLine", {{"show", true}, {"lineStyle", {{"color", colour("ink-3")}}}}},
          {"axisTick", {{"show", false}}},
          {"axisLabel",
           {{"color", colour("ink")},
            {"fontSize", 12},
            {"interval", 0},
            {"formatter", {{"$fn", "category"}, {"width", label_width}}}}}};
}

}  // namespace assay::chart
