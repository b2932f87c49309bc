// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.hpp"
#include "models/zoo/catalogue/architecture.hpp"

namespace assay::zoo {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;

// A small zoo: the shared files, a decoder "base", and what a test adds or replaces.
Result<Catalogue> read(const Files& changed) {
  Files files = {{"blocks", R"({"blocks": {"sizes": {"keys": {"vocab_size": 10, "hidden_size": 4}}}})"},
                 {"common", R"({"ignored": [], "neutral": {}, "non_parameters": []})"},
                 {"goldens", "{}"},
                 {"keys", R"({"keys": {
                    "vocab_size": {"type": "integer", "min": 1, "max": 100},
                    "hidden_size": {"type": "integer", "min": 1, "max": 100},
                    "head_dim": {"type": "integer", "optional": true, "min": 1, "max": 100},
                    "use_bias": {"type": "flag"}}})"},
                 {"layouts", R"({"clip": {"norm1": "layer_norm1"}})"},
                 {"planned", R"({"architectures": {}})"},
                 {"sets", "{}"},
                 {"tasks", R"({"classes": {}, "endings": {}})"},
                 {"base", R"({
  "model_type": "base",
  "category": "text_decoders",
  "family": "text_generation",
  "skeleton": "decoder",
  "base_prefix": "model",
  "class_prefix": "Base",
  "default_class": "*ForCausalLM",
  "classes": {
    "*ForCausalLM": {"head": "causal_lm", "head_tensors": ["lm_head."]},
    "*Model": {}
  },
  "inputs": ["input_ids"],
  "variations": {"norm": "layer", "heads": 2, "names": {"mlp_in": ""}},
  "keys": {"vocab_size": 10, "hidden_size": 8, "head_dim": {}},
  "checkpoints": [{"id": "a/b", "size": "tiny", "config": {}}]
})"}};
  for (const auto& [name, text] : changed) files[name] = text;
  std::map<std::string, std::string_view> views;
  for (const auto& [name, text] : files) views.emplace(name, text);
  return read_catalogue(views);
}

// One architecture more, which extends "base".
std::string message_for(const std::string& text) {
  const Result<Catalogue> found = read({{"more", "{\n  \"model_type\": \"more\",\n  \"extends\": \"base\"" + text}});
  return found ? "" : found.error().message;
}

const Architecture& more(const Catalogue& catalogue) { return catalogue.architectures.at(1); }

