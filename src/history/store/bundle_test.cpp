// SPDX-License-Identifier: Apache-2.0
#include "history/store/bundle.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "core/base/descriptor.hpp"
#include "core/base/files.hpp"
#include "history/store/child_for_test.hpp"
#include "history/store/fake_bundles.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BundleTest : public ::testing::Test {
 protected:
  const TemporaryDirectory folder_ = *TemporaryDirectory::create();
  const fs::path spool_ = folder_.path() / "db.spool";
  const Samples samples_ = testing::fake_samples(50);
  const Record record_ = testing::fake_record("m", samples_);

  [[nodiscard]] Error read_error(const fs::path& bundle) const {
    const auto read = read_bundle(bundle);
    EXPECT_FALSE(read);
    return read ? Error{} : read.error();
  }
};

TEST_F(BundleTest, GivesBackWhatWasWritten) {
  const fs::path folder = testing::write_fake_bundle(spool_, record_, samples_);
  EXPECT_EQ(folder, spool_ / record_.task_key / record_.attempt_id);
  EXPECT_THAT(*list_bundles(spool_), ElementsAre(folder));
  const auto bundle = read_bundle(folder);
  ASSERT_TRUE(bundle) << to_string(bundle.error());
  EXPECT_EQ(to_json(bundle->record), to_json(record_));
  EXPECT_EQ(bundle->context.command, "assay run --models-set small");
  EXPECT_EQ(bundle->context.started, "2026-03-02T12:30:00.000000Z");
  EXPECT_EQ(bundle->context.environment, testing::fake_context().environment);
  EXPECT_EQ(bundle->context.hardware, testing::fake_context().hardware);
  EXPECT_EQ(bundle->attempt_environment, Json({{"steal", 0}}));
  EXPECT_EQ(bundle->outputs, Json({{"logits", "abc"}}));
  EXPECT_TRUE(bundle->has_samples);
  EXPECT_THAT(bundle->sha256, SizeIs(64));
}

TEST_F(BundleTest, TheManifestHasEveryHashedFieldInClear) {
  const fs::path folder = testing::write_fake_bundle(spool_, record_, samples_);
  const auto manifest = read_json(folder / "manifest.json");
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->at("schema_version"), kBundleSchemaVersion);
  std::string text;
  for (const Json& name : manifest->at("task_key_fields"))
    text += name.get<std::string>() + "=" + manifest->at("record").at(name.get<std::string>()).dump() + "\n";
  EXPECT_EQ(sha256_hex(text), record_.task_key);
}

TEST_F(BundleTest, DoneIsWhatSha256sumChecks) {
  const fs::path folder = testing::write_fake_bundle(spool_, record_, samples_);
  EXPECT_EQ(std::system(("cd '" + folder.string() + "' && sha256sum --status -c DONE").c_str()), 0);
}

TEST_F(BundleTest, TornAtAnyFileItIsRefusedWithThatFilesName) {
  const fs::path whole = testing::write_fake_bundle(spool_, record_, samples_);
  for (const char* name : {"manifest.json", "environment.json", "samples.bin", "outputs.json"}) {
    const fs::path copy = folder_.path() / "copy";
    fs::remove_all(copy);
    fs::copy(whole, copy);
    const std::string content = *read_file(whole / name);
    std::ofstream(copy / name, std::ios::binary) << content.substr(0, content.size() / 2);
    EXPECT_EQ(read_error(copy).code, ErrorCode::kMismatch);
    EXPECT_THAT(read_error(copy).message, HasSubstr(name));
    fs::remove(copy / name);
    EXPECT_EQ(read_error(copy).code, ErrorCode::kMismatch);
    EXPECT_THAT(read_error(copy).message, HasSubstr(std::string("'") + name + "' is missing"));
  }
}

TEST_F(BundleTest, WithoutItsListOrWithAWrongOneItIsNone) {
  const fs::path folder = testing::write_fake_bundle(spool_, record_, samples_);
  for (const char* list :
       {"", "nonsense\n", "0000000000000000000000000000000000000000000000000000000000000000  ../x\n"}) {
    std::ofstream(folder / "DONE") << list;
    EXPECT_EQ(read_error(folder).code, ErrorCode::kMismatch) << list;
  }
  fs::remove(folder / "DONE");
  EXPECT_EQ(read_error(folder).code, ErrorCode::kNotFound);
}

// Replaces the manifest, and the hashes to match.
void rewrite_manifest(const fs::path& folder, const Json& manifest) {
  std::ofstream(folder / "manifest.json") << manifest.dump();
  std::string done;
  for (const char* name : {"environment.json", "manifest.json"})
    done += *sha256_file(folder / name) + "  " + name + "\n";
  std::ofstream(folder / "DONE") << done;
}

