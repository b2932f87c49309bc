// SPDX-License-Identifier: Apache-2.0
#include "models/hub/hub.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

#include "core/base/files.hpp"
#include "models/hub/cache.hpp"

namespace assay::hub {
namespace {
namespace fs = std::filesystem;

// The environment of one test.
class Environment : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HF_ENDPOINT", "HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME",
                             "HF_HUB_OFFLINE", "HOME"}) {
      const char* value = std::getenv(name);
      saved_[name] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      ::unsetenv(name);
    }
    ::setenv("HOME", folder_.path().c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : saved_)
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }
  TemporaryDirectory folder_ = *TemporaryDirectory::create();

 private:
  std::map<std::string, std::optional<std::string>> saved_;
};

TEST_F(Environment, GivesHuggingFacesDefaults) {
  const Settings settings = settings_from_environment();
  EXPECT_THAT(settings.endpoint, testing::StartsWith("https://"));
  EXPECT_EQ(settings.cache, folder_.path() / ".cache/huggingface/hub");
  EXPECT_EQ(settings.token, "");
  EXPECT_FALSE(settings.offline);
}

TEST_F(Environment, TakesTheFoldersInHuggingFacesOrder) {
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(settings_from_environment().cache, "/xdg/huggingface/hub");
  ::setenv("HF_HOME", "/home", 1);
  EXPECT_EQ(settings_from_environment().cache, "/home/hub");
  ::setenv("HF_HUB_CACHE", "/cache", 1);
  EXPECT_EQ(settings_from_environment().cache, "/cache");
}

TEST_F(Environment, ReadsEndpointTokenAndOffline) {
  ASSERT_TRUE(write_file_atomically(folder_.path() / "home" / "token", "hf_file\n"));
  ::setenv("HF_HOME", (folder_.path() / "home").c_str(), 1);
  ::setenv("HF_ENDPOINT", "http://127.0.0.1:9//", 1);
  ::setenv("HF_HUB_OFFLINE", "YES", 1);
  Settings settings = settings_from_environment();
  EXPECT_EQ(settings.endpoint, "http://127.0.0.1:9");
  EXPECT_EQ(settings.token, "hf_file");
  EXPECT_TRUE(settings.offline);
  ::setenv("HF_TOKEN", "hf_variable", 1);
  ::setenv("HF_HUB_OFFLINE", "0", 1);
  settings = settings_from_environment();
  EXPECT_EQ(settings.token, "hf_variable");
  EXPECT_FALSE(settings.offline);
}

TEST(ModelId, IsAnOrganisationAndAName) {
  for (const char* name : {"google-bert/bert-base-uncased", "a/b", "openai/whisper-tiny.en", "x_y/Z-1.0"})
    EXPECT_TRUE(is_model_id(name)) << name;
  for (const char* name :
       {"bert", "a/b/c", "/b", "a/", "../b", "a/..", "a/b c", "a/b?x", "./model", "a/b--c", "a/-b", ""})
    EXPECT_FALSE(is_model_id(name)) << name;
}

class Cache : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const std::string checksum = "blob-of-" + file;
    ASSERT_TRUE(write_file_atomically(model_ / "blobs" / checksum, text));
    ASSERT_TRUE(link_blob(model_, "c0ffee", file, checksum));
  }
  TemporaryDirectory folder_ = *TemporaryDirectory::create();
  Settings settings_{.endpoint = "", .token = "", .cache = folder_.path()};
  fs::path model_ = model_folder(settings_, "org/name");
};

TEST_F(Cache, HasHuggingFacesLayout) {
  EXPECT_EQ(model_.filename(), "models--org--name");
  EXPECT_FALSE(find_cached(settings_, "org/name"));
  write("config.json", "{}");
  EXPECT_FALSE(find_cached(settings_, "org/name")) << "no reference says which revision is main";
  ASSERT_TRUE(write_file_atomically(model_ / "refs/main", "c0ffee"));
  const auto snapshot = find_cached(settings_, "org/name");
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->commit, "c0ffee");
  EXPECT_EQ(snapshot->folder, model_ / "snapshots/c0ffee");
  EXPECT_FALSE(snapshot->weights);
  EXPECT_EQ(fs::read_symlink(snapshot->folder / "config.json"), "../../blobs/blob-of-config.json");
}

