// Table: the rows of one kind in a Space, by key. It notes which rows were looked up to be changed, so that a
// store which keeps rows in a database knows which of them to compare and to write.
#pragma once

#include "spares.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace holdfast::rules {

/// A map whose rows are changed through references that were asked for by key: find(), at() and operator[]
/// note the row, and so do insertions and removals. Going through all rows is for reading. References stay
/// valid until their row is removed.
template <class Key, class Row>
class Table {
  struct Entry : Row {
    Entry() = default;
    explicit Entry(Row&& row) : Row(std::move(row)) {}
    std::size_t note = 0;  ///< where it stands in `noted_`, counted from one
    bool is_made = false;
    bool is_told = false;  ///< of one that is gone
  };
  using Map = std::map<Key, Entry, std::less<>>;
  using Node = typename Map::node_type;

 public:
  using iterator = typename Map::iterator;
  using const_iterator = typename Map::const_iterator;

  Table() = default;
  Table(Table&&) noexcept = default;
  Table& operator=(Table&&) noexcept = default;

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
    if (found != rows_.end()) note(*found);
    return found;
  }
  /// It is there: std::out_of_range otherwise, as of a map.
  template <class K>
  [[nodiscard]] Row& at(const K& key) {
    const auto found = locate(key);
    if (found == rows_.end()) throw std::out_of_range("the rules ask for a row that is not in the space");
    note(*found);
    return found->second;
  }
  /// Makes it, unless it is there.
  Row& operator[](const Key& key) {
    const auto [entry, is_new] = insert(key, Row{});
    is_new ? note_made(*entry) : note(*entry);
    return entry->second;
  }
  /// False when there is one already, which stays.
  bool emplace(const Key& key, Row&& row) {
    const auto [entry, is_new] = insert(key, std::move(row));
    if (is_new) note_made(*entry);
    return is_new;
  }
  Row& insert_or_assign(const Key& key, Row&& row) {
    const iterator entry = replace(key, std::move(row));
    note_made(*entry);
    return entry->second;
  }
  template <class K>
  void erase(const K& key) {
    const auto found = locate(key);
    if (found != rows_.end()) remove(found);
  }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    for (auto next = rows_.begin(); next != rows_.end();) {
      const auto entry = next++;
      if (predicate(std::as_const(*entry))) remove(entry);
    }
  }

  // ---- for stores that write the rows -----------------------------------------------------------
  /// From now on it notes.
  void begin_notes() { notes_ = true; }
  /// Whether a row was noted, also one that is gone.
  [[nodiscard]] bool has_notes() const { return !noted_.empty() || !gone_.empty(); }
  struct Note {
    const Key* key;
    Row* row;      ///< null: it is gone
    bool is_made;  ///< it is new, or has taken the place of another
  };
  /// The rows that were noted, each once, by key. Rows that are noted from now on are for the next time. Good
  /// until end_notes().
  std::span<const Note> take_notes() {
    taken_.clear();
    for (Pair* const pair : noted_) {
      if (pair == nullptr) continue;  // it is gone
      pair->second.note = 0;
      taken_.push_back({&pair->first, &pair->second, std::exchange(pair->second.is_made, false)});
    }
    noted_.clear();
    for (Node& node : gone_) {
      if (!std::exchange(node.mapped().is_told, true)) taken_.push_back({&node.key(), nullptr, false});
    }
    // One that has come back under the same key stands before those that are gone.
    std::ranges::sort(taken_, [](const Note& a, const Note& b) {
      if (*a.key < *b.key) return true;
      if (*b.key < *a.key) return false;
      return a.row != nullptr && b.row == nullptr;
    });
    const auto rest =
        std::ranges::unique(taken_, [](const Note& a, const Note& b) { return *a.key == *b.key; });
    taken_.erase(rest.begin(), rest.end());
    return taken_;
  }
  /// The database knows all that was taken.
  void end_notes() {
    taken_.clear();
    const auto told = std::ranges::partition(gone_, [](const Node& node) { return !node.mapped().is_told; });
    for (Node& node : told) recycle(std::move(node));
    gone_.erase(told.begin(), told.end());
    gone_in_order_ = 0;
  }
  /// A row as it stands in the database: noted, and not made.
  Row& bring(const Key& key, Row&& row) {
    const iterator entry = replace(key, std::move(row));
    note(*entry);
    return entry->second;
  }
  /// A row that is filled, and not changed by that.
  template <class K>
  [[nodiscard]] Row* fill(const K& key) {
    const auto found = locate(key);
    return found == rows_.end() ? nullptr : &found->second;
  }
  /// Whether it was removed, and the database has yet to hear of it.
  template <class K>
  [[nodiscard]] bool is_gone(const K& key) {
    if (gone_.empty() || rows_.contains(key)) return false;
    const auto key_of = [](const Node& node) -> const Key& { return node.key(); };
    constexpr std::size_t kFew = 32;
    if (gone_.size() - gone_in_order_ > kFew) {
      std::ranges::sort(gone_, std::less<>(), key_of);
      gone_in_order_ = gone_.size();
    }
    const auto tail = gone_.begin() + static_cast<std::ptrdiff_t>(gone_in_order_);
    return std::ranges::binary_search(gone_.begin(), tail, key, std::less<>(), key_of) ||
           std::ranges::find(tail, gone_.end(), key, key_of) != gone_.end();
  }
  /// Leaves the space, and stays in the database.
  template <class K>
  void let_go(const K& key) {
    const auto found = locate(key);
    if (found == rows_.end()) return;
    recycle(extract(found));
  }
  void let_all_go() {
    noted_.clear();
    last_.is_set = false;
    rows_.clear();
  }

 private:
  using Pair = typename Map::value_type;

  /// The row that was asked for last, which is often the one that is asked for next. It does not move with
  /// the table.
  struct Last {
    iterator row{};
    bool is_set = false;
    Last() = default;
    Last(Last&& other) noexcept { other.is_set = false; }
    Last& operator=(Last&& other) noexcept {
      is_set = other.is_set = false;
      return *this;
    }
  };

  template <class K>
  iterator locate(const K& key) const {
    if (last_.is_set && last_.row->first == key) return last_.row;
    const iterator found = rows_.find(key);
    remember(found);
    return found;
  }
  void remember(iterator row) const {
    last_.row = row;
    last_.is_set = row != rows_.end();
  }

  /// The key may be a part of the row.
  std::pair<iterator, bool> insert(const Key& key, Row&& row) {
    const iterator next = rows_.lower_bound(key);
    if (next != rows_.end() && next->first == key) return {next, false};
    iterator inserted;
    if (Node spare = spares_.take(); spare.empty()) {
      inserted = rows_.try_emplace(next, key, std::move(row));
    } else {
      spare.key() = key;
      static_cast<Row&>(spare.mapped()) = std::move(row);
      inserted = rows_.insert(next, std::move(spare));
    }
    remember(inserted);
    return {inserted, true};
  }
  iterator replace(const Key& key, Row&& row) {
    const auto [entry, is_new] = insert(key, std::move(row));
    // NOLINTNEXTLINE(bugprone-use-after-move): insert() takes a row only when it is new
    if (!is_new) static_cast<Row&>(entry->second) = std::move(row);
    return entry;
  }

  Node extract(iterator entry) {
    last_.is_set = false;
    if (const std::size_t note = std::exchange(entry->second.note, 0); note != 0) noted_[note - 1] = nullptr;
    return rows_.extract(entry);
  }
  void remove(iterator entry) {
    Node node = extract(entry);
    if (!notes_) return recycle(std::move(node));
    gone_.push_back(std::move(node));
  }
  void recycle(Node&& node) {
    if (!spares_.has_room()) return;
    node.mapped() = Entry{};
    spares_.keep(std::move(node));
  }

  void note(Pair& pair) {
    if (!notes_ || pair.second.note != 0) return;
    noted_.push_back(&pair);
    pair.second.note = noted_.size();
  }
  void note_made(Pair& pair) {
    note(pair);
    pair.second.is_made = notes_;
  }

  mutable Map rows_{};  // looking for a row changes nothing
  mutable Last last_{};
  bool notes_ = false;
  std::vector<Pair*> noted_{};  ///< null where the row has left since
  std::vector<Note> taken_{};
  std::vector<Node> gone_{};  ///< the first `gone_in_order_` by key
  std::size_t gone_in_order_ = 0;
  Spares<Node> spares_{};
};

}  // namespace holdfast::rules
