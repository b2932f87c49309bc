// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/tensor/npy.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {
namespace {

struct Half {
  using Value = float;
  static std::uint16_t pack(float v) { return float_to_half(v); }
};
struct BFloat16 {
  using Value = float;
  static std::uint16_t pack(float v) { return float_to_bfloat16(v); }
};
template <class T>
struct Plain {
  using Value = T;
  static T pack(T v) { return v; }
};
struct Bool {
  using Value = std::uint8_t;
  static std::uint8_t pack(std::uint8_t v) { return v; }
};

// Calls `f` with the element of `dtype` and says whether there is one. Fills have no packed or tiny types.
template <class F>
bool with_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      f(Plain<float>{});
      return true;
    case DType::kFloat64:
      f(Plain<double>{});
      return true;
    case DType::kFloat16:
      f(Half{});
      return true;
    case DType::kBFloat16:
      f(BFloat16{});
      return true;
    default:
      return false;
  }
}

template <class F>
bool with_integer(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kUInt8:
      f(Plain<std::uint8_t>{});
      return true;
    case DType::kInt8:
      f(Plain<std::int8_t>{});
      return true;
    case DType::kUInt16:
      f(Plain<std::uint16_t>{});
      return true;
    case DType::kInt16:
      f(Plain<std::int16_t>{});
      return true;
    case DType::kUInt32:
      f(Plain<std::uint32_t>{});
      return true;
    case DType::kInt32:
      f(Plain<std::int32_t>{});
      return true;
    case DType::kUInt64:
      f(Plain<std::uint64_t>{});
      return true;
    case DType::kInt64:
      f(Plain<std::int64_t>{});
      return true;
    case DType::kBool:
      f(Bool{});
      return true;
    default:
      return false;
  }
}

// Fills `tensor` with element(i), converted to its type.
template <class Element, class F>
void fill(Tensor& tensor, Element, F&& element) {
  using Stored = decltype(Element::pack({}));
  const std::span<Stored> out = tensor.as<Stored>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = Element::pack(static_cast<typename Element::Value>(element(static_cast<std::uint64_t>(i))));
}

tl::unexpected<Error> cannot_make(const InputRecipe& recipe) {
  return fail(ErrorCode::kUnsupported, fmt::format("input '{}': '{}' cannot make values of type {}", recipe.name,
                                                   to_string(recipe.fill), to_string(recipe.dtype)));
}

Status check_finite(const InputRecipe& recipe) {
  if (std::isfinite(recipe.low) && std::isfinite(recipe.high)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("input '{}': the range {} … {} is not finite", recipe.name, recipe.low, recipe.high));
}

// The smallest and largest value of an integer type, cut to the range of int64.
std::pair<std::int64_t, std::int64_t> integer_limits(DType dtype) {
  std::pair<std::int64_t, std::int64_t> limits{0, 1};
  with_integer(dtype, [&](auto element) {
    using Value = typename decltype(element)::Value;
    if constexpr (!std::is_same_v<decltype(element), Bool>)
      limits = {static_cast<std::int64_t>(std::numeric_limits<Value>::min()),
                sizeof(Value) == 8 ? std::numeric_limits<std::int64_t>::max()
                                   : static_cast<std::int64_t>(std::numeric_limits<Value>::max())};
  });
  return limits;
}

// A whole number in the range of the recipe's dtype.
Result<std::int64_t> whole(const InputRecipe& recipe, double value) {
  const auto [least, most] = integer_limits(recipe.dtype);
  // 2^63 itself rounds up from the largest int64, so the upper bound is exclusive there.
  if (std::trunc(value) == value && value >= static_cast<double>(least) && value <= static_cast<double>(most) &&
      value < 0x1p63)
    return static_cast<std::int64_t>(value);
  return fail(ErrorCode::kInvalidArgument, fmt::format("input '{}': {} is not a whole number of type {}, {} to {}",
                                                       recipe.name, value, to_string(recipe.dtype), least, most));
}