TEST_F(Cache, CountsShardsOnlyTogether) {
  ASSERT_TRUE(write_file_atomically(model_ / "refs/main", "c0ffee"));
  write("config.json", "{}");
  write("model.safetensors.index.json", R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
  write("model-1.safetensors", "x");
  EXPECT_FALSE(find_cached(settings_, "org/name")->weights);
  write("model-2.safetensors", "x");
  EXPECT_EQ(find_cached(settings_, "org/name")->weights, model_ / "snapshots/c0ffee/model.safetensors.index.json");
  fs::remove(model_ / "blobs/blob-of-model-1.safetensors");
  EXPECT_FALSE(find_cached(settings_, "org/name")->weights) << "a link without its blob does not count as a shard";
}

TEST(Weights, AreTheUsualFilesOrTheOnlyOnes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(choose_weights({"model.safetensors.index.json", "model.safetensors", "x.safetensors"}).name,
            "model.safetensors");
  EXPECT_EQ(choose_weights({"model-00001-of-00002.safetensors", "model.safetensors.index.json"}).name,
            "model.safetensors.index.json");
  EXPECT_EQ(choose_weights({"config.json", "model.fp16.safetensors"}).name, "model.fp16.safetensors");
  EXPECT_EQ(choose_weights({"model.fp16-00001-of-00002.safetensors", "model.fp16.safetensors.index.json"}).name,
            "model.fp16.safetensors.index.json");
  EXPECT_EQ(choose_weights({"2_Dense/model.safetensors", "weights.safetensors"}).name, "weights.safetensors");
  for (const Names& names : {Names{"a.safetensors", "b.safetensors"}, Names{"unet/diffusion.safetensors"},
                             Names{"model-00001-of-00002.safetensors"}}) {
    EXPECT_EQ(choose_weights(names).name, "");
    EXPECT_EQ(choose_weights(names).found, names);
  }
  EXPECT_THAT(choose_weights({"config.json", "pytorch_model.bin"}).found, testing::IsEmpty());
}

TEST_F(Cache, FindsSafetensorsOfAnotherName) {
  ASSERT_TRUE(write_file_atomically(model_ / "refs/main", "c0ffee"));
  write("config.json", "{}");
  write("model.fp16.safetensors", "x");
  EXPECT_EQ(find_cached(settings_, "org/name")->weights, model_ / "snapshots/c0ffee/model.fp16.safetensors");
  write("other.safetensors", "x");
  EXPECT_FALSE(find_cached(settings_, "org/name")->weights);
}

// Another program may have fetched one file of several.
TEST_F(Cache, OnlyWeightsOfAUsualNameAreUsedWithoutTheHubsList) {
  settings_.endpoint = "http://127.0.0.1:1";
  ASSERT_TRUE(write_file_atomically(model_ / "refs/main", "c0ffee"));
  write("config.json", "{}");
  write("model.fp16.safetensors", "x");
  Hub hub(settings_);
  const auto without_list = hub.get("org/name");
  EXPECT_TRUE(hub.off()) << "the hub was asked, and could not be reached";
  ASSERT_TRUE(without_list) << to_string(without_list.error());
  EXPECT_EQ(without_list->weights, model_ / "snapshots/c0ffee/model.fp16.safetensors");
  EXPECT_FALSE(without_list->weights_unknown);
  EXPECT_FALSE(without_list->weights_confirmed);
  EXPECT_THAT(without_list->why_not_confirmed, testing::HasSubstr("cannot be reached"));

  write("model.safetensors", "x");
  Hub other(settings_);
  EXPECT_EQ(other.get("org/name")->weights, model_ / "snapshots/c0ffee/model.safetensors");
  EXPECT_FALSE(other.off()) << "not asked";
}

TEST_F(Cache, WeightsThatAnEarlierListNamedNeedNoHub) {
  settings_.endpoint = "http://127.0.0.1:1";
  ASSERT_TRUE(write_file_atomically(model_ / "refs/main", "c0ffee"));
  write("config.json", "{}");
  write("model.fp16.safetensors", "x");
  ASSERT_TRUE(keep_choice(model_, "c0ffee", "model.fp16.safetensors"));
  Hub hub(settings_);
  auto snapshot = hub.get("org/name");
  EXPECT_FALSE(hub.off()) << "not asked";
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(snapshot->weights_confirmed);
  EXPECT_EQ(snapshot->weights, model_ / "snapshots/c0ffee/model.fp16.safetensors");
  write("other.safetensors", "x");
  EXPECT_EQ(Hub(settings_).get("org/name")->weights, snapshot->weights) << "two files, and the list named one of them";

  fs::remove(model_ / "blobs/blob-of-model.fp16.safetensors");
  snapshot = Hub(settings_).get("org/name");
  ASSERT_TRUE(snapshot);
  EXPECT_FALSE(snapshot->weights) << "the other file is not what the list named";
  EXPECT_TRUE(snapshot->weights_unknown);
}

TEST_F(Cache, AKeptChoiceIsOfOneRevisionAndAFileOfTheSnapshot) {
  ASSERT_TRUE(write_file_atomically(model_ / "refs/main", "c0ffee"));
  write("config.json", "{}");
  write("model.fp16.safetensors", "x");
  ASSERT_TRUE(keep_choice(model_, "0ther", "model.fp16.safetensors"));
  EXPECT_FALSE(find_cached(settings_, "org/name")->weights_confirmed);
  for (const char* name : {"../../blobs/x.safetensors", "config.json", ""}) {
    ASSERT_TRUE(keep_choice(model_, "c0ffee", name));
    EXPECT_FALSE(find_cached(settings_, "org/name")->weights_confirmed) << name;
  }
  ASSERT_TRUE(keep_choice(model_, "c0ffee", "model.fp16.safetensors"));
  EXPECT_TRUE(find_cached(settings_, "org/name")->weights_confirmed);
}

TEST_F(Cache, RefusesShardsOutsideTheFolder) {
  for (const char* name : {R"("../x.safetensors")", R"("/etc/x.safetensors")", R"("x.bin")", "7", R"("")"}) {
    const fs::path index = folder_.path() / "index.json";
    ASSERT_TRUE(write_file_atomically(index, std::string(R"({"weight_map": {"t": )") + name + "}}"));
    EXPECT_FALSE(shards_of(index)) << name;
  }
}

TEST_F(Cache, DoesNotFollowAReferenceOutOfIt) {
  ASSERT_TRUE(write_file_atomically(model_ / "refs/main", "../../.."));
  EXPECT_FALSE(find_cached(settings_, "org/name"));
}

TEST(Offline, SaysSoAndAsksNobody) {
  const TemporaryDirectory folder = *TemporaryDirectory::create();
  Hub hub({.endpoint = "http://127.0.0.1:1", .token = "", .cache = folder.path(), .offline = true});
  const auto got = hub.get("org/name");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(got.error().message, testing::HasSubstr("HF_HUB_OFFLINE"));
}

}  // namespace
}  // namespace assay::hub
