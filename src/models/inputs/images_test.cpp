// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "core/base/files.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/inputs/image_folder.hpp"
#include "models/inputs/image_preprocessing.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Image pattern(std::int64_t width, std::int64_t height) {
  Image image{width, height, {}};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < 3; ++c)
        image.pixels.push_back(static_cast<std::uint8_t>((x * 37 + y * 59 + c * 83 + x * y * 11) % 256));
  return image;
}

Image plain(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  Image image{40, 32, {}};
  for (int i = 0; i < 40 * 32; ++i) image.pixels.insert(image.pixels.end(), {red, green, blue});
  return image;
}

// Written by gdk-pixbuf, the library that reads them. `type` is "png" or "jpeg".
void write_image(const fs::path& file, const Image& image, const char* type) {
  void* const library = dlopen("libgdk_pixbuf-2.0.so.0", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto make = reinterpret_cast<void* (*)(const unsigned char*, int, int, int, int, int, int, void*, void*)>(
      dlsym(library, "gdk_pixbuf_new_from_data"));
  const auto save = reinterpret_cast<int (*)(void*, const char*, const char*, char**, char**, void*)>(
      dlsym(library, "gdk_pixbuf_savev"));
  const auto unref = reinterpret_cast<void (*)(void*)>(dlsym(library, "g_object_unref"));
  fs::create_directories(file.parent_path());
  const auto width = static_cast<int>(image.width), height = static_cast<int>(image.height);
  void* const made = make(image.pixels.data(), 0, 0, 8, width, height, width * 3, nullptr, nullptr);
  EXPECT_NE(save(made, file.c_str(), type, nullptr, nullptr, nullptr), 0) << file;
  unref(made);
}

void cut(const fs::path& file) {
  std::string bytes = read_file(file).value();
  ASSERT_TRUE(write_file_atomically(file, bytes.substr(0, bytes.size() * 2 / 3)));
}

ModelInfo image_model(Shape shape, DType dtype = DType::kFloat32) {
  ModelInfo model;
  model.inputs.push_back({.name = "pixel_values", .dtype = dtype, .shape = std::move(shape)});
  return model;
}

class Images : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path data() const { return folder_.path() / "data"; }
  [[nodiscard]] InputAxes axes(std::int64_t batch) const {
    return {.batch = batch, .data = data(), .cache = folder_.path() / "cache"};
  }
  /// The values of the model's input, as floats.
  std::vector<float> values(const ModelInfo& model, std::int64_t batch) {
    const Result<ModelInputs> made = make_inputs(model, axes(batch));
    EXPECT_TRUE(made) << to_string(made.error());
    if (!made) return {};
    EXPECT_EQ(made->images, batch);
    const Tensor tensor = make_input(made->recipes.front(), 0, 0).value();
    std::vector<float> all(static_cast<std::size_t>(element_count(tensor.shape()).value()));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<float>(element_as_double(tensor.view(), static_cast<std::int64_t>(i)));
    return all;
  }
  std::string error(const ModelInfo& model, std::int64_t batch) {
    const Result<ModelInputs> made = make_inputs(model, axes(batch));
    return made ? "no error" : to_string(made.error());
  }
  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-images-test-").value();
};

// Expected values are Pillow's: Image.resize to 7 x 5, then crop from (2, 0).
TEST(FitImage, ResizesTheShorterSideAndCropsTheCentreAsPillowDoes) {
  const auto fitted = [](ImagePreprocessing::Filter filter) {
    ImagePreprocessing how;
    how.filter = filter;
    how.crop_ratio = 4.0 / 5;
    return fit_image(pattern(13, 9), 4, 4, how).pixels;
  };
  EXPECT_THAT(fitted(ImagePreprocessing::Filter::kBilinear),
              ElementsAre(160, 128, 106, 131, 107, 102, 102, 108, 155, 113, 143, 140, 127, 136, 101, 121, 137, 134, 123,
                          132, 151, 143, 112, 116, 126, 133, 134, 132, 130, 152, 114, 139, 106, 105, 103, 110, 174, 146,
                          101, 140, 114, 148, 90, 159, 128, 100, 124, 93));
  EXPECT_THAT(fitted(ImagePreprocessing::Filter::kBicubic),
              ElementsAre(169, 124, 106, 128, 104, 96, 100, 104, 155, 112, 145, 147, 122, 136, 99, 116, 143, 135, 126,
                          133, 153, 146, 109, 110, 124, 130, 136, 129, 137, 157, 115, 142, 104, 102, 98, 109, 181, 151,
                          95, 145, 112, 147, 82, 167, 130, 97, 123, 84));
}

