// Table: the rows of one kind in a Space, by key. It notes who was looked up to be changed, so that a store
// which keeps rows in a database knows which of them to compare and to write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace holdfast::rules {

/// A map whose rows are changed through references that were asked for by key: find(), at() and operator[]
/// note the key, and so do insertions and removals. Going through all rows is for reading. References stay
/// valid until their row is removed.
template <class Key, class Row>
class Table {
 public:
  using Map = std::map<Key, Row, std::less<>>;
  using iterator = typename Map::iterator;
  using const_iterator = typename Map::const_iterator;

  // ---- reading ----------------------------------------------------------------------------------
  [[nodiscard]] const_iterator begin() const { return rows_.begin(); }
  [[nodiscard]] const_iterator end() const { return rows_.end(); }
  [[nodiscard]] auto rbegin() const { return rows_.rbegin(); }
  [[nodiscard]] auto rend() const { return rows_.rend(); }
  [[nodiscard]] const_iterator lower_bound(const Key& key) const { return rows_.lower_bound(key); }
  [[nodiscard]] const_iterator upper_bound(const Key& key) const { return rows_.upper_bound(key); }
  template <class K>
  [[nodiscard]] bool contains(const K& key) const {
    return locate(key) != rows_.end();
  }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Null when there is none.
  template <class K>
  [[nodiscard]] const Row* peek(const K& key) const {
    const auto found = locate(key);
    return found == rows_.end() ? nullptr : &found->second;
  }

  // ---- changing ---------------------------------------------------------------------------------
  template <class K>
  [[nodiscard]] iterator find(const K& key) {
    const auto found = locate(key);
    if (found != rows_.end()) note(found->first);
    return found;
  }
  /// It is there: std::out_of_range otherwise, as of a map.
  template <class K>
  [[nodiscard]] Row& at(const K& key) {
    const auto found = locate(key);
    if (found == rows_.end()) throw std::out_of_range("the rules ask for a row that is not in the space");
    note(found->first);
    return found->second;
  }
  /// Makes it, unless it is there.
  Row& operator[](const Key& key) {
    const auto [entry, is_new] = rows_.try_emplace(key);
    is_new ? note_made(key) : note(key);
    return entry->second;
  }
  /// False when there is one already, which stays.
  bool emplace(const Key& key, Row&& row) {
    const auto [entry, is_new] = rows_.try_emplace(key, std::move(row));
    if (is_new) note_made(entry->first);
    return is_new;
  }
  Row& insert_or_assign(const Key& key, Row&& row) {
    note_made(key);
    last_.row = rows_.insert_or_assign(key, std::move(row)).first;
    last_.is_set = true;
    return last_.row->second;
  }
  template <class K>
  void erase(const K& key) {
    const auto found = locate(key);
    if (found == rows_.end()) return;
    note_gone(found->first);
    last_ = {};
    rows_.erase(found);
  }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    for (auto next = rows_.begin(); next != rows_.end();) {
      const auto entry = next++;
      if (!predicate(std::as_const(*entry))) continue;
      note_gone(entry->first);
      last_ = {};
      rows_.erase(entry);
    }
  }

  // ---- for stores that write the rows -----------------------------------------------------------
  /// From now on it notes.
  void begin_notes() { notes_ = true; }
  /// Whether a key was noted, also of a row that is gone.
  [[nodiscard]] bool has_notes() const { return !noted_.empty(); }
  /// The keys that were noted, each once, and those of rows that were made; both sorted. What is noted from
  /// now on is for the next time. Good until then.
  struct Notes {
    const std::vector<Key>& noted;
    const std::vector<Key>& made;
  };
  Notes take_notes() {
    taken_.clear();
    taken_.swap(noted_);
    make_unique(taken_);
    make_unique(made_);
    return {taken_, made_};
  }
  /// The database knows all that was taken.
  void end_notes() {
    made_.clear();
    gone_.clear();
  }
  /// A row as it stands in the database: noted, and not made.
  Row& bring(const Key& key, Row&& row) {
    note(key);
    return rows_.insert_or_assign(key, std::move(row)).first->second;
  }
  /// A row that is filled, and not changed by that.
  template <class K>
  [[nodiscard]] Row* fill(const K& key) {
    const auto found = locate(key);
    return found == rows_.end() ? nullptr : &found->second;
  }
  /// Whether it was removed, and the database has yet to hear of it.
  template <class K>
  [[nodiscard]] bool is_gone(const K& key) const {
    return gone_.contains(key) && !rows_.contains(key);
  }
  /// Leaves the space, and stays in the database.
  template <class K>
  void let_go(const K& key) {
    const auto found = locate(key);
    if (found == rows_.end()) return;
    last_ = {};
    rows_.erase(found);
  }
  void let_all_go() {
    last_ = {};
    rows_.clear();
  }

 private:
  /// The row that was asked for last, which is often the one that is asked for next. A copy of the table has
  /// rows of its own.
  struct Last {
    iterator row{};
    bool is_set = false;
    Last() = default;
    Last(const Last& /*other*/) noexcept {}
    Last& operator=(const Last& /*other*/) noexcept {
      is_set = false;
      return *this;
    }
  };

  template <class K>
  iterator locate(const K& key) const {
    if (last_.is_set && last_.row->first == key) return last_.row;
    const iterator found = rows_.find(key);
    last_.row = found;
    last_.is_set = found != rows_.end();
    return found;
  }

  static void make_unique(std::vector<Key>& keys) {
    std::ranges::sort(keys);
    const auto rest = std::ranges::unique(keys);
    keys.erase(rest.begin(), rest.end());
  }

  void note(const Key& key) {
    if (notes_ && (noted_.empty() || !(noted_.back() == key))) noted_.push_back(key);
  }
  void note_made(const Key& key) {
    if (!notes_) return;
    noted_.push_back(key);
    made_.push_back(key);
  }
  void note_gone(const Key& key) {
    note(key);
    if (notes_) gone_.insert(key);
  }

  mutable Map rows_{};  // looking for a row changes nothing
  mutable Last last_{};
  std::vector<Key> noted_{};
  std::vector<Key> taken_{};
  std::vector<Key> made_{};
  std::set<Key, std::less<>> gone_{};
  bool notes_ = false;
};

}  // namespace holdfast::rules
