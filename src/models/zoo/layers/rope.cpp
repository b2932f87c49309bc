// SPDX-License-Identifier: Apache-2.0
// Frequencies of rotary embeddings, as transformers' modeling_rope_utils.py computes them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "core/base/text.hpp"
#include "models/zoo/layers/positions.hpp"

namespace assay::zoo {
namespace {

using Frequencies = std::vector<float>;

// One object of parameters and what is read of it.
class RopeReader {
 public:
  explicit RopeReader(const RopeSource& source) : source_(source) {}

  [[nodiscard]] bool has(const std::string& key) {
    known_.insert(key);
    const auto found = source_.parameters.find(key);
    return found != source_.parameters.end() && !found->is_null();
  }
  Result<double> number(const std::string& key, double low, double high) {
    if (!has(key)) return invalid(key, "missing", "a number");
    const Json& value = source_.parameters[key];
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!(number >= low && number <= high)) {
      return invalid(key, value.dump(), fmt::format("a number from {} to {}", low, high));
    }
    return number;
  }
  Result<double> number_or(const std::string& key, double otherwise, double low, double high) {
    if (!has(key)) return otherwise;
    return number(key, low, high);
  }
  Result<Frequencies> factors(const std::string& key, std::int64_t count) {
    if (!has(key) || !source_.parameters[key].is_array() ||
        source_.parameters[key].size() != static_cast<std::size_t>(count)) {
      return invalid(key, "…", fmt::format("a list of {} numbers", count));
    }
    Frequencies all;
    for (const Json& value : source_.parameters[key]) {
      const double number = value.is_number() ? value.get<double>() : 0.0;
      if (!(number > 0.0 && number < 1e6)) return invalid(key, value.dump(), "numbers above 0");
      all.push_back(static_cast<float>(number));
    }
    return all;
  }
  // A key that was not read may change the frequencies.
  Status finish() const {
    if (!source_.parameters.is_object()) return {};
    for (const auto& [key, value] : source_.parameters.items()) {
      if (!known_.contains(key) && !source_.other_keys.contains(key) && !value.is_null()) {
        return unsupported(source_.key + "." + sanitise(key), sanitise(value.dump()).substr(0, 80));
      }
    }
    return {};
  }
  [[nodiscard]] tl::unexpected<Error> invalid(const std::string& key, const std::string& value,
                                              const std::string& expected) const {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}.{} = {}: expected {}", source_.key, key, sanitise(value).substr(0, 80), expected));
  }

 private:
  const RopeSource& source_;
  std::set<std::string> known_{"rope_type", "type", "rope_theta", "partial_rotary_factor"};
};

// theta ^ (2i / width)
Frequencies wave_lengths(double theta, std::int64_t width) {
  Frequencies all;
  for (std::int64_t i = 0; i < width; i += 2) {
    all.push_back(static_cast<float>(std::pow(theta, static_cast<double>(i) / static_cast<double>(width))));
  }
  return all;
}

Frequencies divided(const Frequencies& lengths, double factor) {
  Frequencies all;
  for (const float length : lengths) all.push_back(static_cast<float>(1.0 / (static_cast<double>(length) * factor)));
  return all;
}

Status read_llama3(RopeReader& reader, double original, RopeSpec& spec) {
  ASSAY_TRY(const double factor, reader.number("factor", 1e-6, 1e6));
  ASSAY_TRY(const double low, reader.number("low_freq_factor", 1e-6, 1e6));
  ASSAY_TRY(const double high, reader.number("high_freq_factor", 1e-6, 1e6));
  if (low == high) return reader.invalid("high_freq_factor", fmt::format("{}", high), "another than low_freq_factor");
  for (float& frequency : spec.frequencies) {
    const double length = 2.0 * std::numbers::pi / static_cast<double>(frequency);
    const double scaled = static_cast<double>(frequency) / factor;
    if (length > original / low) {
      frequency = static_cast<float>(scaled);
    } else if (length >= original / high) {
      const double smooth = (original / length - low) / (high - low);
      frequency = static_cast<float>((1.0 - smooth) * scaled + smooth * static_cast<double>(frequency));
    }
  }
  return {};
}