TEST(FitImage, StretchesAndEnlargesAsPillowDoes) {
  ImagePreprocessing how;
  how.crop = false;
  const Image large = fit_image(pattern(13, 9), 20, 18, how);
  EXPECT_EQ(std::accumulate(large.pixels.begin(), large.pixels.end(), 0), 137029);
  const auto at = [&](int x, int y) {
    const auto first = large.pixels.begin() + (y * 20 + x) * 3;
    return std::vector<int>(first, first + 3);
  };
  EXPECT_THAT(at(7, 3), ElementsAre(160, 123, 142));
  EXPECT_THAT(at(19, 17), ElementsAre(180, 7, 90));
}

TEST_F(Images, FillABatchInTheOrderOfTheirPathsNormalisedAsForImageNet) {
  write_image(data() / "train/b/0.png", plain(0, 255, 0), "png");
  write_image(data() / "train/a/1.PNG", plain(255, 0, 0), "png");
  write_image(data() / "train/a/.hidden.png", plain(9, 9, 9), "png");
  write_image(data() / "val/a/2.jpeg", plain(0, 0, 255), "jpeg");
  ASSERT_TRUE(write_file_atomically(data() / "LICENCE.txt", "text"));
  const std::vector<float> two = values(image_model({-1, 3, 8, 8}), 2);
  ASSERT_EQ(two.size(), 2U * 3 * 64);
  const float mean[] = {0.485F, 0.456F, 0.406F}, deviation[] = {0.229F, 0.224F, 0.225F};
  for (std::size_t image = 0; image < 2; ++image)
    for (std::size_t colour = 0; colour < 3; ++colour) {
      const float pixel = image == colour ? 1 : 0;
      EXPECT_NEAR(two[(image * 3 + colour) * 64 + 17], (pixel - mean[colour]) / deviation[colour], 1e-6);
    }
  EXPECT_EQ(two, values(image_model({-1, 3, 8, 8}), 2));
  const std::vector<float> last = values(image_model({-1, 8, 8, 3}, DType::kUInt8), 3);
  EXPECT_EQ((std::vector<float>{last.begin(), last.begin() + 3}), (std::vector<float>{255, 0, 0}));
  EXPECT_NEAR(last[2 * 8 * 8 * 3 + 2], 255, 2);  // of the JPEG: blue
  EXPECT_EQ(values(image_model({-1, 3, 8, 8}, DType::kFloat16), 1).size(), 3U * 64);
}

TEST_F(Images, AreNormalisedAsThePreprocessorConfigurationOfTheModelSays) {
  write_image(data() / "x.png", plain(255, 51, 0), "png");
  ASSERT_TRUE(write_file_atomically(folder_.path() / "model/preprocessor_config.json",
                                    R"({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.25]})"));
  ModelInfo model = image_model({-1, 3, 2, 2});
  model.source = folder_.path() / "model";
  const std::vector<float> one = values(model, 1);
  EXPECT_NEAR(one[0], 1, 1e-6);
  EXPECT_NEAR(one[4], -0.6, 1e-6);
  EXPECT_NEAR(one[8], -2, 1e-6);
}

TEST_F(Images, ThatAreDamagedOrTooFewAreNamed) {
  write_image(data() / "a.png", plain(1, 2, 3), "png");
  write_image(data() / "b.jpg", pattern(60, 50), "jpeg");
  write_image(data() / "c.png", pattern(60, 50), "png");
  const ModelInfo model = image_model({-1, 3, 8, 8});
  EXPECT_THAT(error(model, 4), AllOf(HasSubstr("a batch of 4 needs as many images"), HasSubstr("has 3"),
                                     HasSubstr("use --batch-sizes up to 3")));
  EXPECT_EQ(error(model, 3), "no error");
  cut(data() / "c.png");
  EXPECT_THAT(error(model, 3), AllOf(HasSubstr("the image "), HasSubstr("c.png"), HasSubstr("cannot be read: ")));
  cut(data() / "b.jpg");
  EXPECT_THAT(error(model, 2), AllOf(HasSubstr("b.jpg"), HasSubstr("the JPEG data is cut short")));
  EXPECT_EQ(error(model, 1), "no error");
  ASSERT_TRUE(write_file_atomically(data() / "a.png", "this is text"));
  EXPECT_THAT(error(model, 1), AllOf(HasSubstr("a.png"), HasSubstr("cannot be read")));
  ASSERT_TRUE(write_file_atomically(data() / "a.png", ""));
  EXPECT_THAT(error(model, 1), HasSubstr("the file is empty"));
}

