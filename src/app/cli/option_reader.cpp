// SPDX-License-Identifier: Apache-2.0
#include "app/cli/option_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "core/result/precision_words.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::cli {
namespace {

Result<double> number(const std::string& option, const std::string& text, std::string_view valid,
                      const std::function<bool(double)>& allows) {
  const auto value = parse_number<double>(text);
  if (value && allows(*value)) return *value;
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not valid; give {}", option, text, valid));
}

constexpr double kMostSeconds = 1e6;

std::chrono::nanoseconds nanoseconds_of(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
}

Result<std::chrono::nanoseconds> time_option(const std::string& option, const std::string& text) {
  ASSAY_TRY(const double given, number(option, text, "seconds, more than 0 and at most 1000000",
                                       [](double x) { return x > 0 && x <= kMostSeconds; }));
  return nanoseconds_of(given);
}

std::string seconds_text(std::chrono::nanoseconds time) {
  return fmt::format("{}", std::chrono::duration<double>(time).count());
}

// "1h30m", "5m", "90s", "90": the seconds; nullopt if it is something else. Units come in this order, each once.
std::optional<double> parse_duration(std::string_view text) {
  constexpr std::array<std::pair<char, double>, 3> kUnits{{{'h', 3600}, {'m', 60}, {'s', 1}}};
  if (const auto plain = parse_number<double>(text)) return plain;
  double total = 0;
  for (const auto& [unit, length] : kUnits) {
    const std::size_t end = text.find(unit);
    if (end == std::string_view::npos) continue;
    const auto value = parse_number<double>(text.substr(0, end));
    if (!value || !(*value >= 0)) return std::nullopt;
    total += *value * length;
    text.remove_prefix(end + 1);
    if (text.empty()) return total;
  }
  return std::nullopt;
}

std::vector<std::string> published_sizes() {
  std::set<std::string> sizes;
  for (const zoo::Architecture& architecture : zoo::architectures())
    for (const zoo::KnownModel& known : zoo::published(architecture.name)) sizes.insert(known.size);
  return {sizes.begin(), sizes.end()};
}

Status check_word(const std::string& option, const std::string& text, const std::vector<std::string>& valid) {
  if (std::ranges::find(valid, text) != valid.end()) return {};
  return unknown_word(option + ": unknown value", text, valid);
}

Status add_pair(const std::string& option, std::string key, std::string value, OptionPairs& pairs) {
  const auto given = std::ranges::find(pairs, key, &OptionPairs::value_type::first);
  if (given == pairs.end()) {
    pairs.emplace_back(std::move(key), std::move(value));
    return {};
  }
  if (given->second == value) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: '{}' is given twice, as '{}' and as '{}'", option, key, given->second, value),
              "give each key once");
}

}  // namespace

Result<std::int64_t> integer_option(const std::string& option, const std::string& text, std::int64_t least,
                                    std::int64_t most) {
  const auto value = parse_number<std::int64_t>(text);
  if (value && *value >= least && *value <= most) return *value;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: '{}' is not valid; give an integer from {} to {}", option, text, least, most));
}

Reader<std::vector<std::int64_t>> integers(std::int64_t least, std::int64_t most, std::string zero) {
  Reader<std::vector<std::int64_t>> reader;
  reader.value = "N[,N…]";
  reader.words = Reader<std::vector<std::int64_t>>::Words::kMany;
  reader.read = [=](const std::string& option, const std::vector<std::string>& words,
                    std::vector<std::int64_t>& target) -> Status {
    std::set<std::int64_t> values;
    for (const std::string& text : words) {
      const auto value = parse_number<std::int64_t>(text);
      if (!value || *value < least || *value > most)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{}: '{}' is not valid; give integers from {} to {}, such as 1 4 8 or 1,4,8", option,
                                text, least, most));
      values.insert(*value);
    }
    target.assign(values.begin(), values.end());
    return {};
  };
  reader.show = [zero = std::move(zero)](const std::vector<std::int64_t>& values) {
    const bool is_zero = values.size() == 1 && values.front() == 0 && !zero.empty();
    return is_zero ? zero : fmt::format("{}", fmt::join(values, ","));
  };
  return reader;
}

