// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "models/zoo/zoo.hpp"

// Any configuration is refused with a reason, or gives a graph of which weights no more than allowed are written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const assay::TemporaryDirectory folder = assay::TemporaryDirectory::create("assay-fuzz-").value();
  const assay::Json config = assay::Json::parse(data, data + size, nullptr, false);
  if (config.is_discarded()) return 0;
  for (const assay::zoo::Part part : {assay::zoo::Part::kWhole, assay::zoo::Part::kDecode}) {
    assay::zoo::BuildRequest request;
    request.config = config;
    request.part = part;
    request.max_weight_bytes = 1 << 16;
    const auto built = assay::zoo::build(request, folder.path() / "model.onnx");
    if (!built && (built.error().message.empty() || built.error().code == assay::ErrorCode::kInternal)) std::abort();
  }
  return 0;
}

namespace {

using assay::Json;

// All values of a configuration that may be replaced, nested ones too.
void collect(Json& value, std::vector<Json*>& into) {
  if (!value.is_object()) return;
  for (auto& [key, inner] : value.items()) {
    if (key == "model_type") continue;
    into.push_back(&inner);
    collect(inner, into);
  }
}

Json hostile(std::mt19937& random) {
  static const std::vector<Json> values = {
      nullptr,
      true,
      false,
      0,
      1,
      2,
      3,
      5,
      7,
      -1,
      4096,
      65536,
      131072,
      1 << 30,
      INT64_MAX,
      INT64_MIN,
      UINT64_MAX,
      0.0,
      -0.5,
      1e-30,
      1e300,
      "",
      "gelu",
      "relu",
      "x\x01y",
      "none",
      Json::array(),
      Json::array({1}),
      Json::array({2, 3}),
      Json::array({-2, 0}),
      Json::array({"a", "b"}),
      Json::array({Json::array({1, 2})}),
      Json::object(),
      Json::object({{"rope_type", "yarn"}, {"factor", 0}}),
      Json::object({{"rope_type", "longrope"}, {"short_factor", Json::array({1})}, {"long_factor", Json::array()}}),
      Json::object({{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 4.0}, {"high_freq_factor", 4.0}})};
  return values[random() % values.size()];
}

}  // namespace

// Bytes that are not JSON any more are refused at once: what changes here is a value.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  Json config = Json::parse(data, data + size, nullptr, false);
  if (!config.is_object()) return size;
  std::mt19937 random(seed);
  std::vector<Json*> values;
  collect(config, values);
  if (values.empty()) return size;
  Json& value = *values[random() % values.size()];
  if (value.is_number_integer() && random() % 2 == 0) {
    const std::int64_t old = value.get<std::int64_t>();
    value = static_cast<std::int64_t>(static_cast<std::uint64_t>(old) + random() % 5 - 2);
  } else {
    value = hostile(random);
  }
  const std::string text = config.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > max_size) return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
