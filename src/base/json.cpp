// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"

namespace assay {
namespace {

std::string place(std::string_view text, std::size_t at) {
  const TextPlace found = place_at(text, at);
  return fmt::format("line {}, column {}", found.line, found.column);
}

// A key that its object has already, and the byte where it begins. `text` is valid JSON.
struct RepeatedKey {
  std::string key;
  std::size_t at = 0;
};
std::optional<RepeatedKey> repeated_key(std::string_view text) {
  std::vector<std::set<std::string>> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') open.emplace_back();
    if (c == '}' || c == ']') open.pop_back();
    if (c != '"') continue;
    const std::size_t begin = i;
    while (text[++i] != '"')
      if (text[i] == '\\') ++i;
    const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
    if (next == std::string_view::npos || text[next] != ':') continue;  // a value
    std::string key(text.substr(begin + 1, i - begin - 1));
    if (key.find('\\') != std::string::npos) key = Json::parse(fmt::format("\"{}\"", key)).get<std::string>();
    if (!open.back().insert(key).second) return RepeatedKey{std::move(key), begin};
  }
  return std::nullopt;
}

// nlohmann's messages begin with "[json.exception.…] parse error at line 3, column 5: "; we state the place ourselves.
std::string plain(const std::string& what) {
  const auto colon = what.find(": ");
  return colon == std::string::npos ? what : what.substr(colon + 2);
}

}  // namespace

TextPlace place_at(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  // Bytes that continue a character of UTF-8 are no columns.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return {1 + static_cast<int>(std::ranges::count(before, '\n')),
          1 + static_cast<int>(std::ranges::count_if(line, begins))};
}

Result<Json> parse_json(std::string_view text, std::string_view name) {
  constexpr std::size_t kMaxDepth = 200;
  // The parser takes this byte for the end.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: not valid JSON at {}: a byte 0", name, place(text, zero)));
  try {
    // Deep nesting would overflow the parser's callers later on (comparison and destruction recurse).
    std::size_t depth = 0, deepest = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (in_string) {
        if (c == '\\')
          ++i;
        else if (c == '"')
          in_string = false;
      } else if (c == '"') {
        in_string = true;
      } else if (c == '[' || c == '{') {
        deepest = std::max(deepest, ++depth);
      } else if ((c == ']' || c == '}') && depth > 0) {
        --depth;
      }
    }
    if (deepest > kMaxDepth)
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: nesting deeper than {} levels", name, kMaxDepth));
    Json json = Json::parse(text);
    if (const std::optional<RepeatedKey> repeated = repeated_key(text))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: the key \"{}\" is given twice in one object, again at {}", name, repeated->key,
                              place(text, repeated->at)),
                  "keep one of them");
    return json;
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: not valid JSON at {}: {}", name, place(text, std::max<std::size_t>(error.byte, 1) - 1),
                            plain(error.what())));
  } catch (const Json::out_of_range& error) {
    // "number overflow parsing '1e400'"
    const std::string what = plain(error.what());
    const auto quote = what.find('\'');
    const std::string number = quote == std::string::npos ? what : what.substr(quote + 1, what.size() - quote - 2);
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: the number {} at {} is too large to be stored", name,
                                                         number, place(text, text.find(number))));
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: not valid JSON: {}", name, plain(error.what())));
  }
}

Result<Json> read_json(const std::filesystem::path& path) {
  ASSAY_TRY(const std::string text, read_file(path));
  return parse_json(text, path.string());
}

}  // namespace assay
