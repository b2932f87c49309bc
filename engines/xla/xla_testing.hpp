// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "support/runtime_suite.hpp"
#include "xla_engine.hpp"

namespace assay::plugin::test {

/// The folder of jaxlib.
inline std::string home() {
  const char* given = std::getenv("ASSAY_XLA_HOME");
  return (given != nullptr ? std::string(given) : ASSAY_TEST_DEPS_DIR "/xla") + "/jaxlib";
}

}  // namespace assay::plugin::test
