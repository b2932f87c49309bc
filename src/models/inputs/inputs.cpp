// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/shell.hpp"
#include "core/base/text.hpp"
#include "models/inputs/fixed_extents.hpp"
#include "models/inputs/image_folder.hpp"
#include "models/inputs/input_axes.hpp"
#include "models/inputs/input_data.hpp"
#include "models/inputs/inputs.hpp"
#include "models/onnx/tensor_limits.hpp"

namespace assay {
namespace {

constexpr std::int64_t kVocabulary = 1000;
constexpr std::int64_t kTimesteps = 1000;

Status refuse_batch(std::int64_t asked, std::optional<std::int64_t> fixed, std::string_view whose) {
  const std::int64_t only = fixed.value_or(1);
  return fail(ErrorCode::kFixedShape,
              fixed ? fmt::format("{} batch is fixed at {}, {} was requested", whose, only, asked)
                    : fmt::format("the model has no batch axis and runs at batch 1 only, {} was requested", asked),
              fmt::format("--batch-sizes {}", only));
}

// The first extent that all inputs have in common, when it is fixed.
std::optional<std::int64_t> common_batch(const ModelInfo& model) {
  std::optional<std::int64_t> batch;
  for (const ModelValue& input : model.inputs) {
    if (!input.has_rank || input.shape.empty() || input.shape[0] < 1 ||
        batch.value_or(input.shape[0]) != input.shape[0]) {
      return std::nullopt;
    }
    batch = input.shape[0];
  }
  return batch;
}

std::int64_t largest_of(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return 127;
    case DType::kUInt8:
      return 255;
    case DType::kInt16:
      return 32767;
    case DType::kUInt16:
      return 65535;
    default:
      return std::int64_t{1} << 31;
  }
}

void set_integers(InputRecipe& recipe, std::int64_t low, std::int64_t high) {
  recipe.fill = Fill::kInteger;
  recipe.low = static_cast<double>(low);
  recipe.high = static_cast<double>(std::min(high, largest_of(recipe.dtype)));
}

void set_constant(InputRecipe& recipe, std::int64_t value) {
  recipe.fill = Fill::kConstant;
  recipe.low = static_cast<double>(value);
}

// Values for one input of known shape.
void choose_fill(const ModelValue& input, const InputAxes& axes, InputRecipe& recipe) {
  const bool floating = is_floating(input.dtype);
  const bool is_bool = input.dtype == DType::kBool;
  switch (role_of(input)) {
    case InputRole::kMask:
      if (recipe.shape.empty())
        set_constant(recipe, 1);
      else
        recipe.fill = Fill::kPaddingMask;
      return;
    case InputRole::kOnes:
      set_constant(recipe, 1);
      return;
    case InputRole::kTokenTypes:
      recipe.fill = Fill::kTokenTypes;
      recipe.high = static_cast<double>(input.index_limit.value_or(2) - 1);
      return;
    case InputRole::kPositions:
      recipe.fill = Fill::kPositions;
      return;
    case InputRole::kIds:
      set_integers(recipe, 0, is_bool ? 1 : input.index_limit.value_or(kVocabulary) - 1);
      return;
    case InputRole::kLengths:
      set_constant(recipe, is_bool ? 1 : std::clamp<std::int64_t>(axes.sequence, 1, largest_of(input.dtype)));
      return;
    case InputRole::kTimestep:
      if (floating) {
        recipe.fill = Fill::kUniform;
        recipe.high = static_cast<double>(kTimesteps);
      } else {
        set_integers(recipe, 0, is_bool ? 1 : kTimesteps - 1);
      }
      return;
    default:
      break;
  }
  if (floating) {
    recipe.fill = Fill::kNormal;
  } else if (is_bool && element_count(recipe.shape).value_or(0) <= 1) {
    set_constant(recipe, 0);  // a switch, such as use_cache_branch
  } else if (input.dtype == DType::kUInt8 || input.dtype == DType::kInt8) {
    set_integers(recipe, input.dtype == DType::kInt8 ? -128 : 0, 255);  // quantised values, pixels
  } else {
    set_integers(recipe, 0, 1);
  }
}

bool can_make(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kBool:
      return true;
    default:
      return is_integer(dtype) && bit_width(dtype) >= 8;
  }
}

const char* const kGiveData = "give real inputs with --data DIR: one file NAME.npy for each input";

// An extent that neither the file nor a rule of assay says.
tl::unexpected<Error> unknown_extent(const ModelInfo& model, const ModelValue& input, std::size_t axis,
                                     const FixedExtents& fixed) {
  const std::string symbol = axis < input.symbols.size() ? input.symbols[axis] : "";
  return fail(ErrorCode::kUnsupported,
              fmt::format("input {} {}: the size of axis {}{} is unknown; give it with {}", shown(input.name),
                          to_string(input.shape), axis, symbol.empty() ? "" : " (" + symbol + ")",
                          shape_options(model, fixed, OpenExtents::kWithoutRule)),
              kGiveData);
}

