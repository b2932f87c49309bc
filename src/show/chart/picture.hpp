// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/record.hpp"
#include "show/chart/chart.hpp"

/// How charts are put together (docs/charts.md). Used within this module only.
namespace assay::chart {

/// What stands in the place of an absent value; the numbers are those of MARKS in web/chart/rows.js.
enum class Mark { kNone, kWrong, kFailed, kUnsupported, kUnavailable, kSkipped, kUnverified, kNoCommonCell, kNoValue };

/// How a value is drawn; the bits are those of STYLE in web/chart/rows.js.
inline constexpr int kHollow = 1, kHatched = 2, kBold = 4, kRinged = 8, kUnranked = 16;

/// The text of a row with a value that no reference has verified.
inline constexpr std::string_view kUnverifiedText = "?";
/// Record::latency_p50_quality of a row that stands in a picture with its mean, because it has no median.
inline constexpr std::string_view kMeanQuality = "mean";

/// One row of `dataset.source`.
struct Row {
  int panel = 0;
  std::string group{}, series{};
  Number x{}, value{}, low{}, high{};
  Mark mark = Mark::kNone;
  int style = 0;
  std::string text{};
};

/// The look of a target: a hardware has a colour, an engine a marker and a dash.
struct Look {
  std::string name;      ///< the target: "cpu", "cpu@openvino"
  std::string colour;    ///< the token of its hardware
  std::string marker;    ///< circle, diamond, rect, triangle, pin
  Json dash;             ///< "solid", or lengths
  bool inner = false;    ///< bars of an engine that is not the default one have a line inside
  bool hatched = false;  ///< simulated or software
};
/// By hardware in the order of hardware_words(), its default engine first.
[[nodiscard]] std::vector<Look> looks_of(std::span<const Record> rows);

/// What stands around the panels of a picture.
struct Frame {
  std::string name, title, subtitle;
  std::vector<Look> legend;
  bool named = false;  ///< the targets have their names in the panels; only the page has a legend, to hide targets
  std::vector<std::string> notes;
  int width = 1000;
};

/// A coordinate system. `top` is measured from the end of the head.
struct Panel {
  double left = 0, top = 0, width = 0, height = 0;
  std::string title;  ///< above it, at its left edge
  Json x, y;          ///< axes, made by the functions below
};

/// Panels beside and below each other, in lines from the left, with room for a title above each.
class PanelGrid {
 public:
  /// `pitch`: from the top of a line to that of the next one.
  PanelGrid(std::size_t columns, double width, double pitch);

  [[nodiscard]] double column() const { return column_; }  ///< the width of one place
  [[nodiscard]] double left(std::size_t panel) const;      ///< The left edge of its place.
  [[nodiscard]] double top(std::size_t panel) const;
  [[nodiscard]] double height(std::size_t panels) const;  ///< The height of all lines that so many panels need.

 private:
  std::size_t columns_;
  double column_, pitch_;
};

class Picture {
 public:
  explicit Picture(Frame frame);

  /// Returns its number, which rows have.
  int add(const Panel& panel);
  void add(Row row) { rows_.push_back(std::move(row)); }
  /// Draws the rows of a panel with a function of the runtime. `series`: only rows with this name; empty: all.
  /// `by`: what is on the axes: "category" (value, group), "cell" (series, group), "point" (x, value).
  void draw(int panel, const std::string& series, const char* function, const char* by, Json arguments);
  /// A line through the rows with x and value.
  void line(int panel, const Look& look);
  void plain_line(int panel, const std::string& series, const char* colour, Json dash, const char* step = nullptr,
                  int z = 3);
  /// A line through the panel at `x` or `y`.
  void rule(int panel, const char* axis, double at, const char* colour);

  [[nodiscard]] std::span<const Row> rows() const { return rows_; }
  [[nodiscard]] const Frame& frame() const { return frame_; }
  /// `height`: of everything between head and notes.
  [[nodiscard]] Chart finish(double height, Table table, std::string summary) const;

 private:
  Frame frame_;
  double head_ = 0;
  std::vector<Row> rows_;
  Json titles_ = Json::array(), grids_ = Json::array(), x_ = Json::array(), y_ = Json::array(), series_ = Json::array();
};

/// Arguments of the runtime's functions for a target: colours, marker, dash.
[[nodiscard]] Json arguments_of(const Look& look);

/// A numeric axis. `columns` of the rows decide its range, `panels` whose; `scale`: linear, log, auto, time, share.
[[nodiscard]] Json number_axis(const std::string& name, std::vector<std::string> columns, std::vector<int> panels,
                               const char* scale, bool zero = false, const std::vector<double>& include = {});
/// The groups of the panel's rows, from the top; labels are cut to `label_width` pixels.
[[nodiscard]] Json group_axis(int panel, double label_width);

/// Three significant digits, thousands apart by a thin space: "0.0123", "8.00", "10 432".
[[nodiscard]] std::string number_words(double value);

/// The mark of a row that has no value to show; kNone of one that has.
[[nodiscard]] Mark mark_of(const Record& row);
/// Whether its times are shown: it ran, and its numbers are not wrong.
[[nodiscard]] bool shows_values(const Record& row);
[[nodiscard]] bool is_simulated(const Record& row);  ///< True also for a software device.
/// Whether its value is shown, but not ranked: it is too disturbed or uncertain, was cut short, or is not verified.
/// Simulated and software devices have a mark of their own.
[[nodiscard]] bool is_unranked(const Record& row);
/// Dashed if it is not ranked; else hollow without an interval over launches, hatched if simulated or software.
[[nodiscard]] int style_of(const Record& row);
/// For tables: "verified", "verified, not ranked", "unverified, not ranked, mean", "failed (worker_died)".
[[nodiscard]] std::string status_words(const Record& row);

/// Whether a row without values has the lengths, the precision and the streams of `like`, as far as it says them: what
/// failed has no more to compare.
[[nodiscard]] bool is_asked_alike(const Record& like, const Record& row);
/// Its rate if the median were this time.
[[nodiscard]] Number rate_at(const Record& row, const Number& time);
inline constexpr std::string_view kWhiskersOfRates =
    "Whiskers of throughput: the interval of the median as a rate; a throughput has none of its own.";

inline constexpr std::string_view kSimulatedTimes =
    "A simulated or software device: its times are not the device's, and it is never ranked.";
inline constexpr std::string_view kHollowOfOneProcess = "Hollow: one process, so there is no interval over launches.";
/// What the rows of a picture need explained: dashed, hollow, hatched, marks; a sentence each.
/// `hollow`: what that means; empty: it is explained elsewhere.
[[nodiscard]] std::vector<std::string> legend_notes(std::span<const Row> rows,
                                                    std::string_view hollow = kHollowOfOneProcess);

/// Removes targets that have no value, and whose rows only say that they are not available, were skipped, or have no
/// cell in common with others; a note names them.
void leave_out_absent(Frame& frame, std::vector<Row>& rows);

}  // namespace assay::chart