TEST_F(Images, AreRefusedForModelsThatTakeOtherInputs) {
  write_image(data() / "a.png", plain(1, 2, 3), "png");
  ModelInfo clip = image_model({-1, 3, 8, 8});
  clip.inputs.push_back({.name = "input_ids", .dtype = DType::kInt64, .shape = {-1, 7}});
  EXPECT_THAT(error(clip, 1), HasSubstr("has images, but the model also has the input 'input_ids'"));
  EXPECT_FALSE(fixed_batch(clip, axes(1)));
  ModelInfo text;
  text.inputs.push_back({.name = "input_ids", .dtype = DType::kInt64, .shape = {-1, 7}});
  EXPECT_THAT(error(text, 1), HasSubstr("has images, but the model has no image input"));
  EXPECT_THAT(error(image_model({-1, 1, 8, 8}), 1), HasSubstr("has no axis of 3 colours for images"));
  EXPECT_EQ(fixed_batch(image_model({-1, 3, 8, 8}), axes(1)).value(), std::nullopt);
  EXPECT_EQ(fixed_batch(image_model({2, 3, 8, 8}), axes(1)).value(), 2);
}

TEST_F(Images, AreLeftOutOfAFolderWithArraysAndMayBeOneFile) {
  write_image(data() / "a.png", plain(1, 2, 3), "png");
  EXPECT_THAT(images_in(data() / "a.png").value(), ElementsAre(data() / "a.png"));
  EXPECT_THAT(images_in({}).value(), IsEmpty());
  ASSERT_TRUE(write_file_atomically(data() / "x.npy", ""));
  EXPECT_THAT(images_in(data()).value(), IsEmpty());
}

TEST(ReadPreprocessing, UnderstandsTheKeysOfHuggingFace) {
  const auto folder = TemporaryDirectory::create("assay-preprocessing-test-").value();
  const fs::path file = folder.path() / "preprocessor_config.json";
  const auto read = [&](std::string_view text) {
    EXPECT_TRUE(write_file_atomically(file, text));
    return read_preprocessing(file);
  };
  const auto crop = [&](std::string_view text) {
    const auto how = read(text);
    EXPECT_TRUE(how) << to_string(how.error());
    return how && how->crop ? how->crop_ratio : -1.0;
  };
  EXPECT_EQ(crop("{}"), 224.0 / 256);
  EXPECT_EQ(
      crop(R"({"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}, "do_center_crop": true})"),
      224.0 / 256);
  EXPECT_EQ(crop(R"({"size": 224, "crop_size": 224, "do_center_crop": true})"), 1.0);
  EXPECT_EQ(crop(R"({"size": {"shortest_edge": 224}, "crop_pct": 0.875})"), 0.875);
  EXPECT_EQ(crop(R"({"size": {"shortest_edge": 800}})"), 1.0);
  EXPECT_EQ(crop(R"({"size": 224})"), -1.0);
  EXPECT_EQ(crop(R"({"size": {"height": 224, "width": 224}})"), -1.0);
  EXPECT_EQ(crop(R"({"size": {"shortest_edge": 384}, "crop_pct": 0.875})"), -1.0);
  const auto plain = read(R"({"do_normalize": false, "do_rescale": false, "resample": 3})").value();
  EXPECT_EQ(plain.factor, 1.0);
  EXPECT_EQ(plain.deviation[1], 1.0);
  EXPECT_EQ(plain.filter, ImagePreprocessing::Filter::kBicubic);
  for (const auto& [text, says] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {R"({"image_mean": [1, 2]})", "'image_mean' is not valid; give three numbers"},
           {R"({"image_std": [1, 2, 0]})", "'image_std' is not valid; give three numbers above 0"},
           {R"({"size": "big"})", "'size' is not valid; give a number above 0"},
           {R"({"resample": 1})", "resample 1 is a filter that assay does not have"},
           {R"({"size": 224, "crop_pct": 1e-9})", "'crop_pct' is not valid; give at least a tenth of the size"},
           {R"({"size": 1e30, "crop_size": 224, "do_center_crop": true})", "'crop_size' is not valid"},
           {R"([])", "is not a JSON object"},
           {R"({)", "preprocessor_config.json"}}) {
    const auto refused = read(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(to_string(refused.error()), HasSubstr(std::string(says)));
  }
}

}  // namespace
}  // namespace assay