Status fill_normal_values(const InputRecipe& recipe, const CounterRandom& random, Tensor& tensor) {
  ASSAY_CHECK_OK(check_finite(recipe));
  const bool made = with_floating(recipe.dtype, [&](auto element) {
    fill(tensor, element,
         [&](std::uint64_t i) { return recipe.low + recipe.high * static_cast<double>(random.normal(i)); });
  });
  if (!made) return cannot_make(recipe);
  return {};
}

Status fill_uniform(const InputRecipe& recipe, const CounterRandom& random, Tensor& tensor) {
  ASSAY_CHECK_OK(check_finite(recipe));
  const double width = recipe.high - recipe.low;
  const bool made = with_floating(recipe.dtype, [&](auto element) {
    fill(tensor, element, [&](std::uint64_t i) { return recipe.low + width * static_cast<double>(random.uniform(i)); });
  });
  if (!made) return cannot_make(recipe);
  return {};
}

Status fill_integer(const InputRecipe& recipe, const CounterRandom& random, Tensor& tensor) {
  if (!is_integer(recipe.dtype) && recipe.dtype != DType::kBool) return cannot_make(recipe);
  ASSAY_TRY(const std::int64_t low, whole(recipe, recipe.low));
  ASSAY_TRY(const std::int64_t high, whole(recipe, recipe.high));
  if (low > high)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("input '{}': the range {} to {} is empty", recipe.name, low, high));
  const bool made = with_integer(recipe.dtype, [&](auto element) {
    fill(tensor, element, [&](std::uint64_t i) { return random.integer(i, low, high); });
  });
  if (!made) return cannot_make(recipe);
  return {};
}

// Small whole numbers, for any dtype that has them.
template <class F>
Status fill_whole(const InputRecipe& recipe, Tensor& tensor, F&& value) {
  const auto visit = [&](auto element) { fill(tensor, element, value); };
  if (with_integer(recipe.dtype, visit) || with_floating(recipe.dtype, visit)) return {};
  return cannot_make(recipe);
}

// Ones; in the padded set zeros from a seeded column on, in every row of the last axis.
Status fill_padding_mask(const InputRecipe& recipe, const CounterRandom& random, Tensor& tensor, std::int64_t columns,
                         bool padded) {
  const auto width = static_cast<std::uint64_t>(columns);
  const std::int64_t prompt = recipe.high > 1.0 ? std::min(columns, static_cast<std::int64_t>(recipe.high)) : columns;
  const std::int64_t least = (prompt + 1) / 2;
  return fill_whole(recipe, tensor, [&](std::uint64_t i) {
    const auto column = static_cast<std::int64_t>(i % width);
    if (!padded || column >= prompt) return 1;
    return column < random.integer(i / width, least, std::max(least, prompt - 1)) ? 1 : 0;
  });
}

// Zeros, then ones from a seeded position on; type 0 alone if there is no other.
Status fill_token_types(const InputRecipe& recipe, const CounterRandom& random, Tensor& tensor, std::int64_t columns) {
  const auto width = static_cast<std::uint64_t>(columns);
  return fill_whole(recipe, tensor, [&](std::uint64_t i) {
    if (recipe.high < 1.0) return 0;
    const std::int64_t first = random.integer(i / width, 1, columns);
    return static_cast<std::int64_t>(i % width) < first ? 0 : 1;
  });
}

Status fill_positions(const InputRecipe& recipe, Tensor& tensor, std::int64_t columns) {
  if (columns > 0 && !is_floating(recipe.dtype)) ASSAY_CHECK_OK(whole(recipe, static_cast<double>(columns - 1)));
  const auto width = static_cast<std::uint64_t>(columns);
  return fill_whole(recipe, tensor, [&](std::uint64_t i) { return i % width; });
}

Status fill_constant(const InputRecipe& recipe, Tensor& tensor) {
  if (with_floating(recipe.dtype,
                    [&](auto element) { fill(tensor, element, [&](std::uint64_t) { return recipe.low; }); }))
    return {};
  if (!is_integer(recipe.dtype) && recipe.dtype != DType::kBool) return cannot_make(recipe);
  ASSAY_TRY(const std::int64_t value, whole(recipe, recipe.low));
  return fill_whole(recipe, tensor, [&](std::uint64_t) { return value; });
}

