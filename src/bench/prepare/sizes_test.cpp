// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/prepare/zoo_source_testing.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::source_of;

TEST(Sizes, SmallerPublishedOnesComeFirstThenFewerLayers) {
  std::vector<std::string> ids, sizes;
  for (const ZooSource& size : smaller_sizes(source_of("meta-llama/Llama-2-7b-hf"))) {
    ids.push_back(size.model_id);
    sizes.push_back(size.size);
  }
  const std::string whole = "meta-llama/Llama-2-7b-hf";
  EXPECT_THAT(ids, ElementsAre("meta-llama/Llama-3.2-1B", "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
                               "HuggingFaceTB/SmolLM-360M", "HuggingFaceTB/SmolLM-135M", whole, whole, whole, whole));
  EXPECT_THAT(sizes, ElementsAre("1.2b", "1.1b", "0.36b", "small", "reference/2", "reference/4", "reference/8",
                                 "reference/16"));
}

TEST(Sizes, AScaledModelHasFewerLayersAndNothingElseLess) {
  const ZooSource whole = source_of("llava-hf/llava-v1.6-mistral-7b-hf");
  const std::vector<ZooSource> sizes = smaller_sizes(whole);
  ASSERT_FALSE(sizes.empty());
  const Json& config = sizes.back().config;
  EXPECT_EQ(config["text_config"]["num_hidden_layers"], 2);
  EXPECT_EQ(config["text_config"]["hidden_size"], whole.config["text_config"]["hidden_size"]);
  EXPECT_EQ(sizes.back().size, "reference/16");
}

TEST(Sizes, LayersAreScaledWhereTheyAreCounted) {
  const Json config{{"num_hidden_layers", 3}, {"hidden_size", 8}, {"text_config", {{"n_layer", 12}}}};
  EXPECT_EQ(scale_layers(config, 0.25).value(),
            (Json{{"num_hidden_layers", 1}, {"hidden_size", 8}, {"text_config", {{"n_layer", 3}}}}));
  EXPECT_THAT(scale_layers(Json{{"hidden_size", 8}}, 0.5).error().message, HasSubstr("without a count of layers"));
  EXPECT_THAT(scale_layers(Json{{"num_layers", 2}, {"layer_types", {"a", "b"}}}, 0.5).error().message,
              HasSubstr("'layer_types'"));
}

}  // namespace
}  // namespace assay