TEST_F(BundleTest, ANewerSchemaIsRefusedAsSuch) {
  const fs::path folder = testing::write_fake_bundle(spool_, record_, samples_);
  Json manifest = *read_json(folder / "manifest.json");
  manifest["schema_version"] = kBundleSchemaVersion + 1;
  rewrite_manifest(folder, manifest);
  EXPECT_EQ(read_error(folder).code, ErrorCode::kUnsupported);
  EXPECT_THAT(read_error(folder).message, HasSubstr("schema version 2"));
}

TEST_F(BundleTest, AKeyOfAFieldThatThisAssayDoesNotKnowIsRefused) {
  const fs::path folder = testing::write_fake_bundle(spool_, record_, samples_);
  Json newer = *read_json(folder / "manifest.json");
  newer["record"]["newer_field"] = 7;
  for (const std::string key : {"task_key", "series_key"}) {
    Json manifest = newer;
    Json& record = manifest["record"];
    manifest[key + "_fields"].push_back("newer_field");
    std::string text;
    for (const Json& name : manifest[key + "_fields"])
      text += name.get<std::string>() + "=" + record.at(name.get<std::string>()).dump() + "\n";
    record[key] = sha256_hex(text);
    rewrite_manifest(folder, manifest);
    EXPECT_EQ(read_error(folder).code, ErrorCode::kUnsupported);
    EXPECT_THAT(read_error(folder).message, HasSubstr("'newer_field'"));
  }
  rewrite_manifest(folder, newer);
  EXPECT_TRUE(read_bundle(folder)) << "a new field that no key hashes is ignored";
}

TEST_F(BundleTest, ANewerVersionOfTheKeysIsRefused) {
  const fs::path folder = testing::write_fake_bundle(spool_, record_, samples_);
  Json manifest = *read_json(folder / "manifest.json");
  manifest["key_version"] = kKeyVersion + 1;
  rewrite_manifest(folder, manifest);
  EXPECT_EQ(read_error(folder).code, ErrorCode::kUnsupported);
  EXPECT_THAT(read_error(folder).message, HasSubstr("keys of version"));
}

TEST_F(BundleTest, WhatIsBeingWrittenIsNoBundleYetAndIsLeftAlone) {
  const auto writer = BundleWriter::begin(spool_, record_, testing::fake_context());
  ASSERT_TRUE(writer);
  EXPECT_THAT(*list_bundles(spool_), IsEmpty());
  EXPECT_EQ(*seal_abandoned(spool_), 0U);
  EXPECT_TRUE(fs::exists(writer->folder()));
}

TEST_F(BundleTest, AWriterCanBeginWhileOtherProcessesLookForAbandonedBundles) {
  constexpr int kAttempts = 100;
  std::atomic<int> attempt = 0;
  std::thread sealing([&] {
    while (attempt < kAttempts) EXPECT_EQ(*seal_abandoned(spool_), 0U);
  });
  std::thread locking([&] {
    while (attempt < kAttempts) {
      const fs::path folder = spool_ / record_.task_key / (".tmp-" + std::to_string(attempt));
      const Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (lock.get() >= 0) ::flock(lock.get(), LOCK_EX | LOCK_NB);
    }
  });
  for (; attempt < kAttempts; ++attempt) {
    Record record = record_;
    record.attempt_id = std::to_string(attempt);
    auto writer = BundleWriter::begin(spool_, record, testing::fake_context());
    EXPECT_TRUE(writer) << to_string(writer.error());
    if (writer) writer->discard();
  }
  sealing.join();
  locking.join();
}

TEST_F(BundleTest, TheEmptyFolderOfAWriterThatWasKilledIsRemovedAndOneWithoutAResultIsSetAside) {
  const fs::path task = spool_ / "task", remains = spool_ / ".remains" / "task";
  fs::create_directories(task / ".tmp-empty");
  const auto write = [](const fs::path& folder, std::initializer_list<std::pair<const char*, const char*>> files) {
    fs::create_directories(folder);
    for (const auto& [name, text] : files) std::ofstream(folder / name) << text;
  };
  write(task / ".tmp-early", {{"environment.json", "{}"}});
  write(task / ".tmp-torn", {{"environment.json", "{}"}, {"manifest.json", ""}});
  write(task / ".tmp-older", {{"manifest.json", "{}"}});
  EXPECT_EQ(*seal_abandoned(spool_), 0U);
  EXPECT_TRUE(fs::is_empty(task));
  for (const char* name : {"early/environment.json", "torn/manifest.json", "older/manifest.json"})
    EXPECT_TRUE(fs::exists(remains / name)) << name << " is kept";
  write(task / ".tmp-early", {{"environment.json", "{}"}});
  EXPECT_EQ(*seal_abandoned(spool_), 0U);
  EXPECT_TRUE(fs::exists(remains / "early-2")) << "beside that of the same name";
  EXPECT_THAT(*list_bundles(spool_), IsEmpty());
}

