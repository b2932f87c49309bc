// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

/// A row of aliases.def.
struct Alias {
  std::string_view name, words, guide, meaning;
};

[[nodiscard]] std::span<const Alias> aliases();

/// The words that a name of the guides stands for: "test/run_model_benchmarks.py" is "run". The folders `./`, `test/`
/// and `bench/` before it and `.py` behind it are left out; the rest must be a name of aliases.def.
[[nodiscard]] std::optional<std::vector<std::string>> expand_alias(std::string_view word);

}  // namespace assay::cli
