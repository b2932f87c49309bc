// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// The object type of Json: pairs in the order in which they were inserted, like nlohmann::ordered_map. That one
/// compares each key with all others, so that a file with 100,000 keys takes 20 seconds; this one has a hash table of
/// places from kIndexedFrom keys on. Smaller objects, which are nearly all, have none and cost nothing more.
///
/// `Key` must convert to std::string_view. Iterators are invalid after an insertion or a removal.
/// Cost:   find, insert: constant on average; erase: linear.
/// Thread: const members from any.
template <class Key, class T, class IgnoredLess = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, T>>>
class OrderedObject : public std::vector<std::pair<const Key, T>, Allocator> {
  using Base = std::vector<std::pair<const Key, T>, Allocator>;

 public:
  static constexpr std::size_t kIndexedFrom = 16;

  using key_type = Key;
  using mapped_type = T;
  using key_compare = std::equal_to<>;
  using typename Base::const_iterator;
  using typename Base::iterator;
  using typename Base::size_type;
  using typename Base::value_type;

  OrderedObject() = default;
  explicit OrderedObject(const Allocator& allocator) : Base(allocator) {}
  template <class Iterator>
  OrderedObject(Iterator first, Iterator last, const Allocator& allocator = Allocator()) : Base(allocator) {
    insert(first, last);
  }
  OrderedObject(std::initializer_list<value_type> values, const Allocator& allocator = Allocator())
      : OrderedObject(values.begin(), values.end(), allocator) {}

  /// Does nothing if the key is there; returns its place, and whether it was inserted.
  template <class AnyKey, class Value>
  std::pair<iterator, bool> emplace(AnyKey&& key, Value&& value) {
    const std::size_t at = place_of(std::string_view(key));
    if (at < this->size()) return {place(at), false};
    Base::emplace_back(std::forward<AnyKey>(key), std::forward<Value>(value));
    add_to_index();
    return {std::prev(this->end()), true};
  }
  std::pair<iterator, bool> insert(const value_type& value) { return emplace(value.first, value.second); }
  std::pair<iterator, bool> insert(value_type&& value) { return emplace(value.first, std::move(value.second)); }
  template <class Iterator>
    requires std::input_iterator<Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(*first);
  }
  template <class AnyKey>
  T& operator[](AnyKey&& key) {
    return emplace(std::forward<AnyKey>(key), T{}).first->second;
  }

  [[nodiscard]] iterator find(std::string_view key) { return place(place_of(key)); }
  [[nodiscard]] const_iterator find(std::string_view key) const { return place(place_of(key)); }
  [[nodiscard]] size_type count(std::string_view key) const { return place_of(key) < this->size() ? 1 : 0; }
  [[nodiscard]] T& at(std::string_view key) { return found(*this, key); }
  [[nodiscard]] const T& at(std::string_view key) const { return found(*this, key); }

  size_type erase(std::string_view key) {
    const iterator there = find(key);
    if (there == this->end()) return 0;
    erase(there);
    return 1;
  }
  iterator erase(iterator position) { return erase(position, std::next(position)); }
  /// Keys are constant, so the pairs that stay are made again.
  iterator erase(iterator first, iterator last) {
    const auto from = std::distance(this->begin(), first);
    Base kept(this->get_allocator());
    kept.reserve(this->size());
    for (iterator it = this->begin(); it != this->end(); ++it)
      if (it < first || it >= last) kept.push_back(std::move(*it));
    Base::swap(kept);
    make_index();
    return this->begin() + from;
  }
  void clear() noexcept {
    Base::clear();
    slots_.clear();
  }

 private:
  // They would leave the index behind.
  using Base::assign;
  using Base::emplace_back;
  using Base::pop_back;
  using Base::push_back;
  using Base::resize;
  using Base::swap;

  [[nodiscard]] iterator place(std::size_t at) { return this->begin() + static_cast<std::ptrdiff_t>(at); }
  [[nodiscard]] const_iterator place(std::size_t at) const { return this->begin() + static_cast<std::ptrdiff_t>(at); }
  [[nodiscard]] std::string_view key_at(std::size_t at) const { return std::string_view(this->data()[at].first); }

  template <class Self>
  static auto& found(Self& self, std::string_view key) {
    const auto there = self.find(key);
    if (there == self.end()) throw std::out_of_range("key not found");
    return there->second;
  }

  /// size() if there is none.
  [[nodiscard]] std::size_t place_of(std::string_view key) const {
    if (!slots_.empty()) {
      const std::uint32_t number = slots_[slot_of(key)];
      return number == 0 ? this->size() : number - 1;
    }
    std::size_t at = 0;
    while (at < this->size() && key_at(at) != key) ++at;
    return at;
  }
  /// The slot with the number of `key`, or the empty one where it belongs.
  [[nodiscard]] std::size_t slot_of(std::string_view key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::hash<std::string_view>()(key) & mask;
    while (slots_[slot] != 0 && key_at(slots_[slot] - 1) != key) slot = (slot + 1) & mask;
    return slot;
  }
  /// After a pair was added at the end.
  void add_to_index() {
    if (2 * this->size() > slots_.size()) return make_index();
    slots_[slot_of(key_at(this->size() - 1))] = static_cast<std::uint32_t>(this->size());
  }
  void make_index() {
    slots_.clear();
    if (this->size() < kIndexedFrom) return;
    std::size_t slots = 4 * kIndexedFrom;
    while (slots < 4 * this->size()) slots *= 2;
    slots_.resize(slots);
    for (std::size_t i = 0; i < this->size(); ++i) slots_[slot_of(key_at(i))] = static_cast<std::uint32_t>(i + 1);
  }

  std::vector<std::uint32_t> slots_;  ///< 0: empty; else a place, counted from 1. At most half of them are in use.
};

}  // namespace assay
