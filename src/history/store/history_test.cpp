// SPDX-License-Identifier: Apache-2.0
// What assay left on the disk stays readable: testdata/fixture has bundles and the database that was made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "core/base/hash.hpp"
#include "core/result/keys.hpp"
#include "history/store/dataset.hpp"
#include "history/store/store_for_test.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HistoryTest : public StoredHistoryTest {
 protected:
  /// Replaces the manifest of a bundle, and its hash in DONE.
  static void write_manifest(const fs::path& bundle, const Json& manifest) {
    std::ofstream(bundle / "manifest.json") << manifest.dump(2) << "\n";
    std::string done = *read_file(bundle / "DONE");
    done.replace(done.find("  manifest.json") - 64, 64, *sha256_file(bundle / "manifest.json"));
    std::ofstream(bundle / "DONE") << done;
  }
  [[nodiscard]] std::map<std::string, std::string> files_of_spool() const {
    std::map<std::string, std::string> hashes;
    for (const auto& entry : fs::recursive_directory_iterator(spool_))
      if (entry.is_regular_file()) hashes[entry.path()] = *sha256_file(entry.path());
    return hashes;
  }
  /// Ingests the spool into a new database.
  [[nodiscard]] IngestReport ingest_all() const {
    fs::remove(path_);
    const auto report = open().ingest(spool_);
    EXPECT_TRUE(report) << to_string(report.error());
    return *report;
  }
};

TEST_F(HistoryTest, AStoredDatabaseAgreesWithItsBundles) {
  Store store = open();
  EXPECT_THAT(*store.verify(spool_), IsEmpty());
  EXPECT_THAT(*store.launches(), SizeIs(kLaunches));
  const auto rows = store.results();
  ASSERT_THAT(*rows, SizeIs(kCells));
  for (const Record& row : *rows) {
    EXPECT_EQ(row.task_key, task_key(row));
    EXPECT_EQ(row.series_key, series_key(row));
  }
  EXPECT_EQ(store.summary()->samples, kSamples);
  const auto data = read_dataset(store);
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_THAT(data->cells, SizeIs(kCells));
  std::map<SampleKind, std::int64_t> kinds;
  for (const SampleDistribution& distribution : data->distributions) kinds[distribution.kind] += distribution.samples;
  EXPECT_EQ(kinds[SampleKind::kRun] + kinds[SampleKind::kFirstToken] + kinds[SampleKind::kToken], kSamples);
  EXPECT_GT(kinds[SampleKind::kToken], 0);
  EXPECT_EQ(store.ingest(spool_)->known, kLaunches) << "nothing is new";
}

TEST_F(HistoryTest, RebuildingGivesTheSame) {
  static_cast<void>(open());  // brings it to the newest schema
  const std::string stored = dump();
  const auto rebuilt = Store::rebuild(path_, spool_);
  ASSERT_TRUE(rebuilt) << to_string(rebuilt.error());
  EXPECT_THAT(rebuilt->ingested.refused, IsEmpty());
  EXPECT_FALSE(rebuilt->kept) << "the new one has everything";
  EXPECT_EQ(dump(), stored);
}

TEST_F(HistoryTest, IngestingDoesNotChangeBundles) {
  const auto before = files_of_spool();
  EXPECT_EQ(ingest_all().bundles, kLaunches);
  EXPECT_EQ(files_of_spool(), before);
}

TEST_F(HistoryTest, BundlesWithKeysOfADevelopmentVersionAreRefusedByName) {
  const std::vector<fs::path> bundles = *list_bundles(spool_);
  for (const std::size_t i : {0, 1}) {
    Json manifest = *read_json(bundles[i] / "manifest.json");
    if (i == 0)
      manifest["key_version"] = 2;
    else
      manifest.erase("key_version");  // version 1
    write_manifest(bundles[i], manifest);
  }
  const IngestReport report = ingest_all();
  EXPECT_EQ(report.bundles, kLaunches - 2);
  ASSERT_THAT(report.refused, SizeIs(2));
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(report.refused[i].code, ErrorCode::kUnsupported);
    EXPECT_THAT(report.refused[i].message,
                HasSubstr("was written by a development version of assay before its first release"));
    EXPECT_THAT(report.refused[i].hint, HasSubstr("can be measured again"));
  }
  const std::string messages = report.refused[0].message + report.refused[1].message;
  EXPECT_THAT(messages, AllOf(HasSubstr("'" + bundles[0].string() + "' has keys of version 2"),
                              HasSubstr("'" + bundles[1].string() + "' has no version of its keys")));
  EXPECT_THAT(*open().launches(), SizeIs(kLaunches - 2));
}

TEST_F(HistoryTest, AKeyThatIsNotThatOfItsFieldsIsRefused) {
  const fs::path bundle = list_bundles(spool_)->front();
  Json manifest = *read_json(bundle / "manifest.json");
  manifest["record"]["batch_size"] = 77;
  write_manifest(bundle, manifest);
  const IngestReport report = ingest_all();
  EXPECT_EQ(report.bundles, kLaunches - 1);
  ASSERT_THAT(report.refused, SizeIs(1));
  EXPECT_EQ(report.refused[0].code, ErrorCode::kMismatch);
  EXPECT_THAT(report.refused[0].message, HasSubstr("its task_key is not that of the fields"));
}

}  // namespace
}  // namespace assay
