// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "history/exchange/results_file.hpp"

/// Inside the module: one reader for each format, and what they share.
namespace assay::exchange {

/// A file's content.
struct Source {
  std::filesystem::path path;
  std::string text;
  Json json;  ///< null if the file is not JSON
};

[[nodiscard]] Result<ResultsFile> read_assay(const Source& source);
[[nodiscard]] Result<ResultsFile> read_csv(const Source& source);
[[nodiscard]] Result<ResultsFile> read_google_benchmark(const Source& source);
[[nodiscard]] Result<ResultsFile> read_benchmark_app(const Source& source);
[[nodiscard]] Result<ResultsFile> read_llama_bench(const Source& source);
[[nodiscard]] Result<ResultsFile> read_optimum_benchmark(const Source& source);

/// A member of an object; nullptr if it is absent, null, or `object` is not an object.
[[nodiscard]] const Json* member(const Json& object, std::string_view key);
/// The member that a list of keys leads to.
[[nodiscard]] const Json* member(const Json& object, std::initializer_list<std::string_view> keys);
/// Text as it is, other values as JSON; "" if it is absent.
[[nodiscard]] std::string text_at(const Json& object, std::string_view key);
/// A number, or a text that is one; absent otherwise. It may be infinite or not a number: check_values() says so.
[[nodiscard]] Number number_at(const Json& object, std::string_view key);
[[nodiscard]] Count count_at(const Json& object, std::string_view key);
/// The numbers of a list; others are left out.
[[nodiscard]] std::vector<double> numbers_at(const Json& object, std::string_view key);

/// invalid_argument: "'FILE': WHAT".
[[nodiscard]] tl::unexpected<Error> bad_file(const Source& source, std::string_view what);

/// "20250302_123456" and "2025-03-02T14:34:56+02:00" as "2025-03-02T12:34:56.000000Z"; without a zone it is UTC. Other
/// texts are unchanged.
[[nodiscard]] std::string iso_time(std::string_view text);

/// Refuses a file with a number that its column cannot have: not finite, negative, or a latency of 0.
/// Errors: invalid_argument, naming the first such row, its column, its value and what is valid.
[[nodiscard]] Status check_values(const Source& source, const ResultsFile& file);

/// A text of a hash as a UUID.
[[nodiscard]] std::string uuid_from(std::string_view name);

/// The id of an attempt that a file does not name, from the hash of the file and the number of the row.
[[nodiscard]] std::string uuid_of_row(std::string_view sha256, std::size_t row);

/// A row of another tool: completed, unverified, of a model that is known by its name only.
[[nodiscard]] Record foreign_row(std::string model);

/// The duration of a sample that has none.
inline constexpr std::int64_t kNoDuration = INT64_MIN;
/// Adds a timed interval of `seconds`, one after the other; one that is too long or not a number has kNoDuration.
void add_sample(Samples& samples, SampleKind kind, double seconds);

}  // namespace assay::exchange