TEST(ReadCatalogue, AFileStatesWhatDiffersFromTheFilesThatItExtends) {
  const Result<Catalogue> found = read({{"more", R"({
    "model_type": "more", "extends": ["base", "sizes"], "class_prefix": "More",
    "variations": {"heads": null, "names": {"mlp_out": "norm2"}},
    "keys": {"head_dim": null, "use_bias": true}})"}});
  ASSERT_TRUE(found) << to_string(found.error());
  const Architecture& made = more(*found);
  EXPECT_EQ(made.skeleton, "decoder");
  EXPECT_EQ(made.default_class, "MoreForCausalLM");
  EXPECT_EQ(*made.classes.at("MoreForCausalLM").head, "causal_lm");
  EXPECT_EQ(*made.classes.at("MoreModel").head, "none");
  const auto& variations = made.varied<DecoderVariations>();
  EXPECT_EQ(*variations.norm, "layer");
  EXPECT_EQ(variations.heads->value, std::nullopt) << "null takes a value away";
  EXPECT_EQ(*variations.names.mlp_in, "");
  EXPECT_EQ(*variations.names.mlp_out, "norm2");
  EXPECT_FALSE(made.keys.contains("head_dim"));
  EXPECT_EQ(made.keys.at("hidden_size").standard, 4) << "the last of the extended files decides";
  EXPECT_EQ(made.keys.at("use_bias").type, "flag");
  EXPECT_TRUE(made.checkpoints.empty()) << "checkpoints are one architecture's own";
}

TEST(ReadCatalogue, AKeyHasTheCommonRuleWithItsOwnDefault) {
  const Result<Catalogue> found = read({{"more", R"({"model_type": "more", "extends": "base",
    "keys": {"hidden_size": {"default": 3, "max": 7}, "new": {"type": "text", "values": ["a"], "default": "a"}}})"}});
  ASSERT_TRUE(found) << to_string(found.error());
  const KeyRule& rule = more(*found).keys.at("hidden_size");
  EXPECT_EQ(rule.standard, 3);
  EXPECT_EQ(rule.min, 1);
  EXPECT_EQ(rule.max, 7);
  EXPECT_TRUE(more(*found).keys.at("head_dim").optional);
  EXPECT_THAT(more(*found).keys.at("new").values, ElementsAre("a"));
}

TEST(ReadCatalogue, AListOfValuesIsNotAReader) {
  const Result<Catalogue> found = read({{"more", R"({"model_type": "more", "extends": "base", "keys": {
    "one": {"type": "text", "values": ["a"], "default": "a"},
    "two": {"type": "text", "values": ["a", "b"], "default": "a"}}})"}});
  ASSERT_TRUE(found) << to_string(found.error());
  const Named<KeyRule>& keys = more(*found).keys;
  for (const char* key : {"one", "two"}) EXPECT_FALSE(keys.at(key).statement->read) << "only builders read";
  EXPECT_TRUE(keys.at("one").statement->fixed) << "other values are refused, there is nothing to read";
  EXPECT_FALSE(keys.at("two").statement->fixed) << "a builder has to choose";
}

TEST(ReadCatalogue, RefusesAnUnknownKeyWithFileLineAndTheNearestKey) {
  EXPECT_EQ(message_for(",\n  \"skelton\": \"decoder\"\n}"),
            "zoo/more.json:4: unknown key \"skelton\"; did you mean \"skeleton\"?");
  EXPECT_EQ(message_for(",\n  \"variations\": {\n    \"qvk_layout\": \"joined\"}\n}"),
            "zoo/more.json:5: unknown key \"qvk_layout\"; did you mean \"qkv_layout\"?");
  EXPECT_THAT(message_for(",\n  \"variations\": {\"names\": {\n    \"qkvv\": \"\"}}\n}"),
              HasSubstr("zoo/more.json:5: unknown key \"qkvv\"; did you mean \"qkv\"?"));
  EXPECT_THAT(message_for(",\n  \"classes\": {\"MoreModel\": {\"haed\": \"none\"}}\n}"),
              HasSubstr("unknown key \"haed\"; did you mean \"head\"?"));
  EXPECT_THAT(message_for(",\n  \"keys\": {\"vocab_size\": {\"mim\": 1}}\n}"),
              HasSubstr("zoo/more.json:4: unknown key \"mim\"; did you mean \"min\"?"));
  EXPECT_THAT(message_for(",\n  \"variations\": {\"when\": [{\"if\": {}, \"sett\": {}}]}\n}"),
              HasSubstr("unknown key \"sett\"; did you mean \"set\"?"));
  EXPECT_THAT(message_for(",\n  \"variations\": {\"pre_norm\": true}\n}"), HasSubstr("unknown key \"pre_norm\""))
      << "a key of another skeleton";
  EXPECT_THAT(message_for(",\n  \"checkpoints\": [{\"id\": \"x\", \"sise\": \"tiny\"}]\n}"),
              HasSubstr("unknown key \"sise\"; did you mean \"size\"?"));
}

TEST(ReadCatalogue, RefusesValuesThatMeanNothing) {
  EXPECT_EQ(message_for(",\n  \"variations\": {\"norm\": \"rsm\"}\n}"),
            "zoo/more.json:4: \"norm\" has the unknown value \"rsm\"; did you mean \"rms\"?");
  EXPECT_EQ(message_for(",\n  \"variations\": {\"rope\": \"no\"}\n}"),
            "zoo/more.json:4: \"rope\" must be true or false, not \"no\"");
  EXPECT_EQ(message_for(",\n  \"variations\": {\"hidden\": \"=hiden_size\"}\n}"),
            "zoo/more.json:4: \"hidden\" is \"=hiden_size\", which is not among the \"keys\"; did you mean "
            "\"hidden_size\"?");
  EXPECT_EQ(message_for(",\n  \"keys\": {\"new\": 3}\n}"),
            "zoo/more.json:4: \"new\" is not in keys.json: state its \"type\" here");
  EXPECT_EQ(message_for(",\n  \"keys\": {\"new\": {\"type\": \"integer\", \"default\": 3}}\n}"),
            "zoo/more.json:4: type integer needs \"min\" and \"max\"");
  EXPECT_THAT(message_for(",\n  \"classes\": {\"MoreX\": {\"head\": \"causal\"}}\n}"),
              HasSubstr("zoo/more.json:4: class MoreX has the head \"causal\""));
  EXPECT_THAT(message_for(",\n  \"default_class\": \"MoreX\"\n}"), HasSubstr("\"MoreX\", which is not a class"));
  EXPECT_THAT(message_for(",\n  \"skeleton\": \"decodr\"\n}"),
              HasSubstr("zoo/more.json:4: there is no skeleton \"decodr\"; did you mean \"decoder\"?"));
  EXPECT_THAT(message_for(",\n  \"layout\": \"clap\"\n}"), HasSubstr("did you mean \"clip\"?"));
}

TEST(ReadCatalogue, RefusesToExtendWhatIsNotThereOrItself) {
  const Result<Catalogue> missing = read({{"more", R"({"model_type": "more", "extends": "bsae"})"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "zoo/more.json:1: \"extends\" names \"bsae\", which is neither an architecture nor a block; did you mean "
            "\"base\"?");
  const Result<Catalogue> circle = read({{"more", R"({"model_type": "more", "extends": "more"})"}});
  ASSERT_FALSE(circle);
  EXPECT_THAT(circle.error().message, HasSubstr("goes round in a circle"));
}

// The other half of the promise, that a builder reads what a file states, is tests/graphs/key_use_test.cpp.
TEST(Catalogue, EveryKeyThatTheProgramKnowsIsStatedBySomeFile) {
  std::set<std::string> stated;
  for (const Statement* statement : catalogue().statements) {
    std::string key = statement->key;
    if (const std::size_t set = key.find("when.set."); set != std::string::npos) key.erase(set, 9);
    // The names of classes are the files' own.
    if (key.starts_with("classes.")) key = "classes" + key.substr(key.rfind('.'));
    stated.insert(key);
  }
  for (const std::string& key : declared_keys()) EXPECT_TRUE(stated.contains(key)) << key;
}

TEST(Catalogue, ThePageForAuthorsNamesEveryKey) {
  const Result<std::string> page = read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "docs/zoo-authors.md");
  ASSERT_TRUE(page);
  for (const std::string& key : declared_keys()) {
    const std::string name = "`" + key.substr(key.rfind('.') + 1) + "`";
    EXPECT_THAT(*page, HasSubstr(name)) << key;
  }
}

}  // namespace
}  // namespace assay::zoo
