// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/services/conform.hpp"
#include "core/base/json.hpp"

namespace assay {

/// The results of ONNX's operator tests on several engines: `assay conform`.
struct ConformityReport {
  struct Test {
    std::string name;
    NodeTestClass kind = NodeTestClass::kPlain;
    std::vector<std::string> operators;
  };
  struct Engine {
    std::string name, version;
    std::vector<ConformityResult> results;  ///< one for each test, in their order
  };
  std::vector<Test> tests;
  std::vector<Engine> engines;

  /// For a test on all engines: failed before wrong before unsupported before passed.
  [[nodiscard]] Conformity worst(std::size_t test) const;
};

/// The document of docs/formats.md, "Operator tests", without its schema version.
[[nodiscard]] Json conformity_json(const ConformityReport& report);
/// Totals, and a line for each test that is wrong or failed.
[[nodiscard]] std::string conformity_text(const ConformityReport& report);
/// The tables of docs/conformance.md.
[[nodiscard]] std::string conformity_markdown(const ConformityReport& report);

}  // namespace assay