Result<InputRecipe> make_recipe(const ModelInfo& model, const ModelValue& input, const InputAxes& axes,
                                const FixedExtents& fixed, ExtentBinder& binder, ModelInputs& made) {
  const std::string what = "input " + shown(input.name);
  if (!can_make(input.dtype)) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("{} has elements of type {}, for which assay cannot make values", what, to_string(input.dtype)),
        kGiveData);
  }
  if (!input.has_rank) {
    return fail(ErrorCode::kUnsupported,
                what + " has no shape, not even a rank, so that assay cannot make values for it",
                fmt::format("give one with --shape {}, as many extents as it has; or {}",
                            shell_quoted(input.name + ":BxN"), kGiveData));
  }
  InputRecipe recipe{.name = input.name, .dtype = input.dtype, .shape = {}};
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const auto bound = binder.bind(input, axis);
    if (!bound) return unknown_extent(model, input, axis, fixed);
    if (bound->sequence && axes.sequence < 1) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} needs a sequence length above 0, not {}", what, axes.sequence),
                  "--sequence-lengths 128");
    }
    recipe.shape.push_back(bound->extent);
    made.uses_batch = made.uses_batch || bound->batch;
    made.uses_sequence = made.uses_sequence || bound->sequence;
  }
  ASSAY_TRY([[maybe_unused]] const std::uint64_t bytes,
            check_extents(input.dtype, recipe.shape, false, physical_memory(), what));
  choose_fill(input, axes, recipe);
  return recipe;
}

// The input that --input-shape is for.
const ModelValue* shaped_input(const ModelInfo& model) {
  const auto image =
      std::ranges::find_if(model.inputs, [](const ModelValue& input) { return role_of(input) == InputRole::kImage; });
  if (image != model.inputs.end()) return &*image;
  return model.inputs.empty() ? nullptr : &model.inputs.front();
}

bool has_batch(const ModelValue& input, const Shape& given) { return given.size() == input.shape.size(); }

// `given` with the batch in front.
Shape with_batch(const ModelValue& input, const Shape& given, std::int64_t batch) {
  Shape shape = given;
  if (!has_batch(input, given)) shape.insert(shape.begin(), batch);
  return shape;
}

// The values of --input-shape that this input accepts: "3,224,224", "3,any,any".
std::string valid_shape(const ModelValue& input) {
  std::vector<std::string> extents;
  for (std::size_t axis = 1; axis < input.shape.size(); ++axis)
    extents.push_back(input.shape[axis] < 0 ? "any" : std::to_string(input.shape[axis]));
  const std::string batch = input.shape[0] < 0 ? "any" : std::to_string(input.shape[0]);
  return extents.empty() ? batch : fmt::format("{0}, or with the batch in front {1},{0}", join(extents, ","), batch);
}

// The batch of inputs read from files: their first extent if the model's is the batch.
std::optional<std::int64_t> batch_of_data(const ModelInfo& model, const std::vector<InputRecipe>& recipes) {
  ExtentBinder binder({});
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const ModelValue& input = model.inputs[i];
    if (!input.has_rank || input.shape.empty() || input.shape[0] >= 0) continue;
    const auto bound = binder.bind(input, 0);
    if (bound && bound->batch) return recipes[i].shape[0];
  }
  return std::nullopt;
}

// Arrays have the extents that were given by name.
Status check_given_extents(const ModelInfo& model, const std::vector<InputRecipe>& recipes, const InputAxes& axes) {
  ASSAY_TRY(const FixedExtents fixed, fix_extents(model, axes.given));
  for (const ModelValue& input : model.inputs) {
    const auto array = std::ranges::find(recipes, input.name, &InputRecipe::name);
    if (array == recipes.end() || array->shape.size() != input.shape.size()) continue;
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const FixedExtents::Extent* given = fixed.find(input, axis);
      if (given == nullptr || given->value < 0 || given->value == array->shape[axis]) continue;
      return fail(
          ErrorCode::kMismatch,
          fmt::format("--shape or --dim contradicts --data: extent {} of the input {} is {}, and its array is {}",
                      axis + 1, shown(input.name), given->value, to_string(array->shape)),
          "leave it out: the array says the shape");
    }
  }
  return {};
}

// Arrays have the shape that was requested.
Status check_data_shape(const ModelInfo& model, const std::vector<InputRecipe>& recipes, const InputAxes& axes) {
  ASSAY_CHECK_OK(check_given_extents(model, recipes, axes));
  if (axes.input_shape.empty()) return {};
  const ModelValue& input = *shaped_input(model);
  const Shape& shape = recipes[static_cast<std::size_t>(&input - model.inputs.data())].shape;
  if (shape == with_batch(input, axes.input_shape, shape.front())) return {};
  return fail(ErrorCode::kMismatch,
              fmt::format("--input-shape {} contradicts --data: the array for the input {} is {}",
                          fmt::join(axes.input_shape, ","), shown(input.name), to_string(shape)),
              "leave out --input-shape: the array says the shape");
}

}  // namespace