Reader<std::optional<std::int64_t>> count(std::int64_t least, std::int64_t most, std::string absent) {
  Reader<std::optional<std::int64_t>> reader;
  reader.value = "N";
  reader.read = [=](const std::string& option, const std::vector<std::string>& words,
                    std::optional<std::int64_t>& target) -> Status {
    ASSAY_TRY(target, integer_option(option, words.front(), least, most));
    return {};
  };
  reader.show = [absent = std::move(absent)](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : absent;
  };
  return reader;
}

Reader<std::int64_t> integer(std::int64_t least, std::int64_t most) {
  Reader<std::int64_t> reader;
  reader.value = "N";
  reader.read = [=](const std::string& option, const std::vector<std::string>& words, std::int64_t& target) -> Status {
    ASSAY_TRY(target, integer_option(option, words.front(), least, most));
    return {};
  };
  reader.show = [](std::int64_t value) { return std::to_string(value); };
  return reader;
}

Reader<std::uint64_t> seed_number() {
  Reader<std::uint64_t> reader;
  reader.value = "N";
  reader.read = [](const std::string& option, const std::vector<std::string>& words, std::uint64_t& target) -> Status {
    ASSAY_TRY(const std::int64_t seed, integer_option(option, words.front(), 0, INT64_MAX));
    target = static_cast<std::uint64_t>(seed);
    return {};
  };
  reader.show = [](std::uint64_t seed) { return std::to_string(seed); };
  return reader;
}

Reader<double> fraction() {
  Reader<double> reader;
  reader.value = "FRACTION";
  reader.read = [](const std::string& option, const std::vector<std::string>& words, double& target) -> Status {
    ASSAY_TRY(target, number(option, words.front(), "a fraction of the layers, more than 0 and at most 1",
                             [](double x) { return x > 0 && x <= 1; }));
    return {};
  };
  reader.show = [](double x) { return x == 1.0 ? std::string("1, all layers") : fmt::format("{}", x); };
  return reader;
}

Reader<std::chrono::nanoseconds> seconds() {
  Reader<std::chrono::nanoseconds> reader;
  reader.value = "SECONDS";
  reader.read = [](const std::string& option, const std::vector<std::string>& words,
                   std::chrono::nanoseconds& target) -> Status {
    ASSAY_TRY(target, time_option(option, words.front()));
    return {};
  };
  reader.show = seconds_text;
  return reader;
}

Reader<std::optional<std::chrono::nanoseconds>> optional_seconds(std::string absent) {
  Reader<std::optional<std::chrono::nanoseconds>> reader;
  reader.value = "SECONDS";
  reader.read = [](const std::string& option, const std::vector<std::string>& words,
                   std::optional<std::chrono::nanoseconds>& target) -> Status {
    ASSAY_TRY(target, time_option(option, words.front()));
    return {};
  };
  reader.show = [absent = std::move(absent)](const std::optional<std::chrono::nanoseconds>& time) {
    return time ? seconds_text(*time) : absent;
  };
  return reader;
}

Reader<std::optional<std::chrono::nanoseconds>> duration(std::string absent) {
  Reader<std::optional<std::chrono::nanoseconds>> reader;
  reader.value = "TIME";
  reader.read = [](const std::string& option, const std::vector<std::string>& words,
                   std::optional<std::chrono::nanoseconds>& target) -> Status {
    const std::optional<double> given = parse_duration(words.front());
    if (!given || !(*given > 0) || *given > kMostSeconds)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: '{}' is not valid; give a time such as 300, 5m or 1h30m, at most 1000000 seconds",
                              option, words.front()));
    target = nanoseconds_of(*given);
    return {};
  };
  reader.show = [absent = std::move(absent)](const std::optional<std::chrono::nanoseconds>& time) {
    return time ? seconds_text(*time) : absent;
  };
  return reader;
}

Reader<std::optional<std::uint64_t>> megabytes(std::string absent) {
  Reader<std::optional<std::uint64_t>> reader;
  reader.value = "MB";
  reader.read = [](const std::string& option, const std::vector<std::string>& words,
                   std::optional<std::uint64_t>& target) -> Status {
    ASSAY_TRY(const double given,
              number(option, words.front(), "MB, from 1 to 1000000000", [](double x) { return x >= 1 && x <= 1e9; }));
    target = static_cast<std::uint64_t>(given * 1e6);
    return {};
  };
  reader.show = [absent = std::move(absent)](const std::optional<std::uint64_t>& bytes) {
    return bytes ? std::to_string(*bytes / 1'000'000) : absent;
  };
  return reader;
}

