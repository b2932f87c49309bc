// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/image_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "models/inputs/converted.hpp"
#include "models/inputs/image_preprocessing.hpp"
#include "models/inputs/input_axes.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kPixelColours = 3;
constexpr std::int64_t kMostRatio = 50;
constexpr const char* kGiveArrays = "give arrays: a folder with one file NAME.npy for each input";

bool has_array_name(const fs::path& file) {
  return is_any(lower(file.extension().string()), {".npy", ".npz", ".pb", ".safetensors"});
}

// Where the pixels of an input are.
struct Layout {
  std::size_t index = 0;  // of the input
  bool channels_last = false;
  std::int64_t height = 0, width = 0;
};

Result<std::size_t> image_input(const ModelInfo& model, const fs::path& data) {
  std::vector<std::size_t> images;
  std::string other;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const InputRole role = role_of(model.inputs[i]);
    if (role == InputRole::kImage && model.inputs[i].shape.size() == 4)
      images.push_back(i);
    else if (role != InputRole::kOnes)
      other = model.inputs[i].name;
  }
  if (images.size() == 1 && other.empty()) return images.front();
  return fail(ErrorCode::kInvalidArgument,
              images.empty() ? fmt::format("{} has images, but the model has no image input", shown_path(data))
              : other.empty()
                  ? fmt::format("{} has images, but the model has {} image inputs", shown_path(data), images.size())
                  : fmt::format("{} has images, but the model also has the input {}", shown_path(data), shown(other)),
              kGiveArrays);
}

Result<Layout> layout_of(const InputRecipe& recipe, std::size_t index) {
  const Shape& shape = recipe.shape;
  if (shape[1] == kPixelColours) return Layout{index, false, shape[2], shape[3]};
  if (shape[3] == kPixelColours) return Layout{index, true, shape[1], shape[2]};
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("the input {} of shape {} has no axis of 3 colours for images", shown(recipe.name), to_string(shape)),
      kGiveArrays);
}

// Empty: the model has none.
fs::path preprocessing_file(const ModelInfo& model) {
  const fs::path file = (model.source.empty() ? model.path.parent_path() : model.source) / "preprocessor_config.json";
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) ? file : fs::path();
}

// Writes one item of the tensor.
template <class Element, class Convert>
void put(const Image& image, const Layout& layout, std::span<Element> item, Convert&& convert) {
  const auto plane = static_cast<std::size_t>(layout.height * layout.width);
  for (std::size_t at = 0; at < plane; ++at)
    for (std::size_t colour = 0; colour < kPixelColours; ++colour)
      item[layout.channels_last ? at * kPixelColours + colour : colour * plane + at] =
          convert(image.pixels[at * kPixelColours + colour], colour);
}

Status put_item(const Image& image, const Layout& layout, const ImagePreprocessing& how, std::size_t n,
                Tensor& tensor) {
  const auto item = [&]<class Element>(std::span<Element> all) {
    const auto size = static_cast<std::size_t>(layout.height * layout.width * kPixelColours);
    return all.subspan(n * size, size);
  };
  const auto value = [&](std::uint8_t pixel, std::size_t colour) {
    const float scaled = static_cast<float>(pixel) * static_cast<float>(how.factor);
    return (scaled - static_cast<float>(how.mean[colour])) / static_cast<float>(how.deviation[colour]);
  };
  switch (tensor.dtype()) {
    case DType::kFloat32:
      put(image, layout, item(tensor.as<float>()), value);
      return {};
    case DType::kFloat16:
      put(image, layout, item(tensor.as<std::uint16_t>()),
          [&](std::uint8_t pixel, std::size_t colour) { return float_to_half(value(pixel, colour)); });
      return {};
    case DType::kBFloat16:
      put(image, layout, item(tensor.as<std::uint16_t>()),
          [&](std::uint8_t pixel, std::size_t colour) { return float_to_bfloat16(value(pixel, colour)); });
      return {};
    case DType::kUInt8:
      put(image, layout, item(tensor.as<std::uint8_t>()), [](std::uint8_t pixel, std::size_t) { return pixel; });
      return {};
    default:
      return fail(ErrorCode::kUnsupported,
                  fmt::format("images cannot be values of type {}; float32, float16, bfloat16 and uint8 are possible",
                              to_string(tensor.dtype())),
                  kGiveArrays);
  }
}

}  // namespace

Result<std::vector<fs::path>> images_in(const fs::path& data) {
  std::vector<fs::path> images;
  std::error_code error;
  if (!fs::is_directory(data, error)) {
    if (has_image_name(data)) images.push_back(data);
    return images;
  }
  fs::recursive_directory_iterator it(data, fs::directory_options::follow_directory_symlink, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const fs::path& file = it->path();
    std::error_code ignored;
    if (file.filename().string().starts_with('.')) {
      it.disable_recursion_pending();
    } else if (it.depth() == 0 && has_array_name(file)) {
      return std::vector<fs::path>();
    } else if (has_image_name(file) && it->is_regular_file(ignored)) {
      images.push_back(file);
    }
  }
  if (error)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot read the folder {}: {}", shown_path(data), error.message()));
  std::ranges::sort(images, {}, [](const fs::path& file) -> const std::string& { return file.native(); });
  return images;
}

Status check_takes_images(const ModelInfo& model, const fs::path& data) {
  const Result<std::size_t> index = image_input(model, data);
  if (!index) return tl::unexpected<Error>(index.error());
  return {};
}

Status use_images(const ModelInfo& model, const InputAxes& axes, const std::vector<fs::path>& images,
                  ModelInputs& inputs) {
  ASSAY_TRY(const std::size_t index, image_input(model, axes.data));
  InputRecipe& recipe = inputs.recipes[index];
  ASSAY_TRY(const Layout layout, layout_of(recipe, index));
  const auto batch = static_cast<std::size_t>(recipe.shape.front());
  if (images.size() < batch)
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("a batch of {} needs as many images; {} has {}", batch, shown_path(axes.data), images.size()),
        fmt::format("use --batch-sizes up to {}, or add images", images.size()));
  inputs.images_as = preprocessing_file(model);
  ImagePreprocessing how;
  if (!inputs.images_as.empty()) {
    ASSAY_TRY(how, read_preprocessing(inputs.images_as));
  }
  ASSAY_TRY(Tensor tensor, Tensor::create(recipe.dtype, recipe.shape));
  for (std::size_t n = 0; n < batch; ++n) {
    ASSAY_TRY(const Image image, read_image(images[n]));
    if (std::max(image.width, image.height) > kMostRatio * std::min(image.width, image.height))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the image {} has {} x {} pixels; one side may be at most {} times the other",
                              shown_path(images[n]), image.width, image.height, kMostRatio),
                  "replace or remove it");
    ASSAY_CHECK_OK(put_item(fit_image(image, layout.width, layout.height, how), layout, how, n, tensor));
  }
  ASSAY_TRY(recipe.file, write_converted(axes.cache, {{recipe.name, tensor.view()}}));
  recipe.fill = Fill::kFile;
  inputs.images = static_cast<std::int64_t>(batch);
  inputs.images_found = static_cast<std::int64_t>(images.size());
  return {};
}

}  // namespace assay