double yarn_scale(double factor, double scale) { return factor <= 1.0 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0; }

// Peng et al. 2023, arXiv:2309.00071
Status read_yarn(RopeReader& reader, const RopeSource& source, double theta, double original, RopeSpec& spec) {
  const double ratio = static_cast<double>(source.max_positions) / original;
  ASSAY_TRY(const double factor, reader.number_or("factor", ratio, 1e-6, 1e6));
  ASSAY_TRY(double beta_fast, reader.number_or("beta_fast", 32.0, 0.0, 1e6));
  ASSAY_TRY(double beta_slow, reader.number_or("beta_slow", 1.0, 0.0, 1e6));
  if (beta_fast == 0.0) beta_fast = 32.0;
  if (beta_slow == 0.0) beta_slow = 1.0;
  ASSAY_TRY(const double mscale, reader.number_or("mscale", 0.0, 0.0, 1e6));
  ASSAY_TRY(const double mscale_all, reader.number_or("mscale_all_dim", 0.0, 0.0, 1e6));
  const double usual = mscale != 0.0 && mscale_all != 0.0 ? yarn_scale(factor, mscale) / yarn_scale(factor, mscale_all)
                                                          : yarn_scale(factor, 1.0);
  ASSAY_TRY(const double attention, reader.number_or("attention_factor", usual, 0.0, 1e6));
  spec.attention_factor = static_cast<float>(attention);
  bool truncate = true;
  if (reader.has("truncate")) {
    if (!source.parameters["truncate"].is_boolean()) {
      return reader.invalid("truncate", source.parameters["truncate"].dump(), "true or false");
    }
    truncate = source.parameters["truncate"];
  }
  const auto width = static_cast<double>(spec.width);
  const auto correction = [&](double rotations) {
    return width * std::log(original / (rotations * 2.0 * std::numbers::pi)) / (2.0 * std::log(theta));
  };
  double low = correction(beta_fast);
  double high = correction(beta_slow);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1.0);
  if (low == high) high += 0.001;
  const Frequencies lengths = wave_lengths(theta, spec.width);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const auto length = static_cast<double>(lengths[i]);
    spec.frequencies[i] = static_cast<float>(ramp / (factor * length) + (1.0 - ramp) / length);
  }
  return {};
}

// Ding et al. 2024, arXiv:2402.13753
Status read_longrope(RopeReader& reader, const RopeSource& source, double theta, double original, RopeSpec& spec) {
  const double ratio = static_cast<double>(source.max_positions) / original;
  ASSAY_TRY(const double factor, reader.number_or("factor", ratio, 1e-6, 1e6));
  const double usual = factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(factor) / std::log(original));
  ASSAY_TRY(const double attention, reader.number_or("attention_factor", usual, 0.0, 1e6));
  spec.attention_factor = static_cast<float>(attention);
  spec.original_positions = static_cast<std::int64_t>(original);
  const Frequencies lengths = wave_lengths(theta, spec.width);
  ASSAY_TRY(const Frequencies brief, reader.factors("short_factor", spec.width / 2));
  ASSAY_TRY(const Frequencies extended, reader.factors("long_factor", spec.width / 2));
  spec.long_frequencies.resize(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    spec.frequencies[i] = 1.0F / (brief[i] * lengths[i]);
    spec.long_frequencies[i] = 1.0F / (extended[i] * lengths[i]);
  }
  return {};
}

bool is_set(const Json& value) { return !value.is_null() && !(value.is_object() && value.empty()); }

}  // namespace

RopeSource rope_source(const Config& config, std::int64_t head_width) {
  RopeSource source;
  const bool older = is_set(config.json("rope_scaling"));
  source.key = older ? "rope_scaling" : "rope_parameters";
  source.parameters = config.json(source.key);
  if (const Json& theta = config.json("rope_theta"); theta.is_number()) source.theta = theta;
  if (const Json& partial = config.json("partial_rotary_factor"); partial.is_number()) source.partial = partial;
  if (const Json& limit = config.json("max_position_embeddings"); limit.is_number_integer()) {
    source.max_positions = limit;
  }
  if (const Json& limit = config.json("original_max_position_embeddings"); limit.is_number_integer()) {
    source.original_positions = limit.get<std::int64_t>();
  }
  source.head_width = head_width;
  return source;
}