TEST_F(BundleTest, OneThatDoesNotNameItsEnvironmentIsDamaged) {
  const fs::path folder = testing::write_fake_bundle(spool_, record_, samples_);
  fs::remove(folder / "environment.json");
  EXPECT_THAT(read_error(folder).message, HasSubstr("'environment.json' is missing"));
  std::ofstream(folder / "DONE") << *sha256_file(folder / "manifest.json") + "  manifest.json\n";
  EXPECT_EQ(read_error(folder).code, ErrorCode::kMismatch);
  EXPECT_THAT(read_error(folder).message, HasSubstr("DONE does not name its manifest and environment"));
}

TEST_F(BundleTest, AWriterThatGoesKeepsWhatTheWorkerWrote) {
  {
    auto writer = BundleWriter::begin(spool_, record_, testing::fake_context());
    ASSERT_TRUE(writer);
    ASSERT_TRUE(SamplesWriter::create(writer->samples_path())->append(samples_));
  }
  const auto bundle = read_bundle(spool_ / record_.task_key / record_.attempt_id);
  ASSERT_TRUE(bundle) << to_string(bundle.error());
  EXPECT_EQ(bundle->record.status, CellStatus::kFailed);
  EXPECT_EQ(bundle->record.reason_code, Reason::kCancelled);
  EXPECT_TRUE(bundle->record.flags.has(Flag::kPartial));
  EXPECT_EQ(read_samples(bundle->folder / "samples.bin")->samples.duration_ns, samples_.duration_ns);
}

TEST_F(BundleTest, DiscardLeavesNothing) {
  auto writer = BundleWriter::begin(spool_, record_, testing::fake_context());
  ASSERT_TRUE(writer);
  writer->discard();
  EXPECT_TRUE(fs::is_empty(spool_ / record_.task_key));
}

TEST_F(BundleTest, RefusesKeysThatCannotNameFolders) {
  for (const char* key : {"", "../x", ".hidden", "a/b"}) {
    Record record = record_;
    record.task_key = key;
    EXPECT_EQ(BundleWriter::begin(spool_, record, {}).error().code, ErrorCode::kInvalidArgument) << key;
  }
  EXPECT_FALSE(fs::exists(spool_));
  auto writer = BundleWriter::begin(spool_, record_, {});
  Record other = record_;
  other.attempt_id = "another";
  EXPECT_EQ(writer->finish(other, {}, {}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(BundleTest, KilledInMidAttemptItIsSealedByTheNextRun) {
  const int status = testing::in_child([&] {
    auto writer = BundleWriter::begin(spool_, record_, testing::fake_context());
    auto file = SamplesWriter::create(writer->samples_path());
    if (!file->append(samples_)) ::_exit(1);
    ::raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(*list_bundles(spool_), IsEmpty());
  EXPECT_EQ(*seal_abandoned(spool_), 1U);
  EXPECT_EQ(*seal_abandoned(spool_), 0U);
  const auto bundles = list_bundles(spool_);
  ASSERT_THAT(*bundles, SizeIs(1));
  const auto bundle = read_bundle(bundles->front());
  ASSERT_TRUE(bundle);
  EXPECT_TRUE(bundle->record.flags.has(Flag::kPartial));
  EXPECT_EQ(read_samples(bundle->folder / "samples.bin")->samples.size(), samples_.size());
}

// A full disk, wherever it strikes: no file may grow beyond `limit` bytes.
TEST_F(BundleTest, AFullDiskLeavesNoBundleAndSaysSo) {
  Record large = record_;
  large.message = std::string(100'000, 'x');
  int refused = 0;
  for (const rlim_t limit : {rlim_t{0}, rlim_t{100}, rlim_t{5'000}, rlim_t{20'000}, rlim_t{10'000'000}}) {
    const int status = testing::in_child([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      const struct rlimit bound {
        limit, limit
      };
      ::setrlimit(RLIMIT_FSIZE, &bound);
      auto writer = BundleWriter::begin(spool_, record_, testing::fake_context());
      if (!writer) ::_exit(writer.error().code == ErrorCode::kInternal ? 10 : 1);
      const auto folder = writer->finish(large, Json::object(), Json());
      ::_exit(folder ? 0 : folder.error().code == ErrorCode::kInternal ? 11 : 1);
    });
    ASSERT_TRUE(WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    ASSERT_THAT((std::vector{0, 10, 11}), Contains(code));
    refused += code != 0 ? 1 : 0;
    EXPECT_THAT(*list_bundles(spool_), SizeIs(code == 0 ? 1 : 0)) << limit;
    if (code == 0) {
      EXPECT_TRUE(read_bundle(list_bundles(spool_)->front()));
    }
    fs::remove_all(spool_);
  }
  EXPECT_EQ(refused, 4);
}

}  // namespace
}  // namespace assay
