// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace assay {

/// A key in the order of the numbers. Of 0 and -0 the latter is less; not for NaN.
[[nodiscard]] inline std::uint64_t sort_key(double value) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
[[nodiscard]] inline std::uint64_t sort_key(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}

/// Sorts by `key_of(item)`, an unsigned number of 64 bits; items of equal keys have no certain order. Many items are
/// not compared: one pass over them for each 11 bits in which their keys differ costs a fifth of that for ten thousand
/// times of one cell.
template <class Item, class KeyOf>
void sort_by_key(std::vector<Item>& items, const KeyOf& key_of) {
  constexpr unsigned kBits = 11, kKeyBits = 64;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  if (items.size() < kBuckets) {
    std::ranges::sort(items, {}, key_of);
    return;
  }
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), differing = 0;
  for (const Item& item : items) least = std::min(least, key_of(item));
  for (const Item& item : items) differing |= key_of(item) - least;
  std::vector<Item> other(items.size());
  for (auto shift = static_cast<unsigned>(std::countr_zero(differing)); shift < kKeyBits && differing >> shift != 0;
       shift += kBits) {
    const auto bucket = [&](const Item& item) {
      return static_cast<std::size_t>((key_of(item) - least) >> shift) & (kBuckets - 1);
    };
    std::array<std::size_t, kBuckets + 1> first{};
    for (const Item& item : items) ++first[bucket(item) + 1];
    for (std::size_t i = 1; i <= kBuckets; ++i) first[i] += first[i - 1];
    for (const Item& item : items) other[first[bucket(item)]++] = item;
    items.swap(other);
  }
}

}  // namespace assay
