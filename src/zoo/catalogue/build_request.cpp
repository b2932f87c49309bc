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

std::string_view form_name(Form form) {
  switch (form) {
    case Form::kPortable:
      return "portable";
    case Form::kFixed:
      return "fixed";
    case Form::kNative:
      break;
  }
  return "native";
}

std::optional<Form> find_form(std::string_view name) {
  for (const Form form : {Form::kPortable, Form::kFixed, Form::kNative})
    if (form_name(form) == name) return form;
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
