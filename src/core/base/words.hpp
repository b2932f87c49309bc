// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Enumerations whose enumerators have words. The program compares enumerators; files, the database and people get the
/// words.
namespace assay {

/// The words of an enumeration, in the order of its enumerators, which begin with 0. A specialisation has
/// `static constexpr std::array<std::string_view, N> kAll`.
template <class Enum>
struct WordsOf;

template <class Enum>
concept HasWords = requires { WordsOf<Enum>::kAll.size(); };

template <HasWords Enum>
[[nodiscard]] constexpr std::string_view to_string(Enum value) {
  return WordsOf<Enum>::kAll.at(static_cast<std::size_t>(value));
}

/// "" for a value that is absent.
template <HasWords Enum>
[[nodiscard]] constexpr std::string_view to_string(const std::optional<Enum>& value) {
  return value ? to_string(*value) : std::string_view();
}

/// The enumerator with this word; nullopt if no enumerator has it.
template <HasWords Enum>
[[nodiscard]] constexpr std::optional<Enum> from_word(std::string_view word) {
  const auto& all = WordsOf<Enum>::kAll;
  const auto found = std::find(all.begin(), all.end(), word);
  if (found == all.end()) return std::nullopt;
  return static_cast<Enum>(found - all.begin());
}

/// "on, off or runtime": what is valid, for a message.
template <HasWords Enum>
[[nodiscard]] std::string valid_words() {
  std::string text;
  const auto& all = WordsOf<Enum>::kAll;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " or " : ", ";
    text += all[i];
  }
  return text;
}

/// Any number of the enumerators, each once. Its text has their words in the order of the enumeration, separated by
/// commas.
template <HasWords Enum>
class WordSet {
 public:
  static_assert(WordsOf<Enum>::kAll.size() <= 64);

  constexpr WordSet() = default;
  constexpr WordSet(std::initializer_list<Enum> values) {
    for (const Enum value : values) add(value);
  }

  [[nodiscard]] constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  constexpr void add(Enum value) { bits_ |= bit(value); }
  constexpr void add(WordSet others) { bits_ |= others.bits_; }
  constexpr void remove(Enum value) { bits_ &= ~bit(value); }
  friend constexpr bool operator==(WordSet, WordSet) = default;

  /// `act(enumerator)` for each, in the order of the enumeration.
  template <class Act>
  void each(Act act) const {
    for (std::size_t i = 0; i < WordsOf<Enum>::kAll.size(); ++i)
      if (has(static_cast<Enum>(i))) act(static_cast<Enum>(i));
  }

  /// "noisy,seeded"; "" if it is empty.
  [[nodiscard]] std::string text(std::string_view separator = ",") const {
    std::string joined;
    each([&](Enum value) { joined += (joined.empty() ? "" : std::string(separator)) + std::string(to_string(value)); });
    return joined;
  }
  /// The opposite of text(); nullopt: a word is not of the enumeration.
  [[nodiscard]] static std::optional<WordSet> from_text(std::string_view text) {
    WordSet set;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      const std::optional<Enum> value = from_word<Enum>(text.substr(0, end));
      if (!value) return std::nullopt;
      set.add(*value);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return set;
  }

 private:
  static constexpr std::uint64_t bit(Enum value) { return std::uint64_t{1} << static_cast<unsigned>(value); }
  std::uint64_t bits_ = 0;
};

}  // namespace assay
