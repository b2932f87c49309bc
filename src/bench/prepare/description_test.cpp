// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/description.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "models/zoo/zoo.hpp"

namespace assay {
namespace {

TEST(Variants, OfOneModelHaveOneIdentityOnEveryEngine) {
  const TemporaryDirectory folder = TemporaryDirectory::create().value();
  const EngineRegistry registry(EngineRegistry::default_places());
  const ZooSource source = zoo_source(zoo::find_known("gpt2").value());
  const ZooDescription model = describe(zoo_build(source, {}), true, folder.path(), {}).value();
  const auto hash_on = [&](KvCache kv_cache, const std::string& engine) {
    const auto variants = describe_variants(model, kv_cache, {engine}, registry);
    const auto found = variants.find(variants.contains(engine) ? engine : "");
    return found == variants.end() || !found->second ? "none" : found->second->config_hash;
  };
  // ONNX Runtime's is built by the zoo, OpenVINO's is converted.
  const std::string runtime = hash_on(KvCache::kRuntime, "onnxruntime");
  EXPECT_EQ(hash_on(KvCache::kRuntime, "openvino"), runtime);
  EXPECT_NE(runtime, "none");
  EXPECT_NE(runtime, model.built.config_hash) << "the kind of KV cache is a part of the identity";
  EXPECT_NE(runtime, hash_on(KvCache::kStatic, "onnxruntime"));
}

TEST(Variants, AnEngineOfStaticCachesGetsThemUnlessAnotherKindIsRequested) {
  const TemporaryDirectory folder = TemporaryDirectory::create().value();
  const EngineRegistry registry(EngineRegistry::default_places());
  std::string only_static;
  for (const EngineEntry& engine : registry.entries())
    if (engine.kv_cache == std::vector<std::string>{"static"}) only_static = engine.name;
  ASSERT_NE(only_static, "");
  for (const char* known : {"gpt2", "t5"}) {
    SCOPED_TRACE(known);
    const ZooSource source = zoo_source(zoo::find_known(known).value());
    const ZooDescription model = describe(zoo_build(source, {}), true, folder.path(), {}).value();
    const auto variants = describe_variants(model, std::nullopt, {"onnxruntime", only_static}, registry);
    ASSERT_EQ(variants.size(), 1U) << "the other engine runs the model as it is";
    const Result<CacheVariant>& variant = variants.at(only_static);
    ASSERT_TRUE(variant) << to_string(variant.error());
    EXPECT_EQ(variant->kv_cache, KvCache::kStatic);
    EXPECT_EQ(variant->own_prompt, std::string(known) == "t5");
    const auto growing = describe_variants(model, KvCache::kGrowing, {only_static}, registry);
    ASSERT_FALSE(growing.at(only_static));
    EXPECT_EQ(growing.at(only_static).error().code, ErrorCode::kUnsupported);
  }
}

}  // namespace
}  // namespace assay
