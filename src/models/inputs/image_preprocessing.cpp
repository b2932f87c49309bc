// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/image_preprocessing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/json.hpp"

namespace assay {
namespace {

constexpr std::int64_t kChannels = 3;

double bilinear(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

// R. Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -1/2.
double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

constexpr int kWeightBits = 22;  // as Pillow rounds weights

// The source pixels of one pixel, and their weights, whose sum is 2^22.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int64_t> weights;
};

std::vector<Taps> taps_of(std::int64_t from, std::int64_t to, ImagePreprocessing::Filter filter) {
  const bool cubic = filter == ImagePreprocessing::Filter::kBicubic;
  const double scale = static_cast<double>(from) / static_cast<double>(to), spread = std::max(1.0, scale);
  const double support = (cubic ? 2.0 : 1.0) * spread;
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    Taps taps;
    taps.first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - support + 0.5)));
    const std::int64_t end = std::min(from, static_cast<std::int64_t>(std::floor(centre + support + 0.5)));
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t x = taps.first; x < end; ++x) {
      const double at = (static_cast<double>(x) - centre + 0.5) / spread;
      sum += weights.emplace_back(cubic ? bicubic(at) : bilinear(at));
    }
    for (const double weight : weights)
      taps.weights.push_back(std::llround(weight / sum * (std::int64_t{1} << kWeightBits)));
    all.push_back(std::move(taps));
  }
  return all;
}

// Resizes one axis.
Image resize_axis(const Image& image, std::int64_t to, bool horizontal, ImagePreprocessing::Filter filter) {
  const std::int64_t from = horizontal ? image.width : image.height;
  if (from == to) return image;
  Image out{horizontal ? to : image.width, horizontal ? image.height : to, {}};
  out.pixels.resize(static_cast<std::size_t>(out.width * out.height * kChannels));
  const std::vector<Taps> taps = taps_of(from, to, filter);
  const std::int64_t step = horizontal ? kChannels : image.width * kChannels;
  auto pixel = out.pixels.begin();
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x) {
      const Taps& of = taps[static_cast<std::size_t>(horizontal ? x : y)];
      const std::int64_t line = horizontal ? y * image.width * kChannels : x * kChannels;
      for (std::int64_t colour = 0; colour < kChannels; ++colour) {
        std::int64_t sum = std::int64_t{1} << (kWeightBits - 1);
        auto at = static_cast<std::size_t>(line + of.first * step + colour);
        for (const std::int64_t weight : of.weights) {
          sum += weight * image.pixels[at];
          at += static_cast<std::size_t>(step);
        }
        *pixel++ = static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kWeightBits, 0, 255));
      }
    }
  return out;
}

Image cropped(const Image& image, std::int64_t width, std::int64_t height) {
  const auto before = [](std::int64_t from, std::int64_t to) {  // half an odd difference is rounded to even
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(from - to) / 2));
  };
  const std::int64_t left = before(image.width, width), top = before(image.height, height);
  Image out{width, height, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    const auto row = image.pixels.begin() + ((top + y) * image.width + left) * kChannels;
    out.pixels.insert(out.pixels.end(), row, row + width * kChannels);
  }
  return out;
}

// One value of the file, or nullopt. Errors: a value of another kind.
class Reader {
 public:
  Reader(const std::filesystem::path& file, const Json& json) : file_(file), json_(json) {}

  Result<bool> flag(const char* key, bool absent) const {
    const auto it = json_.find(key);
    if (it == json_.end() || it->is_null()) return absent;
    if (!it->is_boolean()) return wrong(key, "true or false");
    return it->get<bool>();
  }
  Result<std::optional<double>> number(const char* key) const {
    const auto it = json_.find(key);
    if (it == json_.end() || it->is_null()) return std::optional<double>();
    if (!it->is_number() || !(it->get<double>() > 0)) return wrong(key, "a number above 0");
    return std::optional(it->get<double>());
  }
  Result<std::array<double, 3>> colours(const char* key, std::array<double, 3> absent, bool positive) const {
    const auto it = json_.find(key);
    if (it == json_.end() || it->is_null()) return absent;
    const bool three = it->is_array() && it->size() == absent.size() &&
                       std::ranges::all_of(*it, [](const Json& each) { return each.is_number(); });
    if (three)
      for (std::size_t i = 0; i < absent.size(); ++i) absent[i] = (*it)[i].get<double>();
    if (!three || (positive && std::ranges::any_of(absent, [](double each) { return !(each > 0); })))
      return wrong(key, positive ? "three numbers above 0" : "three numbers");
    return absent;
  }
  /// The shorter side, and whether it stands for both: 224; {"shortest_edge": 224}; {"height": 224, "width": 224}.
  Result<std::optional<double>> side(const char* key, bool& square) const {
    const auto it = json_.find(key);
    square = it != json_.end() && it->is_object() && it->contains("height");
    if (it == json_.end() || !it->is_object()) return number(key);
    const Reader inside(file_, *it);
    if (!square) return inside.number("shortest_edge");
    ASSAY_TRY(const std::optional<double> height, inside.number("height"));
    ASSAY_TRY(const std::optional<double> width, inside.number("width"));
    if (!width) return wrong(key, "a height and a width");
    return std::optional(std::min(*height, *width));
  }
  [[nodiscard]] tl::unexpected<Error> wrong(const char* key, std::string_view valid) const {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: '{}' is not valid; give {}", shown_path(file_), key, valid));
  }