Result<RopeSpec> read_rope(const RopeSource& source) {
  if (!source.parameters.is_null() && !source.parameters.is_object()) {
    return fail(ErrorCode::kInvalidArgument, source.key + ": expected an object");
  }
  RopeReader reader(source);
  std::string type = "default";
  for (const char* key : {"rope_type", "type"}) {
    if (!reader.has(key)) continue;
    if (!source.parameters[key].is_string()) {
      return reader.invalid(key, source.parameters[key].dump(), "a string");
    }
    type = source.parameters[key];
    break;
  }
  if (const auto other = source.types.find(type); other != source.types.end()) type = other->second;
  ASSAY_TRY(double theta, reader.number_or("rope_theta", source.theta, 1.0 + 1e-6, 1e15));
  ASSAY_TRY(const double partial, reader.number_or("partial_rotary_factor", source.partial, 0.0, 1.0));
  if (!source.takes_partial && partial != 1.0) {
    return unsupported(source.key + ".partial_rotary_factor", fmt::format("{}", partial));
  }
  RopeSpec spec;
  spec.max_positions = source.max_positions;
  spec.width = static_cast<std::int64_t>(static_cast<double>(source.head_width) * partial);
  if (spec.width < 2 || spec.width % 2 != 0 || spec.width > source.head_width) {
    const std::string hint =
        fmt::format("{} of {} elements of each head would be rotated: built is an even number from 2", spec.width,
                    source.head_width);
    if (partial == 1.0) return unsupported("head_dim", std::to_string(source.head_width), hint);
    return unsupported(source.key + ".partial_rotary_factor", fmt::format("{}", partial), hint);
  }
  if (type == "dynamic" && source.takes_alpha && reader.has("alpha")) {
    ASSAY_TRY(const double alpha, reader.number("alpha", 1e-6, 1e9));
    if (spec.width < 4) return reader.invalid("alpha", fmt::format("{}", alpha), "heads of at least 4 elements");
    theta *= std::pow(alpha, static_cast<double>(spec.width) / static_cast<double>(spec.width - 2));
    spec.frequencies = divided(wave_lengths(theta, spec.width), 1.0);
    return spec;  // nothing else of the parameters counts
  }
  spec.frequencies = divided(wave_lengths(theta, spec.width), 1.0);

  // The configuration's own key stands above the parameters'.
  double original = static_cast<double>(source.original_positions.value_or(source.max_positions));
  if (type == "llama3" || type == "yarn" || type == "longrope") {
    const bool stated = reader.has("original_max_position_embeddings");
    if (stated && !source.original_positions) {
      ASSAY_TRY(original, reader.number("original_max_position_embeddings", 1.0, 1e12));
    }
    if (original < 2.0)
      return reader.invalid("original_max_position_embeddings", fmt::format("{}", original), "above 1");
  }
  if (type == "linear") {
    ASSAY_TRY(const double factor, reader.number("factor", 1e-6, 1e6));
    spec.frequencies = divided(wave_lengths(theta, spec.width), factor);
  } else if (type == "dynamic") {
    ASSAY_TRY(const double factor, reader.number("factor", 1e-6, 1e6));
    if (spec.width < 4 || source.max_positions < 1) {
      return reader.invalid("rope_type", type, "heads of at least 4 rotated elements");
    }
    spec.dynamic = RopeSpec::Dynamic{theta, factor, source.max_positions};
  } else if (type == "llama3") {
    ASSAY_CHECK_OK(read_llama3(reader, original, spec));
  } else if (type == "yarn") {
    ASSAY_CHECK_OK(read_yarn(reader, source, theta, original, spec));
  } else if (type == "longrope") {
    ASSAY_CHECK_OK(read_longrope(reader, source, theta, original, spec));
  } else if (type != "default") {
    return unsupported(source.key + ".rope_type", sanitise(type),
                       "built are default, linear, dynamic, yarn, llama3 and longrope");
  }
  ASSAY_CHECK_OK(reader.finish());
  return spec;
}

}  // namespace assay::zoo
