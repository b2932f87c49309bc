// SPDX-License-Identifier: Apache-2.0
#include "core/result/hardware_words.hpp"
#include "show/chart/chart.hpp"

namespace assay::chart {
namespace {

struct Colour {
  std::string_view name, light, dark;
};
// Colours of the hardware: found by a search for the largest distance between any two, for people with every kind of
// colour vision (palette_test.cpp has the formulas). `heat-N`: the background of a cell of a heat map, `heat-N-ink` its
// text.
constexpr Colour kColours[] = {
    {"background", "#FFFFFF", "#15181C"}, {"ink", "#1C2128", "#E6EAEE"},         {"ink-2", "#57606A", "#9AA4AE"},
    {"ink-3", "#8C959F", "#6E7781"},      {"grid", "#D8DEE4", "#2E353C"},        {"shade", "#F1F4F7", "#1D2228"},
    {"cpu", "#1849AB", "#2A71FF"},        {kOpenvinoWord, "#B88210", "#CA963B"}, {"cuda", "#27523D", "#73FDBD"},
    {"rocm", "#DB747A", "#D6616B"},       {"mps", "#B286B4", "#C017CD"},         {"qnn", "#0C77A5", "#36B4F2"},
    {"webgpu", "#984D75", "#F37EBC"},     {"webnn", "#4B610F", "#BEEA5B"},       {"wasm", "#847346", "#CEBC8D"},
    {"tpu", "#9C05ED", "#8D76A5"},        {"heat-0", "#F3F7FB", "#1B2430"},      {"heat-1", "#D6E4F2", "#1E3450"},
    {"heat-2", "#AFCBE6", "#214A78"},     {"heat-3", "#7FABD6", "#2C66A4"},      {"heat-4", "#4A80BC", "#4C8ACB"},
    {"heat-5", "#265A99", "#86B6E6"},     {"heat-6", "#12386B", "#C3DDF6"},      {"heat-0-ink", "#1C2128", "#E6EAEE"},
    {"heat-1-ink", "#1C2128", "#E6EAEE"}, {"heat-2-ink", "#1C2128", "#E6EAEE"},  {"heat-3-ink", "#1C2128", "#FFFFFF"},
    {"heat-4-ink", "#FFFFFF", "#0B0E11"}, {"heat-5-ink", "#FFFFFF", "#0B0E11"},  {"heat-6-ink", "#FFFFFF", "#0B0E11"},
};

Theme make_theme(std::string_view name) {
  Theme made{name, Json::object()};
  for (const Colour& colour : kColours)
    made.tokens[std::string(colour.name)] = name == "dark" ? colour.dark : colour.light;
  return made;
}

}  // namespace

const Theme& theme(std::string_view name) {
  static const Theme light = make_theme("light");
  static const Theme dark = make_theme("dark");
  return name == "dark" ? dark : light;
}

std::string hardware_colour(std::string_view hardware, const Theme& theme) {
  const auto found = theme.tokens.find(std::string(hardware));
  return found != theme.tokens.end() ? found->get<std::string>() : theme.tokens.at("ink-2").get<std::string>();
}

}  // namespace assay::chart