 private:
  const std::filesystem::path& file_;
  const Json& json_;
};

}  // namespace

Result<ImagePreprocessing> read_preprocessing(const std::filesystem::path& file) {
  ASSAY_TRY(const Json json, read_json(file));
  if (!json.is_object())
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a JSON object", shown_path(file)));
  const Reader reader(file, json);
  ImagePreprocessing out;
  ASSAY_TRY(const bool rescale, reader.flag("do_rescale", true));
  ASSAY_TRY(const std::optional<double> factor, reader.number("rescale_factor"));
  out.factor = rescale ? factor.value_or(out.factor) : 1.0;
  ASSAY_TRY(const bool normalize, reader.flag("do_normalize", true));
  ASSAY_TRY(out.mean, reader.colours("image_mean", out.mean, false));
  ASSAY_TRY(out.deviation, reader.colours("image_std", out.deviation, true));
  if (!normalize) {
    out.mean = {0, 0, 0};
    out.deviation = {1, 1, 1};
  }
  constexpr int kBilinearCode = 2, kBicubicCode = 3;  // PIL.Image.Resampling
  const Json code = json.value("resample", Json());
  if (!code.is_null() && code != kBilinearCode && code != kBicubicCode)
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: resample {} is a filter that assay does not have; it has 2 (bilinear) and 3 (bicubic)",
                            shown_path(file), json_text(code)),
                "give arrays that are preprocessed: a file NAME.npy for each input");
  if (code == kBicubicCode) out.filter = ImagePreprocessing::Filter::kBicubic;

  bool square = false, ignored = false;
  ASSAY_TRY(const std::optional<double> size, reader.side("size", square));
  ASSAY_TRY(const std::optional<double> crop_size, reader.side("crop_size", ignored));
  ASSAY_TRY(const std::optional<double> share, reader.number("crop_pct"));
  ASSAY_TRY(const bool crops, reader.flag("do_center_crop", false));
  constexpr double kStretchedFrom = 384;  // ConvNext's processor crops below this size only
  if (share && size) {
    out.crop = *size < kStretchedFrom;
    out.crop_ratio = std::min(1.0, *share);
  } else if (crops && crop_size && size) {
    out.crop_ratio = std::min(1.0, *crop_size / *size);
  } else if (size) {
    out.crop = !square && json.at("size").is_object();  // a number alone is both sides
    out.crop_ratio = 1.0;
  }
  constexpr double kLeastRatio = 0.1;  // a resized image then has 100 times the pixels of the input
  if (out.crop_ratio < kLeastRatio)
    return reader.wrong(share && size ? "crop_pct" : "crop_size", "at least a tenth of the size");
  return out;
}

Image fit_image(const Image& image, std::int64_t width, std::int64_t height, const ImagePreprocessing& preprocessing) {
  std::int64_t wide = width, high = height;
  if (preprocessing.crop) {
    // The image covers the input divided by the ratio. One side is rounded; the other is cut to whole pixels, as in
    // torchvision's resize of the shorter side.
    const auto across = static_cast<double>(image.width), down = static_cast<double>(image.height);
    const double least_wide = std::round(static_cast<double>(width) / preprocessing.crop_ratio);
    const double least_high = std::round(static_cast<double>(height) / preprocessing.crop_ratio);
    const bool by_width = least_wide * down >= least_high * across;
    wide =
        static_cast<std::int64_t>(by_width ? least_wide : std::max(least_wide, std::floor(least_high * across / down)));
    high =
        static_cast<std::int64_t>(by_width ? std::max(least_high, std::floor(least_wide * down / across)) : least_high);
  }
  const Image narrow = resize_axis(image, wide, true, preprocessing.filter);
  return cropped(resize_axis(narrow, high, false, preprocessing.filter), width, height);
}

}  // namespace assay
