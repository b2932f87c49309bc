// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "show/chart/chart.hpp"

namespace assay::chart {

/// Draws charts with ECharts, which runs in an interpreter within the program: the script is loaded once, and each
/// chart is drawn in a copy of the process, because only a process can be stopped.
/// Cost: 0.2 s for the first chart, then 20 to 80 ms for each; a heat map of 900 cells takes 0.8 s.
/// Thread: one at a time.
class Renderer {
 public:
  struct Limits {
    std::chrono::milliseconds deadline =
        std::chrono::minutes(2);  ///< one chart must be drawn by then; slow, busy machines need some
    Cancelled cancelled{};
  };
  /// Errors: out_of_memory; internal with the script's message (a bug).
  [[nodiscard]] static Result<Renderer> create(Limits limits);
  [[nodiscard]] static Result<Renderer> create() { return create(Limits()); }
  Renderer(Renderer&&) noexcept;
  Renderer& operator=(Renderer&&) noexcept;
  ~Renderer();

  /// A chart with an option as a whole SVG document, one element a line. Its background is painted. The same chart
  /// gives the same bytes. Errors: as create(), if ECharts does not accept the option (a bug); timeout, cancelled.
  [[nodiscard]] Result<std::string> svg(const Chart& chart, const Theme& theme);

  /// The result of a function of web/chart/functions.js for one argument, both as JSON: for tests.
  [[nodiscard]] Result<Json> call(std::string_view function, const Json& argument);

 private:
  struct State;
  explicit Renderer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The bytes of a PNG file; `scale` 2 makes twice as many pixels in each direction. Opens librsvg.
/// Errors: not_found (librsvg or cairo is not installed: names the package), internal (not an SVG document).
[[nodiscard]] Result<std::string> png(std::string_view svg, double scale);

}  // namespace assay::chart
