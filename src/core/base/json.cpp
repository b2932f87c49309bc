// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files.hpp"

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

// Builds the value while the text is read. It stops at the first error, but for a repeated key: a text that is not JSON
// is the greater fault.
class Builder {
 public:
  Builder(std::string_view text, std::string_view name, const Cancelled& cancelled)
      : text_(text), name_(name), cancelled_(cancelled) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t& value) { return add(std::move(value)); }
  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    const auto [place, fresh] = open_.back()->get_ref<Json::object_t&>().emplace(std::move(name), Json());
    repeated_ |= !fresh;
    member_ = &place->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const Json::exception& error) {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow)
      refuse(fmt::format("the number {} at {} is too large to be stored", token,
                         place(text_, position - std::min(token.size(), position))));
    else
      refuse(fmt::format("not valid JSON at {}: {}", place(text_, std::max<std::size_t>(position, 1) - 1),
                         plain(error.what())));
    return false;
  }

  Result<Json> take() {
    if (error_) return tl::unexpected<Error>(std::move(*error_));
    if (!repeated_) return std::move(value_);
    const std::optional<RepeatedKey> repeated = repeated_key(text_);
    ASSAY_CHECK(repeated.has_value(), "a key was repeated");
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: the key \"{}\" is given twice in one object, again at {}", name_, repeated->key,
                            place(text_, repeated->at)),
                "keep one of them");
  }

 private:
  void refuse(std::string_view what) {
    error_ = Error{ErrorCode::kInvalidArgument, fmt::format("{}: {}", name_, what), {}, {}};
  }
  bool may_go_on() {
    constexpr std::size_t kValuesBetweenChecks = 4096;
    if (++values_ % kValuesBetweenChecks != 0) return true;
    if (Status status = check_cancelled(cancelled_); !status) error_ = std::move(status).error();
    return !error_;
  }
  // Where the next value belongs.
  Json& place_of_next() {
    if (open_.empty()) return value_;
    if (open_.back()->is_object()) return *member_;
    return open_.back()->get_ref<Json::array_t&>().emplace_back();
  }
  template <class Value>
  bool add(Value&& value) {
    place_of_next() = std::forward<Value>(value);
    return may_go_on();
  }
  bool open(Json container) {
    // Deep nesting would overflow the stack of callers later on: comparison and destruction recurse.
    constexpr std::size_t kMaxDepth = 200;
    if (open_.size() == kMaxDepth) {
      refuse(fmt::format("nesting deeper than {} levels", kMaxDepth));
      return false;
    }
    Json& here = place_of_next();
    here = std::move(container);
    open_.push_back(&here);
    return may_go_on();
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_, name_;
  const Cancelled& cancelled_;
  Json value_;
  std::vector<Json*> open_;  ///< the containers that the next value is in, from the outermost
  Json* member_ = nullptr;   ///< the value of the last key
  bool repeated_ = false;
  std::size_t values_ = 0;
  std::optional<Error> error_;
};

}  // namespace

TextPlace place_at(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  // Bytes that continue a character of UTF-8 are no columns.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return {1 + static_cast<int>(std::ranges::count(before, '\n')),
          1 + static_cast<int>(std::ranges::count_if(line, begins))};
}

Result<Json> parse_json(std::string_view text, std::string_view name, const Cancelled& cancelled) {
  // The parser takes this byte for the end.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: not valid JSON at {}: a byte 0", name, place(text, zero)));
  Builder builder(text, name, cancelled);
  Json::sax_parse(text, &builder);
  return builder.take();
}

Result<Json> read_json(const std::filesystem::path& path, const Cancelled& cancelled) {
  ASSAY_TRY(const std::string text, read_file(path));
  return parse_json(text, path.string(), cancelled);
}

}  // namespace assay
