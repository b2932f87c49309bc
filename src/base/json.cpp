// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/files.hpp"

namespace assay {
namespace {

std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  const auto column = start == std::string_view::npos ? before.size() : before.size() - start - 1;
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
}

// nlohmann's messages begin with "[json.exception.…] parse error at line 3, column 5: "; we state the place ourselves.
std::string plain(const std::string& what) {
  const auto colon = what.find(": ");
  return colon == std::string::npos ? what : what.substr(colon + 2);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name) {
  constexpr std::size_t kMaxDepth = 200;
  std::vector<std::set<std::string>> keys;
  std::string refused;
  // The callback sees every event; returning true keeps it. It cannot stop the parse, so the first refusal is kept.
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      keys.emplace_back();
      if (keys.size() > kMaxDepth && refused.empty()) refused = fmt::format("nesting deeper than {} levels", kMaxDepth);
    } else if (event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key && refused.empty()) {
      const std::string& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) refused = fmt::format("the key \"{}\" is given twice in one object", key);
    }
    return true;
  };
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
    Json json = Json::parse(text, watch);
    if (!refused.empty()) return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, refused));
    return json;
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: not valid JSON at {}: {}", name, place(text, error.byte), plain(error.what())));
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
