// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/shape_form.hpp"

#include "core/traits/engine_entry.hpp"

namespace assay {

std::string_view unusual_shapes(const Record& row) {
  const EngineEntry* engine = own_engine(row.engine);
  if (engine == nullptr || !engine->gets_exported_shapes(row.family)) return row.shapes == "dynamic" ? "dynamic" : "";
  // "open" is partly static, but a model that generates has open extents in either form.
  const bool fixed = row.shapes == "static" || (row.shapes == "open" && !row.output_tokens);
  return fixed ? "static" : "";
}

}  // namespace assay
