// SPDX-License-Identifier: Apache-2.0
#include "prepare/description.hpp"

#include <gtest/gtest.h>

#include <string>

#include "zoo/zoo.hpp"

namespace assay {
namespace {

TEST(Variants, OfOneModelHaveOneIdentityOnEveryEngine) {
  const TemporaryDirectory folder = TemporaryDirectory::create().value();
  const EngineRegistry registry(EngineRegistry::default_places());
  const ZooSource source = zoo_source(zoo::find_known("gpt2").value());
  const ZooDescription model = describe(zoo_build(source, {}), true, folder.path(), {}).value();
  const auto hash_on = [&](zoo::KvCache kv_cache, const std::string& engine) {
    const auto variants = describe_variants(model, kv_cache, {engine}, registry);
    const auto found = variants.find(variants.contains(engine) ? engine : "");
    return found == variants.end() || !found->second ? "none" : found->second->config_hash;
  };
  // ONNX Runtime's is built by the zoo, OpenVINO's is converted.
  const std::string runtime = hash_on(zoo::KvCache::kRuntime, "onnxruntime");
  EXPECT_EQ(hash_on(zoo::KvCache::kRuntime, "openvino"), runtime);
  EXPECT_NE(runtime, "none");
  EXPECT_NE(runtime, model.built.config_hash) << "the kind of KV cache is a part of the identity";
  EXPECT_NE(runtime, hash_on(zoo::KvCache::kStatic, "onnxruntime"));
}

}  // namespace
}  // namespace assay
