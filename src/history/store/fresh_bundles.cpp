// SPDX-License-Identifier: Apache-2.0
#include "history/store/fresh_bundles.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "history/store/bundle.hpp"
#include "history/store/read_ahead.hpp"

namespace assay::duckdb {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kManifestReaders = 2;
constexpr std::size_t kWaitingManifests = 64;

/// Takes these two texts of a manifest's record, and ends then: they stand at its beginning.
class PlaceReader : public nlohmann::json_sax<Json> {
 public:
  std::string timestamp, run_id;

  bool key(std::string& name) override {
    key_ = name;
    if (depth_ == 1) in_record_ = name == "record";
    return true;
  }
  bool string(std::string& value) override {
    if (here("timestamp")) timestamp = value;
    if (here("run_id")) run_id = value;
    return timestamp.empty() || run_id.empty();
  }
  bool start_object(std::size_t) override { return ++depth_ > 0; }
  bool start_array(std::size_t) override { return ++depth_ > 0; }
  bool end_object() override { return depth_-- > 0; }
  bool end_array() override { return depth_-- > 0; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  [[nodiscard]] bool here(std::string_view name) const { return in_record_ && depth_ == 2 && key_ == name; }
  std::string key_;
  int depth_ = 0;
  bool in_record_ = false;
};

/// Only for the order; read_bundle() looks closely.
FreshBundle find_place(const fs::path& folder) {
  PlaceReader reader;
  const auto read = [&]() -> Status {
    ASSAY_TRY(const std::string text, read_file(folder / bundle_file::kManifest));
    Json::sax_parse(text, &reader);
    return {};
  };
  static_cast<void>(guarded("while reading a manifest", read));
  return {reader.timestamp, folder.filename().string(), folder, sanitise(reader.run_id)};
}

}  // namespace

std::vector<FreshBundle> in_order_of_time(const std::vector<fs::path>& folders) {
  ReadAhead<FreshBundle> ahead(folders.size(), kManifestReaders, kWaitingManifests,
                               [&](std::size_t i) { return find_place(folders[i]); });
  std::vector<FreshBundle> bundles;
  bundles.reserve(folders.size());
  for (std::size_t i = 0; i < folders.size(); ++i) bundles.push_back(ahead.next());
  std::ranges::sort(bundles);
  return bundles;
}

Result<std::vector<FreshBundle>> fresh_bundles(const fs::path& spool, const std::set<std::string>& attempts,
                                               IngestReport& report) {
  ASSAY_TRY(std::vector<fs::path> folders, list_bundles(spool, &report.refused));
  report.known +=
      std::erase_if(folders, [&](const fs::path& folder) { return attempts.contains(folder.filename().string()); });
  return in_order_of_time(folders);
}

}  // namespace assay::duckdb
