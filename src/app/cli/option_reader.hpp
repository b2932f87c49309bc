// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "bench/settings/settings.hpp"
#include "core/base/words.hpp"
#include "models/inputs/given_shapes.hpp"

namespace assay::cli {

/// How the arguments of an option become a value, and how help shows that value. The column `reader` of
/// bench/settings/settings.def names one of the functions below. Numbers are checked here and not by the parser, which
/// would replace those that are too large by the largest.
template <class T>
struct Reader {
  enum class Words { kNone, kOne, kMany, kEach };  ///< kEach: one, and the option may be repeated

  std::string value;  ///< name of the value in the help: "N[,N…]"
  Words words = Words::kOne;
  bool commas = true;  ///< kMany: commas separate words, too
  /// Errors: invalid_argument, naming the option, the word and what is valid.
  std::function<Status(const std::string& option, const std::vector<std::string>& words, T& target)> read;
  /// A default, for help; "" shows none.
  std::function<std::string(const T&)> show;
};

constexpr std::int64_t kMostExtent = 1 << 24;
constexpr std::int64_t kMostOutputTokens = 8192;  ///< each is a sample; a burst has space for the samples of one run
constexpr std::int64_t kMostLaunches = 100;
constexpr std::int64_t kMostRuns = 10'000'000;  ///< each is a stored sample: 170 MB, times the tokens of each run

/// A list of integers, which becomes sorted and without duplicates. `zero`: how help shows a default of 0.
[[nodiscard]] Reader<std::vector<std::int64_t>> integers(std::int64_t least, std::int64_t most, std::string zero = "");
/// One integer. `absent`: how help shows the default, if it is not a number.
[[nodiscard]] Reader<std::optional<std::int64_t>> count(std::int64_t least, std::int64_t most, std::string absent);
/// One integer.
[[nodiscard]] Reader<std::int64_t> integer(std::int64_t least, std::int64_t most);
[[nodiscard]] Reader<std::uint64_t> seed_number();
/// More than 0 and at most 1.
[[nodiscard]] Reader<double> fraction();
[[nodiscard]] Reader<std::chrono::nanoseconds> seconds();
/// Seconds. `absent`: how help shows that there is no default.
[[nodiscard]] Reader<std::optional<std::chrono::nanoseconds>> optional_seconds(std::string absent);
/// Hours, minutes and seconds: 1h30m, 5m, 90s; a number alone is seconds. `absent`: as above.
[[nodiscard]] Reader<std::optional<std::chrono::nanoseconds>> duration(std::string absent);
[[nodiscard]] Reader<std::optional<std::uint64_t>> megabytes(std::string absent);
/// One of these words.
[[nodiscard]] Reader<std::string> word(std::vector<std::string> valid);
/// One of these precisions, or another usual name of one (core/result/precision_words.hpp).
[[nodiscard]] Reader<std::string> precision_word(std::vector<std::string> valid);
/// The word of an enumerator (core/base/words.hpp).
template <HasWords Enum>
[[nodiscard]] Reader<Enum> word_of() {
  const auto& all = WordsOf<Enum>::kAll;
  const Reader<std::string> words = word({all.begin(), all.end()});
  Reader<Enum> reader;
  reader.value = words.value;
  reader.read = [words](const std::string& option, const std::vector<std::string>& given, Enum& target) -> Status {
    std::string text;
    ASSAY_CHECK_OK(words.read(option, given, text));
    target = from_word<Enum>(text).value_or(target);
    return {};
  };
  reader.show = [](Enum value) { return std::string(to_string(value)); };
  return reader;
}
/// A size in which an architecture of the zoo is published.
[[nodiscard]] Reader<std::string> size_word();
[[nodiscard]] Reader<std::filesystem::path> existing_path(std::string value, std::string absent);
/// KEY=VALUE, any number of times. A key with two different values is an error.
[[nodiscard]] Reader<OptionPairs> pairs();
/// NAME:EXTENTS[:DTYPE] and SYMBOL=N (models/inputs/given_shapes.hpp).
[[nodiscard]] Reader<std::vector<GivenShape>> given_shapes();
[[nodiscard]] Reader<std::vector<GivenExtent>> given_extents();
/// An option without a value; help shows `on` for true and `off` for false.
[[nodiscard]] Reader<bool> on_off(std::string on, std::string off);

/// The value of an option that expects one integer. Errors: invalid_argument, naming option, text and what is valid.
[[nodiscard]] Result<std::int64_t> integer_option(const std::string& option, const std::string& text,
                                                  std::int64_t least, std::int64_t most);

}  // namespace assay::cli
