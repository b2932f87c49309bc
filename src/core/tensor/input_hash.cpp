// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/base/hash.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/recipe.hpp"

namespace assay {

Result<std::string> input_hash(const std::vector<InputRecipe>& recipes, std::uint64_t seed, std::size_t sets) {
  Sha256 hash;
  hash.update(fmt::format("{}\n{}\n{}\n", seed_scheme(), seed, sets));
  if (has_padding(recipes)) hash.update("padding in set 1\n");  // until version 1.0 in the rows after the first
  for (const InputRecipe& recipe : recipes) {
    Json json = to_json(recipe);
    json.erase("file");  // the same bytes elsewhere are the same input
    if (recipe.fill == Fill::kFile) {
      ASSAY_TRY(json["bytes"],
                with_context(sha256_file(recipe.file), fmt::format("while reading input '{}'", recipe.name)));
    }
    hash.update(json_text(json));
    hash.update("\n");
  }
  return hash.hex();
}

}  // namespace assay
