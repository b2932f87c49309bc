// SPDX-License-Identifier: Apache-2.0
// Every key that a file of zoo/ states is read by the builder of an architecture that has it, or has a single value
// that is built, and configurations with another value are refused. A key that changes nothing would be one that its
// author believes in.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <span>
#include <thread>
#include <vector>

#include "core/base/files.hpp"
#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::zoo {
namespace {

struct Kind {
  Part part;
  KvCache kv_cache;
};
constexpr Kind kWhole[] = {{Part::kWhole, KvCache::kGrowing}};
constexpr Kind kGenerated[] = {{Part::kWhole, KvCache::kGrowing},
                               {Part::kPrefill, KvCache::kGrowing},
                               {Part::kDecode, KvCache::kGrowing},
                               {Part::kDecode, KvCache::kStatic},
                               {Part::kDecode, KvCache::kRuntime}};

BuildRequest& add(std::vector<BuildRequest>& requests, const Json& config, const std::string& model_class) {
  BuildRequest& request = requests.emplace_back();
  request.config = config;
  request.model_class = model_class;
  request.weights_left_out = true;
  return request;
}

// The width of the states that a decoder without an encoder attends to.
std::int64_t states_width(const Config& config) {
  for (const char* key : {"cross_attention_hidden_size", "d_model", "hidden_size"})
    if (const Json& value = config.json(key); value.is_number_integer()) return value;
  return 1;
}

// With the usual inputs; where these are tokens, with the first alone, without the decoder's own, and with an encoder's
// states.
void add_class(std::vector<BuildRequest>& requests, const Json& json, const std::string& model_class) {
  const Result<Config> config = Config::read(json, model_class);
  if (!config) return;
  const Generates generated = generates(json, model_class).value_or(Generates::kNothing);
  for (const auto& [part, kv_cache] :
       generated == Generates::kNothing ? std::span<const Kind>(kWhole) : std::span<const Kind>(kGenerated)) {
    BuildRequest& request = add(requests, json, model_class);
    request.part = part;
    request.kv_cache = kv_cache;
  }
  const std::vector<std::string>& usual = config->usual_inputs();
  if (usual.empty() || usual.front() != "input_ids") return;
  const Shape tokens{2, 5};
  add(requests, json, model_class).input_shapes = {{"input_ids", tokens}};
  add(requests, json, model_class).input_shapes = {{"input_ids", tokens}, {"attention_mask", tokens}};
  add(requests, json, model_class).input_shapes = {
      {"input_ids", tokens}, {"attention_mask", tokens}, {"encoder_hidden_states", {2, 3, states_width(*config)}}};
}

// The usual configuration, the published ones, those that the file distinguishes, and each flag set
// otherwise, each number that is 0 set to 3.
std::vector<Json> configurations(const Architecture& architecture) {
  Json usual;
  usual["model_type"] = architecture.name;
  std::vector<Json> all = {usual};
  for (const CheckpointSpec& checkpoint : architecture.checkpoints) {
    all.push_back(checkpoint.config);
    all.back()["model_type"] = architecture.name;
  }
  if (const auto* decoder = std::get_if<DecoderVariations>(&architecture.variations)) {
    for (const DecoderCondition& condition : decoder->when) {
      all.push_back(usual);
      for (const auto& [key, value] : condition.conditions.peek()) all.back()[key] = value;
    }
  }
  for (const auto& [key, rule] : architecture.keys) {
    const bool off = rule.type == "integer" && rule.standard == 0 && rule.max >= 3;
    if ((rule.type != "flag" && !off) || !rule.values.empty()) continue;
    all.push_back(usual);
    all.back()[key] = off ? Json(3) : Json(!(rule.standard == true));
  }
  for (const auto& [key, rule] : architecture.parts) {
    for (const std::string& type : rule.types) {
      all.push_back(usual);
      all.back()[key]["model_type"] = type;
    }
  }
  return all;
}

void build_all(const std::vector<BuildRequest>& requests) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::create("assay-keys-");
  ASSERT_TRUE(folder);
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < std::max(1U, std::thread::hardware_concurrency()); ++thread) {
    threads.emplace_back([&, own = folder->path() / std::to_string(thread)] {
      // What a configuration that nobody published cannot be built into is refused: no matter here.
      for (std::size_t i = next++; i < requests.size(); i = next++)
        static_cast<void>(build(requests[i], own / "model.onnx"));
    });
  }
}

TEST(Catalogue, EveryKeyThatAFileStatesIsReadByABuilder) {
  std::vector<BuildRequest> requests;
  for (const Architecture& architecture : architectures())
    for (const Json& config : configurations(architecture))
      for (const auto& [model_class, spec] : architecture.classes) add_class(requests, config, model_class);
  build_all(requests);
  // An architecture that extends a file reads it again: one of the statements of a place is enough.
  struct Use {
    bool read = false, unused = false, fixed = false;
  };
  std::map<std::pair<std::string, std::string>, Use> uses;
  for (const Statement* statement : catalogue().statements) {
    Use& use = uses[{statement->file, statement->key}];
    use.read |= statement->read;
    use.unused |= statement->unused;
    use.fixed |= statement->fixed;
  }
  for (const auto& [place, use] : uses) {
    EXPECT_TRUE(use.read || use.unused || use.fixed)
        << "zoo/" << place.first << ".json: nothing reads " << place.second;
    EXPECT_FALSE(use.read && use.unused) << "zoo/" << place.first << ".json: " << place.second
                                         << " is read, and said to be unused";
  }
  EXPECT_GT(uses.size(), 1000U);
}

// Another value of the type of `value`.
Json another(const Json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>() + 1;
  return value.get<std::string>() + "x";
}

TEST(Catalogue, OtherValuesOfAKeyThatIsBuiltForOneValueAreRefused) {
  std::size_t keys = 0;
  for (const Architecture& architecture : architectures()) {
    for (const auto& [key, rule] : architecture.keys) {
      if (rule.values.size() != 1) continue;
      Json config;
      config["model_type"] = architecture.name;
      config[key] = another(rule.values.front());
      const Result<Config> read = Config::read(config, "");
      ASSERT_FALSE(read) << architecture.name << ": " << key;
      EXPECT_EQ(read.error().code, ErrorCode::kUnsupported) << to_string(read.error());
      EXPECT_EQ(read.error().message, "unsupported: " + key + " = " + shown(config[key]));
      ++keys;
    }
  }
  EXPECT_GT(keys, 50U);
}

}  // namespace
}  // namespace assay::zoo
