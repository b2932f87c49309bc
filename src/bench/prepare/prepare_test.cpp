// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <string>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

class Prepare : public ::testing::Test {
 protected:
  Prepare() {
    with_.cache = folder_.path() / "models";
    with_.inputs = folder_.path() / "inputs";
    with_.hub = &hub_;
    with_.registry = &registry_;
    with_.engines = {"null"};
  }

  [[nodiscard]] Result<PreparedModel> prepare(const std::string& name = "prajjwal1/bert-tiny") {
    ModelChoice choice;
    choice.name = choice.reference = name;
    return prepare_model(choice, settings_, with_);
  }
  [[nodiscard]] std::uintmax_t bytes_on_disk() const {
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(with_.cache)) {
      struct stat status {};
      if (::stat(entry.path().c_str(), &status) == 0) bytes += static_cast<std::uintmax_t>(status.st_blocks) * 512;
    }
    return bytes;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  hub::Hub hub_{[this] {
    hub::Settings settings;
    settings.cache = folder_.path() / "hub";
    settings.offline = true;
    return settings;
  }()};
  EngineRegistry registry_{EngineRegistry::Places{}};
  RunSettings settings_;
  Preparing with_;
};

TEST_F(Prepare, LeavesTheUsersOwnFilesInTheCacheHoweverOld) {
  const auto year_ago = fs::file_time_type::clock::now() - std::chrono::hours(24 * 365);
  const fs::path own = with_.cache / "my fine-tuned model";
  ASSERT_TRUE(write_file_atomically(own / "model.onnx", "mine"));
  fs::last_write_time(own, year_ago);
  ASSERT_TRUE(write_file_atomically(folder_.path() / "elsewhere" / "thesis.txt", "mine"));
  fs::last_write_time(folder_.path() / "elsewhere", year_ago);
  fs::create_directory_symlink(folder_.path() / "elsewhere", with_.cache / "link");

  const Result<PreparedModel> model = prepare();
  ASSERT_TRUE(model) << to_string(model.error());
  ArtefactStore store({&registry_, with_.cache});
  ASSERT_TRUE(store.make(model->artefact, "bert"));
  EXPECT_TRUE(fs::exists(own / "model.onnx"));
  EXPECT_TRUE(fs::is_symlink(with_.cache / "link"));
  EXPECT_TRUE(fs::exists(folder_.path() / "elsewhere" / "thesis.txt"));
}

TEST_F(Prepare, WritesNoWeightsAndLeavesNothing) {
  {
    const Result<PreparedModel> model = prepare();
    ASSERT_TRUE(model) << to_string(model.error());
    EXPECT_EQ(model->identity.weights_hash.substr(0, 7), "seeded:");
    EXPECT_FALSE(model->identity.graph_hash.empty());
    EXPECT_LT(bytes_on_disk(), 1'000'000U) << "17 MB of weights are made when they are needed";
  }
  EXPECT_TRUE(fs::is_empty(with_.cache));
}

TEST_F(Prepare, TheGraphIsThatOfTheArtefact) {
  for (const char* name : {"prajjwal1/bert-tiny", "google/t5-efficient-tiny"}) {
    const Result<PreparedModel> model = prepare(name);
    ASSERT_TRUE(model) << to_string(model.error());
    ArtefactStore store({&registry_, with_.cache});
    const Result<Artefact> made = store.make(model->artefact, name);
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_EQ(inspect_graph(made->model)->graph_hash, model->info->graph_hash) << name;
    EXPECT_EQ(made->step_model.empty(), !model->generation || !model->generation->step) << name;
    if (!made->step_model.empty()) {
      EXPECT_EQ(inspect_graph(made->step_model)->graph_hash, model->generation->step_info.graph_hash);
    }
  }
}

TEST_F(Prepare, WhatNothingRunsIsNamedAndNotLookedInto) {
  with_.engines.clear();
  const Result<PreparedModel> model = prepare("meta-llama/Llama-2-7b-hf");
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->identity.model_id, "meta-llama/Llama-2-7b-hf");
  EXPECT_EQ(model->identity.architecture, "llama");
  EXPECT_EQ(model->identity.family, "text_generation");
  EXPECT_FALSE(model->refusal) << "its memory is not checked either";
  EXPECT_FALSE(model->info);
  EXPECT_FALSE(fs::exists(with_.cache));
}

TEST_F(Prepare, AModelsWeightsAreTheFileThatItsEngineSaysAndNoOther) {
  const fs::path engine = folder_.path() / "engines" / "toy";
  ASSERT_TRUE(write_file_atomically(engine / "engine.json",
                                    R"({"name": "toy", "hardware": ["cpu"], "formats": ["alone", "pair"],
                                        "companions": {"pair": "weights"}})"));
  ASSERT_TRUE(write_file_atomically(engine / "assay_engine_toy.so", ""));
  EngineRegistry::Places places;
  places.engine_folders = {engine};
  const EngineRegistry registry(std::move(places));
  with_.registry = &registry;
  for (const char* file : {"m.alone", "m.pair", "m.weights", "m.bin"})
    ASSERT_TRUE(write_file_atomically(folder_.path() / file, file));
  ASSERT_TRUE(write_file_atomically(folder_.path() / "m.xml", "<net name=\"m\">"));
  const auto weights_hash = [&](const char* file) {
    const Result<PreparedModel> model = prepare(folder_.path() / file);
    EXPECT_TRUE(model) << to_string(model.error());
    EXPECT_FALSE(model->identity.graph_hash.empty()) << file;
    EXPECT_EQ(model->format, fs::path(file).extension().string().substr(1));
    return model->identity.weights_hash;
  };
  EXPECT_EQ(weights_hash("m.alone"), "") << "m.bin is another model's";
  EXPECT_EQ(weights_hash("m.pair"), sha256_hex("m.weights"));
  EXPECT_EQ(weights_hash("m.xml"), sha256_hex("m.bin"));
}

TEST_F(Prepare, EndsWhenTheUserWants) {
  with_.cancelled = [] { return true; };
  EXPECT_EQ(prepare().error().code, ErrorCode::kCancelled);
}

TEST_F(Prepare, AnUnknownNameIsTheUsersMistake) {
  EXPECT_EQ(prepare("bert-huge").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace assay