Status check_input_shape(const ModelInfo& model, const InputAxes& axes) {
  ASSAY_TRY([[maybe_unused]] const FixedExtents fixed, fix_extents(with_given_ranks(model, axes.given), axes.given));
  const ModelValue* input = shaped_input(model);
  if (axes.input_shape.empty()) return {};
  if (input == nullptr || !input->has_rank || input->shape.empty())
    return fail(ErrorCode::kInvalidArgument, "--input-shape: the model does not state the rank of an input", kGiveData);
  const Shape shape = with_batch(*input, axes.input_shape, input->shape[0]);
  bool fits = shape.size() == input->shape.size();
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis)
    fits = input->shape[axis] < 0 || shape[axis] == input->shape[axis];
  if (!fits)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--input-shape {} does not fit the input {} of shape {} (-1: any)",
                            fmt::join(axes.input_shape, ","), shown(input->name), to_string(input->shape)),
                "valid: --input-shape " + valid_shape(*input));
  ExtentBinder binder({});
  for (std::size_t axis = 1; axis < input->shape.size(); ++axis)
    if (const auto bound = binder.bind(*input, axis); bound && bound->sequence)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--input-shape {}: axis {} of the input {} is the sequence length",
                              fmt::join(axes.input_shape, ","), axis, shown(input->name)),
                  fmt::format("use --sequence-lengths {}", shape[axis]));
  return {};
}

Result<std::optional<std::int64_t>> fixed_batch(const ModelInfo& model, const InputAxes& axes) {
  ASSAY_TRY(const std::vector<std::filesystem::path> images, images_in(axes.data));
  if (!images.empty()) ASSAY_CHECK_OK(check_takes_images(model, axes.data));
  if (!axes.data.empty() && images.empty()) {
    ASSAY_TRY(const std::vector<InputRecipe> recipes, read_input_data(model, axes));
    ASSAY_CHECK_OK(check_given_extents(with_given_ranks(model, axes.given), recipes, axes));
    if (const auto batch = batch_of_data(model, recipes)) {
      if (*batch == 0)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{} has arrays of batch size 0: there is nothing to run on", shown_path(axes.data)),
                    "give at least one item along the first axis");
      return batch;
    }
  }
  if (!axes.input_shape.empty()) {
    ASSAY_CHECK_OK(check_input_shape(model, axes));
    if (has_batch(*shaped_input(model), axes.input_shape)) return axes.input_shape.front();
  }
  ASSAY_TRY(const FixedExtents fixed, fix_extents(with_given_ranks(model, axes.given), axes.given));
  return fixed.batch ? fixed.batch : common_batch(model);
}

Result<ModelInputs> make_inputs(const ModelInfo& file, const InputAxes& axes) {
  const ModelInfo model = with_given_ranks(file, axes.given);
  if (axes.batch < 1)
    return fail(ErrorCode::kInvalidArgument, fmt::format("batch size {} is invalid; use 1 or more", axes.batch));
  ASSAY_CHECK_OK(check_input_shape(model, axes));
  ASSAY_TRY(const std::vector<std::filesystem::path> images, images_in(axes.data));
  ModelInputs made;
  if (!axes.data.empty() && images.empty()) {
    ASSAY_TRY(made.recipes, read_input_data(model, axes));
    ASSAY_CHECK_OK(check_data_shape(model, made.recipes, axes));
    const auto of_data = batch_of_data(model, made.recipes);
    const auto fixed = of_data ? of_data : common_batch(model);
    if (axes.batch != fixed.value_or(1)) {
      ASSAY_CHECK_OK(refuse_batch(axes.batch, fixed, of_data ? "the data's" : "the model's"));
    }
    return made;
  }
  ASSAY_TRY(const FixedExtents fixed, fix_extents(model, axes.given));
  if (fixed.batch && axes.batch != *fixed.batch)
    ASSAY_CHECK_OK(refuse_batch(axes.batch, fixed.batch, "the requested shape's"));
  InputAxes bound = axes;
  bound.sequence = fixed.sequence.value_or(axes.sequence);
  ExtentBinder binder(bound, fixed);
  if (!axes.input_shape.empty()) {
    const ModelValue& input = *shaped_input(model);
    const Shape shape = with_batch(input, axes.input_shape, axes.batch);
    if (shape.front() != axes.batch) ASSAY_CHECK_OK(refuse_batch(axes.batch, shape.front(), "the requested shape's"));
    binder.give(input, shape);
  }
  for (const ModelValue& input : model.inputs) {
    ASSAY_TRY(InputRecipe recipe, make_recipe(model, input, bound, fixed, binder, made));
    made.recipes.push_back(std::move(recipe));
  }
  const auto common = common_batch(model);
  if (!made.uses_batch && axes.batch != common.value_or(1))
    ASSAY_CHECK_OK(refuse_batch(axes.batch, common, "the model's"));
  if (!images.empty()) ASSAY_CHECK_OK(use_images(model, axes, images, made));
  return made;
}

}  // namespace assay