Result<Tensor> load(const InputRecipe& recipe) {
  const std::string extension = recipe.file.extension().string();
  if (extension == ".npy") return read_npy(recipe.file);
  if (extension != ".safetensors")
    return fail(ErrorCode::kUnsupported, fmt::format("{} is neither .npy nor .safetensors", recipe.file.string()));
  ASSAY_TRY(const SafetensorsFile file, SafetensorsFile::open(recipe.file));
  ASSAY_TRY(const TensorView view, file.tensor(recipe.name));
  return Tensor::copy_of(view);
}

Result<Tensor> from_file(const InputRecipe& recipe) {
  ASSAY_TRY(Tensor tensor, load(recipe));
  if (tensor.dtype() == recipe.dtype && tensor.shape() == recipe.shape) return tensor;
  return fail(ErrorCode::kMismatch,
              fmt::format("{} has {} of shape {}, the input '{}' expects {} of shape {}", recipe.file.string(),
                          to_string(tensor.dtype()), to_string(tensor.shape()), recipe.name, to_string(recipe.dtype),
                          to_string(recipe.shape)));
}

/// The inputs of all sets together stay below this.
constexpr std::uint64_t kMaxInputBytes = 256ULL << 20;

}  // namespace

bool has_padding(const std::vector<InputRecipe>& recipes) {
  return std::ranges::any_of(recipes, [](const InputRecipe& recipe) {
    const double columns = recipe.shape.empty() ? 1.0 : static_cast<double>(recipe.shape.back());
    return recipe.fill == Fill::kPaddingMask && (recipe.high > 1.0 ? std::min(recipe.high, columns) : columns) > 1.0;
  });
}

std::size_t set_count(const std::vector<InputRecipe>& recipes, std::size_t wanted) {
  if (std::ranges::all_of(recipes, [](const InputRecipe& recipe) { return recipe.fill == Fill::kFile; })) return 1;
  std::uint64_t bytes = 1;
  for (const InputRecipe& recipe : recipes) bytes += byte_size(recipe.dtype, recipe.shape).value_or(0);
  const std::size_t least = has_padding(recipes) ? 3 : 2;
  return std::clamp<std::size_t>(kMaxInputBytes / bytes, least, std::max(least, wanted));
}

std::vector<std::size_t> timed_sets(const std::vector<InputRecipe>& recipes, std::size_t count) {
  std::vector<std::size_t> sets;
  for (std::size_t set = 0; set < count; ++set)
    if (set != kPaddedSet || !has_padding(recipes)) sets.push_back(set);
  return sets;
}

Result<Tensor> make_input(const InputRecipe& recipe, std::uint64_t seed, std::size_t set) {
  const std::string doing = fmt::format("while making input '{}'", recipe.name);
  if (recipe.fill == Fill::kFile) return with_context(from_file(recipe), doing);
  ASSAY_TRY(Tensor tensor, with_context(Tensor::create(recipe.dtype, recipe.shape), doing));
  const CounterRandom random(seed, fmt::format("{}#{}", recipe.name, set));
  const std::int64_t columns = recipe.shape.empty() ? 1 : recipe.shape.back();
  const auto filled = [&]() -> Status {
    switch (recipe.fill) {
      case Fill::kNormal:
        return fill_normal_values(recipe, random, tensor);
      case Fill::kUniform:
        return fill_uniform(recipe, random, tensor);
      case Fill::kInteger:
        return fill_integer(recipe, random, tensor);
      case Fill::kPaddingMask:
        return fill_padding_mask(recipe, random, tensor, columns, set == kPaddedSet);
      case Fill::kTokenTypes:
        return fill_token_types(recipe, random, tensor, columns);
      case Fill::kPositions:
        return fill_positions(recipe, tensor, columns);
      case Fill::kConstant:
      case Fill::kFile:
        break;
    }
    return fill_constant(recipe, tensor);
  }();
  if (!filled) return tl::unexpected<Error>(filled.error());
  return tensor;
}

}  // namespace assay
