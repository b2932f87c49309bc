// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "support/runtime_suite.hpp"
#include "xla_engine.hpp"

namespace assay::plugin::test {

/// The folder of jaxlib.
inline std::string home() {
  const char* given = std::getenv("ASSAY_XLA_HOME");
  return (given != nullptr ? std::string(given) : ASSAY_TEST_DEPS_DIR "/xla") + "/jaxlib";
}

/// A test with the engine; skipped if jaxlib is not installed.
class XlaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    engine_ = engine(why);
    if (engine_ == nullptr) GTEST_SKIP() << why;
  }
  [[nodiscard]] Result<std::unique_ptr<Program>> load(const std::string& path,
                                                      const std::string& precision = "as_is") const {
    LoadArgs args;
    args.model_path = path;
    args.precision = precision;
    args.threads = 1;
    return engine_->load(args);
  }

  Engine* engine_ = nullptr;
};

}  // namespace assay::plugin::test
