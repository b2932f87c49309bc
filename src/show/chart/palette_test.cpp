// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/result/hardware_words.hpp"
#include "show/chart/chart.hpp"

namespace assay::chart {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector times(const Matrix& matrix, const Vector& v) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i)
    out.at(i) = matrix.at(i)[0] * v[0] + matrix.at(i)[1] * v[1] + matrix.at(i)[2] * v[2];
  return out;
}

// "#1849AB" as linear red, green and blue (sRGB, IEC 61966-2-1).
Vector linear(const std::string& colour) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = static_cast<double>(std::strtol(colour.substr(1 + 2 * i, 2).c_str(), nullptr, 16)) / 255;
    out.at(i) = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return out;
}

// WCAG 2.2, "contrast ratio".
double contrast(const std::string& a, const std::string& b) {
  const auto luminance = [](const Vector& v) { return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const double x = luminance(linear(a)) + 0.05, y = luminance(linear(b)) + 0.05;
  return std::max(x, y) / std::min(x, y);
}

// Björn Ottosson, "A perceptual color space for image processing", 2020.
Vector oklab(const Vector& rgb) {
  constexpr Matrix kCones{{{.4122214708, .5363325363, .0514459929},
                           {.2119034982, .6806995451, .1073969566},
                           {.0883024619, .2817188376, .6299787005}}};
  constexpr Matrix kLab{{{.2104542553, .7936177850, -.0040720468},
                         {1.9779984951, -2.4285922050, .4505937099},
                         {.0259040371, .7827717662, -.8086757660}}};
  Vector cones = times(kCones, rgb);
  for (double& cone : cones) cone = std::cbrt(std::max(cone, 0.0));
  return times(kLab, cones);
}

// What people with normal, protan, deutan and tritan vision see: Machado, Oliveira, Fernandes, 2009, severity 1.
constexpr std::array<Matrix, 4> kVision{
    {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
     {{{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}}},
     {{{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}}},
     {{{1.255528, -.076749, -.178779}, {-.078411, .930809, .147602}, {.004733, .691367, .303900}}}}};

double distance(const std::string& a, const std::string& b) {
  double least = 9;
  for (std::size_t kind = 0; kind < kVision.size(); ++kind) {
    const auto seen = [&](const std::string& colour) {
      Vector rgb = times(kVision.at(kind), linear(colour));
      for (double& c : rgb) c = std::clamp(c, 0.0, 1.0);
      return oklab(rgb);
    };
    const Vector x = seen(a), y = seen(b);
    const double d = std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
    least = std::min(least, kind == 3 ? 1.25 * d : d);  // tritan vision is rare: a smaller distance will do
  }
  return least;
}

TEST(Palette, EachHardwareHasAColourThatStandsOutFromTheBackground) {
  for (const char* name : {"light", "dark"}) {
    const Theme& colours = theme(name);
    const std::string background = colours.tokens["background"];
    for (const std::string& hardware : hardware_words()) {
      EXPECT_TRUE(colours.tokens.contains(hardware)) << hardware;
      EXPECT_GE(contrast(hardware_colour(hardware, colours), background), 3.0) << hardware << " in " << name;
    }
    for (const char* ink : {"ink", "ink-2"})
      EXPECT_GE(contrast(colours.tokens[ink], background), 4.5) << ink << " in " << name;
    for (int step = 0; step <= 6; ++step)
      EXPECT_GE(contrast(colours.tokens["heat-" + std::to_string(step)],
                         colours.tokens["heat-" + std::to_string(step) + "-ink"]),
                3.9)
          << step << " in " << name;
  }
}

TEST(Palette, ColoursOfHardwareDifferForEveryKindOfColourVision) {
  for (const char* name : {"light", "dark"}) {
    for (const std::string& a : hardware_words()) {
      for (const std::string& b : hardware_words()) {
        if (a >= b) continue;
        EXPECT_GE(distance(hardware_colour(a, theme(name)), hardware_colour(b, theme(name))), 0.08)
            << a << " and " << b << " in " << name;
      }
    }
  }
}

}  // namespace
}  // namespace assay::chart
