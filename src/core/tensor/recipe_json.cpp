// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/tensor/recipe.hpp"

namespace assay {
namespace {

constexpr std::array<std::pair<Fill, std::string_view>, 8> kFills{{{Fill::kNormal, "normal"},
                                                                   {Fill::kUniform, "uniform"},
                                                                   {Fill::kInteger, "integer"},
                                                                   {Fill::kPaddingMask, "padding_mask"},
                                                                   {Fill::kTokenTypes, "token_types"},
                                                                   {Fill::kPositions, "positions"},
                                                                   {Fill::kConstant, "constant"},
                                                                   {Fill::kFile, "file"}}};

Result<std::string> text(const Json& json, const char* key) {
  if (const auto found = json.find(key); found != json.end() && found->is_string()) return found->get<std::string>();
  return fail(ErrorCode::kInvalidArgument, fmt::format("an input recipe needs \"{}\", a string", key));
}

Result<double> number(const Json& json, const char* key) {
  if (const auto found = json.find(key); found != json.end() && found->is_number()) return found->get<double>();
  return fail(ErrorCode::kInvalidArgument, fmt::format("an input recipe needs \"{}\", a number", key));
}

}  // namespace

std::string_view to_string(Fill fill) {
  const auto found = std::find_if(kFills.begin(), kFills.end(), [&](const auto& row) { return row.first == fill; });
  ASSAY_CHECK(found != kFills.end(), "every fill has a name");
  return found->second;
}

std::optional<Fill> fill_from(std::string_view name) {
  const auto found = std::find_if(kFills.begin(), kFills.end(), [&](const auto& row) { return row.second == name; });
  if (found == kFills.end()) return std::nullopt;
  return found->first;
}

Json to_json(const InputRecipe& recipe) {
  Json json{{"name", recipe.name},   {"dtype", to_string(recipe.dtype)},
            {"shape", recipe.shape}, {"fill", to_string(recipe.fill)},
            {"low", recipe.low},     {"high", recipe.high}};
  if (!recipe.file.empty()) json["file"] = recipe.file.string();
  return json;
}

Result<InputRecipe> recipe_from_json(const Json& json) {
  if (!json.is_object()) return fail(ErrorCode::kInvalidArgument, "an input recipe is a JSON object");
  InputRecipe recipe;
  ASSAY_TRY(recipe.name, text(json, "name"));
  ASSAY_TRY(const std::string dtype, text(json, "dtype"));
  ASSAY_TRY(const std::string fill, text(json, "fill"));
  ASSAY_TRY(recipe.low, number(json, "low"));
  ASSAY_TRY(recipe.high, number(json, "high"));
  if (const auto known = dtype_from(dtype))
    recipe.dtype = *known;
  else
    return fail(ErrorCode::kInvalidArgument, fmt::format("input '{}': there is no dtype '{}'", recipe.name, dtype));
  if (const auto known = fill_from(fill))
    recipe.fill = *known;
  else
    return fail(ErrorCode::kInvalidArgument, fmt::format("input '{}': there is no fill '{}'", recipe.name, fill));
  const auto shape = json.find("shape");
  if (shape == json.end() || !shape->is_array() ||
      !std::all_of(shape->begin(), shape->end(), [](const Json& extent) { return extent.is_number_integer(); }))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("input '{}' needs \"shape\", a list of integers", recipe.name));
  recipe.shape = shape->get<Shape>();
  if (recipe.fill == Fill::kFile) {
    ASSAY_TRY(recipe.file, text(json, "file"));
  }
  return recipe;
}

}  // namespace assay
