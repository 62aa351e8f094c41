// Columns on their way to statements and back; see stores/rules/columns.hpp. What a column is in SQL follows
// from the type of its value.
#pragma once

#include "connection.hpp"
#include "parameters.hpp"
#include "stores/rules/columns.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

/// A value that is NULL in its column when it is `none`.
template <class T>
struct OrNull {
  T& value;
  std::remove_const_t<T> none{};
};
template <class T>
OrNull(T&) -> OrNull<T>;
template <class T>
OrNull(T&, std::remove_const_t<T>) -> OrNull<T>;

namespace wire {

template <class Text>
struct Form<rules::Bytes<Text>> : Form<Bytes> {
  static void put(std::string& out, rules::Bytes<Text> value) { out.append(value.text); }
  static bool is_null(rules::Bytes<Text> value) { return value.text.empty(); }
};
template <class Text>
struct Form<rules::AnyBytes<Text>> : Form<Bytes> {
  static void put(std::string& out, rules::AnyBytes<Text> value) { out.append(value.text); }
};
template <class T>
struct Form<OrNull<T>> : Form<std::remove_const_t<T>> {
  static void put(std::string& out, const OrNull<T>& column) {
    Form<std::remove_const_t<T>>::put(out, column.value);
  }
  static bool is_null(const OrNull<T>& column) { return column.value == column.none; }
};

}  // namespace wire

/// Reads the columns of a row one after the other.
class ColumnReader {
 public:
  ColumnReader(const Answer& answer, int row) : row_(answer, row) {}
  template <class T>
  T next() {
    return row_.next<T>();
  }
  void operator()(std::string_view /*name*/, auto&& value) { read(value); }

 private:
  template <class T>
  void read(T& value) {
    value = row_.next<T>();
  }
  /// One that may have been changed by hand: never below zero.
  void read(std::uint32_t& count) { count = row_.next_count(); }
  void read(rules::Bytes<std::string> value) {
    value.text = row_.next<std::optional<std::string>>().value_or("");
  }
  void read(rules::AnyBytes<std::string> value) { value.text = row_.next<std::string>(); }
  template <class T>
  void read(OrNull<T> column) {
    column.value = row_.next<std::optional<T>>().value_or(std::move(column.none));
  }

  Row row_;
};

/// Adds the values of one row's columns to the parameters of a statement.
class ColumnAdder {
 public:
  explicit ColumnAdder(Parameters& parameters) : parameters_(parameters) {}
  void operator()(std::string_view /*name*/, const auto& value) { parameters_.add(value); }

 private:
  Parameters& parameters_;
};

/// Rows for a statement that takes one array per column. `visit` of each is given what takes its columns.
class ColumnArrays {
 public:
  template <class Visit>
  void add(Visit visit) {
    std::size_t column = 0;
    ++rows_;
    visit([this, &column]<class T>(std::string_view /*name*/, const T& value) {
      if (column == arrays_.size()) arrays_.push_back({.oid = wire::Form<T>::kOid});
      arrays_[column++].elements.add(value);
    });
  }
  [[nodiscard]] bool empty() const noexcept { return arrays_.empty(); }
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }

  /// Which columns have one value, after the first `keys`, which tell the rows apart.
  [[nodiscard]] Shape shape(std::size_t keys) const {
    Shape shape;
    for (const Array& array : arrays_) shape.push_back(shape.size() >= keys && array.elements.all_same);
    return shape;
  }
  /// As the shape says.
  template <class... Shared>
  [[nodiscard]] Parameters parameters_in(const Shape& shape, const Shared&... shared) const {
    Parameters all(shared...);
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const wire::Elements& elements = arrays_[i].elements;
      if (shape[i]) {
        all.add_value(elements.first());
      } else {
        all.add_array(elements.array(arrays_[i].oid));
      }
    }
    return all;
  }

  /// What comes before the arrays is the same for all rows.
  template <class... Shared>
  [[nodiscard]] Parameters parameters(const Shared&... shared) const {
    Parameters all(shared...);
    for (const Array& array : arrays_) all.add_array(array.elements.array(array.oid));
    return all;
  }

 private:
  struct Array {
    wire::Oid oid = 0;
    wire::Elements elements{};
  };
  std::vector<Array> arrays_{};
  std::int64_t rows_ = 0;
};

/// The columns of a table as statements need them.
class ColumnList {
 public:
  template <class T>
  void operator()(std::string_view name, const T& /*value*/) {
    columns_.emplace_back(name, wire::name_of(wire::Form<T>::kOid));
  }
  friend ColumnList operator+(ColumnList first, const ColumnList& then) {
    first.columns_.insert(first.columns_.end(), then.columns_.begin(), then.columns_.end());
    return first;
  }

  /// "a, b"
  [[nodiscard]] std::string names() const;
  /// "i.a, i.b"
  [[nodiscard]] std::string of(std::string_view table) const;
  /// "$2::bigint, $3::text", counted from `first`
  [[nodiscard]] std::string places(int first) const;
  /// "$2::bigint[], $3::text[]"
  [[nodiscard]] std::string arrays(int first) const;
  /// For rows in a shape, whose parameters are counted from `first`: "n.a, $3::text", of those with one value
  /// in common the parameter itself;
  [[nodiscard]] std::string in_shape(const Shape& shape, int first) const;
  /// "a = n.a, b = $3::text", from the column `from` on;
  [[nodiscard]] std::string set_in_shape(const Shape& shape, int first, std::size_t from) const;
  /// "unnest($2::bigint[]) AS n (a)", the others.
  [[nodiscard]] std::string rows_in_shape(const Shape& shape, int first) const;
  /// "a = n.a, b = n.b"
  [[nodiscard]] std::string taken_from(std::string_view table) const;
  /// "a = $2::bigint, b = $3::text"
  [[nodiscard]] std::string set_to(int first) const;
  [[nodiscard]] int size() const noexcept { return static_cast<int>(columns_.size()); }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> columns_{};  // name and type
};

}  // namespace holdfast::postgres_store
