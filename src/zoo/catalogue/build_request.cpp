// SPDX-License-Identifier: Apache-2.0
#include "zoo/catalogue/build_request.hpp"

#include "zoo/catalogue/config.hpp"

namespace assay::zoo {

std::string_view part_name(Part part) {
  switch (part) {
    case Part::kWhole:
      return "whole";
    case Part::kPrefill:
      return "prefill";
    case Part::kDecode:
      break;
  }
  return "decode";
}

std::string_view kv_cache_name(KvCache kind) {
  switch (kind) {
    case KvCache::kGrowing:
      return "growing";
    case KvCache::kStatic:
      return "static";
    case KvCache::kRuntime:
      break;
  }
  return "runtime";
}

std::optional<KvCache> find_kv_cache(std::string_view name) {
  for (const KvCache kind : {KvCache::kGrowing, KvCache::kStatic, KvCache::kRuntime})
    if (kv_cache_name(kind) == name) return kind;
  return std::nullopt;
}

Result<Generates> generates(const Json& config, const std::string& model_class) {
  ASSAY_TRY(const Config read, Config::read(config, model_class));
  const Json& description = read.architecture().description;
  const std::string& skeleton = read.architecture().skeleton;
  const Json& chosen = description["classes"][read.model_class()];
  const bool headed = !chosen["heads"].empty();
  if (skeleton == "decoder" && headed) return Generates::kFromEmptyPast;
  // Images go into the prompt alone.
  if (skeleton == "llava" && headed) return Generates::kAfterPrefill;
  const std::string role = chosen.value("role", "");
  if (role == "generation") return Generates::kAfterPrefill;
  // Without an encoder whose states nobody gives.
  const Json& inputs = chosen.contains("inputs") ? chosen["inputs"] : description["inputs"];
  if (role == "causal" && inputs == Json::array({"input_ids", "attention_mask"})) return Generates::kFromEmptyPast;
  return Generates::kNothing;
}

}  // namespace assay::zoo
