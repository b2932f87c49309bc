// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/build_request.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/zoo/catalogue/config.hpp"

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

tl::unexpected<Error> no_part(Part part, std::string why) {
  return fail(ErrorCode::kNotFound, fmt::format("the model has no {} part", part_name(part)), std::move(why));
}

Result<Generates> generates(const Json& config, const std::string& model_class) {
  ASSAY_TRY(const Config read, Config::read(config, model_class));
  const Architecture& architecture = read.architecture();
  const std::string& head = read.head();
  if (architecture.skeleton == "decoder" && head == "causal_lm") return Generates::kFromEmptyPast;
  // Images go into the prompt alone.
  if (architecture.skeleton == "llava" && head == "causal_lm") return Generates::kAfterPrefill;
  if (head == "generation") return Generates::kAfterPrefill;
  // Without an encoder whose states are missing.
  const std::vector<std::string>& inputs = read.usual_inputs();
  if (head == "causal_lm" && inputs == std::vector<std::string>{"input_ids", "attention_mask"})
    return Generates::kFromEmptyPast;
  return Generates::kNothing;
}

}  // namespace assay::zoo