Reader<std::string> word(std::vector<std::string> valid) {
  Reader<std::string> reader;
  reader.value = join(valid, "|");
  reader.read = [valid = std::move(valid)](const std::string& option, const std::vector<std::string>& words,
                                           std::string& target) -> Status {
    ASSAY_CHECK_OK(check_word(option, words.front(), valid));
    target = words.front();
    return {};
  };
  reader.show = [](const std::string& text) { return text; };
  return reader;
}

Reader<std::string> precision_word(std::vector<std::string> valid) {
  Reader<std::string> reader = word(std::move(valid));
  reader.read = [read = reader.read](const std::string& option, const std::vector<std::string>& words,
                                     std::string& target) -> Status {
    return read(option, {canonical_precision(words.front())}, target);
  };
  return reader;
}

Reader<std::string> size_word() {
  Reader<std::string> reader;
  reader.value = "SIZE";
  reader.read = [](const std::string& option, const std::vector<std::string>& words, std::string& target) -> Status {
    ASSAY_CHECK_OK(check_word(option, words.front(), published_sizes()));
    target = words.front();
    return {};
  };
  reader.show = [](const std::string& size) { return size.empty() ? "the size of the given model" : size; };
  return reader;
}

Reader<std::filesystem::path> existing_path(std::string value, std::string absent) {
  Reader<std::filesystem::path> reader;
  reader.value = std::move(value);
  reader.read = [](const std::string& option, const std::vector<std::string>& words,
                   std::filesystem::path& target) -> Status {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(words.front(), error);
    if (!std::filesystem::exists(status))
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: there is no '{}'", option, words.front()));
    if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_directory(status))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: '{}' is a device, pipe or socket; give a file or a folder", option, words.front()));
    target = words.front();
    return {};
  };
  reader.show = [absent = std::move(absent)](const std::filesystem::path& path) {
    return path.empty() ? absent : path.string();
  };
  return reader;
}

Reader<OptionPairs> pairs() {
  Reader<OptionPairs> reader;
  reader.value = "KEY=VALUE";
  reader.words = Reader<OptionPairs>::Words::kMany;
  reader.commas = false;  // a value may have some
  reader.read = [](const std::string& option, const std::vector<std::string>& words, OptionPairs& target) -> Status {
    for (const std::string& text : words) {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0)
        return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not valid; give KEY=VALUE", option, text));
      ASSAY_CHECK_OK(add_pair(option, text.substr(0, equals), text.substr(equals + 1), target));
    }
    return {};
  };
  reader.show = [](const OptionPairs&) { return std::string(); };
  return reader;
}

namespace {

// Each word may have several items, which `add` reads. `standard`: what no word means.
template <class Item>
Reader<std::vector<Item>> lists_of(const char* value, Status (*add)(std::string_view, std::vector<Item>&),
                                   const std::string& standard) {
  Reader<std::vector<Item>> reader;
  reader.value = value;
  reader.words = Reader<std::vector<Item>>::Words::kEach;
  reader.read = [add](const std::string&, const std::vector<std::string>& words, std::vector<Item>& target) {
    for (const std::string& word : words)
      if (Status added = add(word, target); !added) return added;
    return Status();
  };
  reader.show = [standard](const std::vector<Item>&) { return standard; };
  return reader;
}

}  // namespace

Reader<std::vector<GivenShape>> given_shapes() {
  return lists_of<GivenShape>("NAME:SHAPE[,NAME:SHAPE…]", &add_shapes, "the extents of the file; open ones by rules");
}

Reader<std::vector<GivenExtent>> given_extents() {
  return lists_of<GivenExtent>("SYMBOL=N[,SYMBOL=N…]", &add_extents, "");
}

Reader<bool> on_off(std::string on, std::string off) {
  Reader<bool> reader;
  reader.words = Reader<bool>::Words::kNone;
  reader.read = [](const std::string&, const std::vector<std::string>& words, bool& target) -> Status {
    target = words.front() == "true";
    return {};
  };
  reader.show = [on = std::move(on), off = std::move(off)](bool value) { return value ? on : off; };
  return reader;
}

}  // namespace assay::cli
