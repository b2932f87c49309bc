// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "core/base/files.hpp"
#include "core/tensor/npy.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {
namespace {
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

InputRecipe recipe(DType dtype, Shape shape, Fill fill, double low = 0.0, double high = 1.0) {
  return {.name = "x", .dtype = dtype, .shape = std::move(shape), .fill = fill, .low = low, .high = high};
}

TEST(Recipe, IsAPureFunctionOfSeedAndSet) {
  const InputRecipe r = recipe(DType::kFloat32, {4, 5}, Fill::kNormal);
  const auto a = make_input(r, 1, 0), b = make_input(r, 1, 0), c = make_input(r, 1, 1), d = make_input(r, 2, 0);
  EXPECT_TRUE(std::ranges::equal(a->bytes(), b->bytes()));
  EXPECT_FALSE(std::ranges::equal(a->bytes(), c->bytes()));
  EXPECT_FALSE(std::ranges::equal(a->bytes(), d->bytes()));
}

TEST(Recipe, MakesFloatsOfEveryWidth) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    const auto tensor = make_input(recipe(dtype, {1000}, Fill::kUniform, 2.0, 3.0), 1, 0);
    ASSERT_TRUE(tensor);
    for (int i = 0; i < 1000; ++i) {
      const double x = element_as_double(tensor->view(), i);
      ASSERT_TRUE(x >= 2.0 && x <= 3.0) << to_string(dtype) << ' ' << x;
    }
    const auto normal = make_input(recipe(dtype, {1000}, Fill::kNormal, 5.0, 0.1), 1, 0);
    double sum = 0;
    for (int i = 0; i < 1000; ++i) sum += element_as_double(normal->view(), i);
    EXPECT_NEAR(sum / 1000, 5.0, 0.02) << to_string(dtype);
  }
}

TEST(Recipe, MakesIntegersInsideTheRange) {
  for (const DType dtype : {DType::kUInt8, DType::kInt8, DType::kInt32, DType::kInt64, DType::kUInt64}) {
    const auto tensor = make_input(recipe(dtype, {500}, Fill::kInteger, 3, 9), 1, 0);
    ASSERT_TRUE(tensor) << to_string(dtype);
    for (int i = 0; i < 500; ++i) {
      const double x = element_as_double(tensor->view(), i);
      ASSERT_TRUE(x >= 3 && x <= 9);
    }
  }
  EXPECT_THAT(make_input(recipe(DType::kBool, {64}, Fill::kInteger, 0, 1), 1, 0)->as<std::uint8_t>(),
              ::testing::AllOf(::testing::Contains(0), ::testing::Contains(1)));
}

TEST(Recipe, OneSetHasPaddingWhateverTheBatch) {
  const InputRecipe of_eight = recipe(DType::kInt64, {8, 10}, Fill::kPaddingMask);
  for (const std::size_t set : {0U, 2U, 3U})
    EXPECT_THAT(make_input(of_eight, 1, set)->as<std::int64_t>(), Each(1)) << "what is timed has no padding";
  const auto tensor = make_input(of_eight, 1, kPaddedSet);
  const auto mask = tensor->as<std::int64_t>();
  std::set<std::int64_t> lengths;
  for (std::size_t row = 0; row < 8; ++row) {
    const auto values = mask.subspan(row * 10, 10);
    EXPECT_TRUE(std::ranges::is_sorted(values, std::greater<>{}));
    EXPECT_EQ(values[4], 1) << "at least half";
    EXPECT_EQ(values[9], 0) << "every row has padding";
    lengths.insert(std::ranges::count(values, 1));
  }
  EXPECT_GT(lengths.size(), 1U) << "rows have lengths of their own";
  const auto single = make_input(recipe(DType::kInt64, {1, 10}, Fill::kPaddingMask), 1, kPaddedSet);
  EXPECT_TRUE(std::ranges::equal(single->as<std::int64_t>(), mask.first(10))) << "the same as in a larger batch";
  EXPECT_EQ(make_input(recipe(DType::kFloat32, {2, 1}, Fill::kPaddingMask), 1, kPaddedSet)->as<float>()[0], 1.0F);

  // In a cache, only the prompt's part may be padding.
  const auto cache = make_input(recipe(DType::kInt64, {8, 14}, Fill::kPaddingMask, 0, 10), 1, kPaddedSet);
  for (std::size_t row = 0; row < 8; ++row) {
    const auto values = cache->as<std::int64_t>().subspan(row * 14, 14);
    EXPECT_TRUE(std::ranges::equal(values.first(10), mask.subspan(row * 10, 10)));
    EXPECT_THAT(values.last(4), Each(1));
  }
}

