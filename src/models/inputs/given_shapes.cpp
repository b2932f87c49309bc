// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/given_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/base/text.hpp"

namespace assay {
namespace {

// Files of audio have more samples than 2^24; memory is checked when the inputs are made.
constexpr std::int64_t kMostGiven = std::int64_t{1} << 30;
constexpr std::size_t kMostRank = 64;
constexpr const char* kScalar = "scalar";
constexpr const char* kShapeForm =
    "give NAME:EXTENTS, such as x:1x3x224x224, or x:Bx3x224x224, which follows --batch-sizes";

tl::unexpected<Error> bad_extent(const std::string& what, std::string_view word) {
  const bool letters = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
  }) && std::isupper(static_cast<unsigned char>(word.front())) != 0;
  if (letters)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' stands for a number that you choose", what, word),
                fmt::format("write an integer from 1 to {} in its place", kMostGiven));
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: the extent '{}' is not valid; give an integer from 1 to {}, B (the batch), S (the "
                          "sequence length) or ? (as without the option)",
                          what, word, kMostGiven));
}

Result<Shape> parse_extents(const std::string& what, std::string_view text) {
  Shape extents;
  if (text == kScalar) return extents;
  for (const std::string& word : split(text, 'x')) {
    const auto number = parse_number<std::int64_t>(word);
    if (word == "B")
      extents.push_back(kBatchExtent);
    else if (word == "S")
      extents.push_back(kSequenceExtent);
    else if (word == "?")
      extents.push_back(kOpenExtent);
    else if (number && *number >= 1 && *number <= kMostGiven)
      extents.push_back(*number);
    else
      return bad_extent(what, word);
  }
  if (extents.size() > kMostRank)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} extents are too many; give at most {}", what, extents.size(), kMostRank));
  return extents;
}

std::string extents_text(const Shape& extents) {
  if (extents.empty()) return kScalar;
  std::vector<std::string> words;
  for (const std::int64_t extent : extents)
    words.push_back(extent == kBatchExtent      ? "B"
                    : extent == kSequenceExtent ? "S"
                    : extent == kOpenExtent     ? "?"
                                                : std::to_string(extent));
  return join(words, "x");
}

Result<GivenShape> parse_shape(const std::string& text) {
  const std::string what = "--shape " + text;
  GivenShape shape;
  std::string_view rest = text;
  std::size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && colon > 0)
    if (const auto dtype = dtype_from(rest.substr(colon + 1)); dtype && *dtype != DType::kUndefined) {
      shape.dtype = *dtype;
      rest = rest.substr(0, colon);
      colon = rest.rfind(':');
    }
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == rest.size())
    return fail(ErrorCode::kInvalidArgument, fmt::format("--shape: '{}' is not valid", text), kShapeForm);
  const std::string_view extents = rest.substr(colon + 1);
  Result<Shape> parsed = parse_extents(what, extents);
  if (!parsed && shape.dtype == DType::kUndefined)  // "x:1x3:float23"
    if (const std::size_t before = rest.rfind(':', colon - 1); before != std::string_view::npos && before > 0)
      if (parse_extents(what, rest.substr(before + 1, colon - before - 1)))
        return fail(
            ErrorCode::kInvalidArgument,
            fmt::format("{}: '{}' is not an element type; valid are float32, float16, bfloat16, float64, int64, "
                        "int32, int16, int8, uint8 and bool, among others",
                        what, extents));
  ASSAY_TRY(shape.extents, std::move(parsed));
  shape.input = rest.substr(0, colon);
  return shape;
}

Result<GivenExtent> parse_extent(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string symbol(trim(std::string_view(text).substr(0, equals)));
  if (equals == std::string::npos || symbol.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("--dim: '{}' is not valid", text),
                "give SYMBOL=N, such as width=320");
  const std::string word = text.substr(equals + 1);
  const auto number = parse_number<std::int64_t>(word);
  if (!number || *number < 1 || *number > kMostGiven)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--dim {}: '{}' is not valid; give an integer from 1 to {}", text, word, kMostGiven));
  return GivenExtent{symbol, *number};
}

// The same twice is valid: a script may add what the user wrote already.
template <class Given, class Name>
Status add_once(std::vector<Given>& all, Given given, Name name) {
  const auto there = std::ranges::find(all, given.*name, name);
  if (there == all.end()) return all.push_back(std::move(given)), Status();
  if (*there == given) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} and {} contradict each other", option_text(*there), option_text(given)),
              "give one of them");
}

}  // namespace

Status add_shapes(std::string_view text, std::vector<GivenShape>& shapes) {
  for (const std::string& word : split(text, ',')) {
    ASSAY_TRY(GivenShape shape, parse_shape(std::string(trim(word))));
    ASSAY_CHECK_OK(add_once(shapes, std::move(shape), &GivenShape::input));
  }
  return {};
}

Status add_extents(std::string_view text, std::vector<GivenExtent>& extents) {
  for (const std::string& word : split(text, ',')) {
    ASSAY_TRY(GivenExtent extent, parse_extent(std::string(trim(word))));
    ASSAY_CHECK_OK(add_once(extents, std::move(extent), &GivenExtent::symbol));
  }
  return {};
}

std::string option_value(const GivenShape& shape) {
  return fmt::format("{}:{}{}", shape.input, extents_text(shape.extents),
                     shape.dtype == DType::kUndefined ? "" : fmt::format(":{}", to_string(shape.dtype)));
}

std::string option_value(const GivenExtent& extent) { return fmt::format("{}={}", extent.symbol, extent.extent); }
std::string option_text(const GivenShape& shape) { return "--shape " + option_value(shape); }
std::string option_text(const GivenExtent& extent) { return "--dim " + option_value(extent); }
void to_json(Json& json, const GivenShape& shape) { json = option_value(shape); }
void to_json(Json& json, const GivenExtent& extent) { json = option_value(extent); }

GivenShapes merged(GivenShapes own, const GivenShapes& general) {
  for (const GivenShape& shape : general.shapes)
    if (std::ranges::find(own.shapes, shape.input, &GivenShape::input) == own.shapes.end()) own.shapes.push_back(shape);
  for (const GivenExtent& extent : general.extents)
    if (std::ranges::find(own.extents, extent.symbol, &GivenExtent::symbol) == own.extents.end())
      own.extents.push_back(extent);
  return own;
}

}  // namespace assay
