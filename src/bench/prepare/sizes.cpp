// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/files.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {
namespace {

// What configurations call a number of layers.
constexpr std::string_view kLayerCounts[] = {"num_hidden_layers", "num_layers",        "num_decoder_layers",
                                             "n_layer",           "n_layers",          "encoder_layers",
                                             "decoder_layers",    "num_encoder_layers"};
// One entry for each layer: cut, they could mean another model.
constexpr std::string_view kLayerLists[] = {"layer_types", "attention_layers", "depths", "vision_feature_layers"};

std::int64_t scale_counts(Json& config, double scale, std::string& listed) {
  std::int64_t scaled = 0;
  for (auto& [key, value] : config.items()) {
    if (value.is_object()) {
      scaled += scale_counts(value, scale, listed);
    } else if (std::ranges::find(kLayerLists, key) != std::end(kLayerLists) && value.is_array()) {
      listed = key;
    } else if (std::ranges::find(kLayerCounts, key) != std::end(kLayerCounts) && value.is_number_integer()) {
      const auto layers = value.get<std::int64_t>();
      value = std::max<std::int64_t>(1, std::llround(static_cast<double>(layers) * scale));
      ++scaled;
    }
  }
  return scaled;
}

// Elements of parameters, without making any; 0 when the graph cannot be built.
std::int64_t parameters_of(const Json& config, const std::string& model_class) {
  const auto folder = TemporaryDirectory::create("assay-sizes-");
  if (!folder) return 0;
  zoo::BuildRequest request;
  request.config = config;
  request.model_class = model_class;
  request.weights_left_out = true;
  const auto built = zoo::build(request, folder->path() / "model.onnx");
  return built ? built->parameter_count : 0;
}

}  // namespace

Result<Json> scale_layers(Json config, double scale) {
  std::string listed;
  const std::int64_t scaled = config.is_object() ? scale_counts(config, scale, listed) : 0;
  if (!listed.empty())
    return fail(ErrorCode::kUnsupported,
                fmt::format("a configuration that lists its layers ('{}') is not scaled", listed));
  if (scaled == 0) return fail(ErrorCode::kUnsupported, "a configuration without a count of layers is not scaled");
  return config;
}

Result<ZooSource> scaled(const ZooSource& source, double scale, std::string size) {
  ZooSource smaller = source;
  ASSAY_TRY(smaller.config, scale_layers(source.config, scale));
  smaller.weights.reset();
  smaller.size = std::move(size);
  return smaller;
}

std::vector<ZooSource> smaller_sizes(const ZooSource& source, const Cancelled& cancelled) {
  const std::int64_t whole = parameters_of(source.config, source.model_class);
  std::vector<std::pair<std::int64_t, ZooSource>> found;
  for (const zoo::KnownModel& known : zoo::published(source.architecture)) {
    if (cancelled && cancelled()) break;
    if (known.model_class != source.model_class) continue;
    const std::int64_t parameters = parameters_of(known.config, known.model_class);
    if (parameters > 0 && parameters < whole) found.emplace_back(parameters, zoo_source(known));
  }
  std::ranges::stable_sort(found, std::greater<>(), [](const auto& each) { return each.first; });
  std::vector<ZooSource> sizes;
  sizes.reserve(found.size());
  for (auto& [parameters, smaller] : found) sizes.push_back(std::move(smaller));
  for (const int part : {2, 4, 8, 16}) {
    Result<ZooSource> smaller = scaled(source, 1.0 / part, fmt::format("{}/{}", source.size, part));
    if (!smaller) break;
    sizes.push_back(std::move(*smaller));
  }
  return sizes;
}

}  // namespace assay