TEST(Recipe, AllSetsButThePaddedOneAreTimed) {
  const InputRecipe ids = recipe(DType::kInt64, {2, 10}, Fill::kInteger, 0, 9);
  const InputRecipe padded = recipe(DType::kInt64, {2, 10}, Fill::kPaddingMask);
  InputRecipe file = ids;
  file.fill = Fill::kFile;
  EXPECT_EQ(set_count({ids, padded}, 4), 4U);
  EXPECT_THAT(timed_sets({ids, padded}, 4), ElementsAre(0, 2, 3));
  EXPECT_THAT(timed_sets({ids}, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(set_count({file, file}, 4), 1U);
  EXPECT_THAT(timed_sets({file, file}, 1), ElementsAre(0));
  EXPECT_EQ(set_count({}, 4), 1U);
  EXPECT_EQ(set_count({ids, padded}, 1), 3U);
  const InputRecipe large = recipe(DType::kFloat32, {1 << 20, 100}, Fill::kNormal);
  EXPECT_EQ(set_count({large}, 4), 2U) << "large inputs have fewer sets";
  EXPECT_EQ(set_count({large, padded}, 4), 3U);
  EXPECT_FALSE(has_padding({recipe(DType::kInt64, {2, 1}, Fill::kPaddingMask)})) << "a single token has none";
}

TEST(Recipe, MakesTokenTypesPositionsAndConstants) {
  const auto types = make_input(recipe(DType::kInt64, {4, 6}, Fill::kTokenTypes, 0, 1), 1, 0);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_TRUE(std::ranges::is_sorted(types->as<std::int64_t>().subspan(row * 6, 6)));
    EXPECT_EQ(types->as<std::int64_t>()[row * 6], 0);
  }
  EXPECT_THAT(make_input(recipe(DType::kInt64, {4, 6}, Fill::kTokenTypes, 0, 0), 1, 0)->as<std::int64_t>(), Each(0));
  EXPECT_THAT(make_input(recipe(DType::kInt32, {2, 3}, Fill::kPositions), 1, 0)->as<std::int32_t>(),
              ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(make_input(recipe(DType::kFloat32, {2}, Fill::kConstant, 0.5), 1, 0)->as<float>(), Each(0.5F));
  EXPECT_THAT(make_input(recipe(DType::kInt8, {}, Fill::kConstant, -3), 1, 0)->as<std::int8_t>(), ElementsAre(-3));
}

TEST(Recipe, MakesEmptyTensors) {
  for (const Fill fill : {Fill::kNormal, Fill::kPaddingMask, Fill::kTokenTypes, Fill::kPositions})
    EXPECT_TRUE(make_input(recipe(DType::kFloat32, {3, 0}, fill), 1, 0)) << to_string(fill);
}

TEST(Recipe, RefusesWhatAFillCannotMake) {
  EXPECT_THAT(make_input(recipe(DType::kInt64, {2}, Fill::kNormal), 1, 0).error().message,
              HasSubstr("'normal' cannot make values of type int64"));
  EXPECT_EQ(make_input(recipe(DType::kFloat32, {2}, Fill::kInteger), 1, 0).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(make_input(recipe(DType::kInt4, {2}, Fill::kInteger), 1, 0).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(make_input(recipe(DType::kString, {2}, Fill::kConstant), 1, 0).error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(make_input(recipe(DType::kUInt8, {2}, Fill::kInteger, 0, 256), 1, 0).error().message,
              HasSubstr("256 is not a whole number of type uint8, 0 to 255"));
  EXPECT_THAT(make_input(recipe(DType::kInt64, {2}, Fill::kInteger, 0, 1e300), 1, 0).error().message,
              HasSubstr("1e+300"));
  EXPECT_FALSE(make_input(recipe(DType::kInt64, {2}, Fill::kInteger, 5, 4), 1, 0));
  EXPECT_FALSE(make_input(recipe(DType::kInt64, {2}, Fill::kConstant, std::nan("")), 1, 0));
  EXPECT_FALSE(make_input(recipe(DType::kFloat32, {2}, Fill::kNormal, 0, INFINITY), 1, 0));
  EXPECT_THAT(make_input(recipe(DType::kInt8, {200}, Fill::kPositions), 1, 0).error().message, HasSubstr("199"));
  EXPECT_FALSE(make_input(recipe(DType::kFloat32, {-1}, Fill::kNormal), 1, 0));
}

TEST(Recipe, GoesThroughJson) {
  InputRecipe r = recipe(DType::kInt64, {2, 128}, Fill::kInteger, 0, 30521);
  const auto back = recipe_from_json(*parse_json(to_json(r).dump(), "recipe"));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(r));
}

TEST(Recipe, SaysWhichKeyOfItsJsonIsWrong) {
  const Json good = to_json(recipe(DType::kInt64, {2}, Fill::kInteger));
  const auto message = [&](const char* key, Json value) {
    Json json = good;
    json[key] = std::move(value);
    const auto read = recipe_from_json(json);
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_THAT(message("dtype", "int65"), HasSubstr("no dtype 'int65'"));
  EXPECT_THAT(message("fill", "noise"), HasSubstr("no fill 'noise'"));
  EXPECT_THAT(message("shape", "[2]"), HasSubstr("\"shape\", a list of integers"));
  EXPECT_THAT(message("low", "0"), HasSubstr("\"low\", a number"));
  EXPECT_THAT(message("fill", "file"), HasSubstr("\"file\", a string"));
  EXPECT_FALSE(recipe_from_json(Json(3)));
}

TEST(Recipe, ReadsFilesAndChecksThem) {
  const auto folder = TemporaryDirectory::create();
  const auto values = make_input(recipe(DType::kFloat32, {2}, Fill::kNormal), 1, 0);
  ASSERT_TRUE(write_npy(folder->path() / "x.npy", values->view()));
  const std::vector<NamedView> views{{"x", values->view()}};
  ASSERT_TRUE(write_safetensors(folder->path() / "x.safetensors", views));
  InputRecipe r = recipe(DType::kFloat32, {2}, Fill::kFile);
  for (const char* name : {"x.npy", "x.safetensors"}) {
    r.file = folder->path() / name;
    const auto read = make_input(r, 0, 7);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(std::ranges::equal(read->bytes(), values->bytes()));
    EXPECT_TRUE(recipe_from_json(to_json(r)));
  }
  const auto hash = *input_hash({r}, 1, 1);
  std::filesystem::copy(r.file, folder->path() / "y.safetensors");
  r.file = folder->path() / "y.safetensors";
  EXPECT_EQ(*input_hash({r}, 1, 1), hash) << "the same bytes elsewhere";
  r.shape = {3};
  EXPECT_THAT(make_input(r, 0, 0).error().message,
              HasSubstr("has float32 of shape [2], the input 'x' expects float32 of shape [3]"));
  r.name = "z";
  EXPECT_EQ(make_input(r, 0, 0).error().code, ErrorCode::kNotFound);
  r.file = "a.txt";
  EXPECT_EQ(make_input(r, 0, 0).error().code, ErrorCode::kUnsupported);
  r.file = "none.npy";
  EXPECT_EQ(make_input(r, 0, 0).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(input_hash({r}, 1, 1).error().code, ErrorCode::kNotFound);
}

TEST(InputHash, DependsOnWhatMakesTheValues) {
  const std::vector<InputRecipe> recipes{recipe(DType::kFloat32, {4}, Fill::kNormal)};
  const auto hash = input_hash(recipes, 1, 2);
  ASSERT_TRUE(hash);
  EXPECT_EQ(hash->size(), 64U);
  EXPECT_EQ(*input_hash(recipes, 1, 2), *hash);
  EXPECT_NE(*input_hash(recipes, 2, 2), *hash);
  EXPECT_NE(*input_hash(recipes, 1, 3), *hash);
  EXPECT_NE(*input_hash({recipe(DType::kFloat32, {5}, Fill::kNormal)}, 1, 2), *hash);
}

}  // namespace
}  // namespace assay
