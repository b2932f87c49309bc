// SPDX-License-Identifier: Apache-2.0
#include "core/traits/engine_types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/text.hpp"

namespace assay {

bool allows(const EngineOptionInfo& option, const std::string& value) {
  if (option.type == "string") return true;
  if (option.type == "bool") return value == "true" || value == "false";
  if (option.type == "int") return parse_number<std::int64_t>(value).has_value();
  if (option.type == "float") return std::isfinite(parse_number<double>(value).value_or(NAN));
  const std::vector<std::string> words = split(option.type, '|');
  return std::find(words.begin(), words.end(), value) != words.end();
}

}  // namespace assay
