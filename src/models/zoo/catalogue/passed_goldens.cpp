// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/passed_goldens.hpp"

#include "core/base/json.hpp"
#include "models/zoo/catalogue/embedded.hpp"

namespace assay::zoo {

std::optional<Tolerance> passed_golden(const std::string& architecture, const std::string& model_class) {
  static const Json passed = Json::parse(embedded_files().at("goldens")).at("goldens");
  const auto classes = passed.find(architecture);
  if (classes == passed.end() || !classes->contains(model_class)) return std::nullopt;
  const Json& tolerance = classes->at(model_class);
  return Tolerance{.absolute = tolerance.at(0).get<double>(), .relative = tolerance.at(1).get<double>()};
}

}  // namespace assay::zoo
