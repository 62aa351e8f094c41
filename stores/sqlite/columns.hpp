// Columns on their way to statements and back; see stores/rules/columns.hpp.
#pragma once

#include "connection.hpp"
#include "stores/rules/columns.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast::sqlite_store {

using rules::AnyBytes;
using rules::Bytes;
using rules::Enumeration;
using rules::Image;

// ---- values as parameters ------------------------------------------------------------------------

template <std::integral T>
T parameter(T value) {
  return value;
}
template <Enumeration T>
int parameter(T value) {
  return static_cast<int>(value);
}
template <class Rep, class Period>
std::int64_t parameter(std::chrono::duration<Rep, Period> value) {
  return value.count();
}
template <class Clock, class Span>
std::int64_t parameter(std::chrono::time_point<Clock, Span> value) {
  return value.time_since_epoch().count();
}
template <class Tag>
Number<Tag> parameter(Number<Tag> value) {
  return value;
}
/// None is NULL.
template <class Tag>
std::optional<Token<Tag>> parameter(Token<Tag> value) {
  return value.empty() ? std::nullopt : std::optional(value);
}
inline std::string_view parameter(const std::string& value) { return value; }
inline std::string_view parameter(std::string_view value) { return value; }
inline Blob parameter(Blob value) { return value; }
template <class Text>
std::optional<Blob> parameter(Bytes<Text> value) {
  return value.text.empty() ? std::nullopt : std::optional(Blob{value.text});
}
template <class Text>
std::string_view parameter(AnyBytes<Text> value) {
  return value.text;
}
template <class T>
auto parameter(const std::optional<T>& value) -> std::optional<decltype(parameter(*value))> {
  if (!value) return std::nullopt;
  return parameter(*value);
}

// ---- values from rows ----------------------------------------------------------------------------

template <std::integral T>
void read_value(const Statement& row, int column, T& value) {
  value = static_cast<T>(row.int64(column));
}
template <Enumeration T>
void read_value(const Statement& row, int column, T& value) {
  value = static_cast<T>(row.integer(column));
}
template <class Rep, class Period>
void read_value(const Statement& row, int column, std::chrono::duration<Rep, Period>& value) {
  value = std::chrono::duration<Rep, Period>(row.int64(column));
}
template <class Clock, class Span>
void read_value(const Statement& row, int column, std::chrono::time_point<Clock, Span>& value) {
  value = std::chrono::time_point<Clock, Span>(Span(row.int64(column)));
}
template <class Tag>
void read_value(const Statement& row, int column, Number<Tag>& value) {
  value.value = row.uint64(column);
}
template <class Tag>
void read_value(const Statement& row, int column, Token<Tag>& value) {
  value = row.token<Token<Tag>>(column);
}
inline void read_value(const Statement& row, int column, std::string& value) { value = row.text(column); }
inline void read_value(const Statement& row, int column, Bytes<std::string> value) {
  value.text = row.blob(column);
}
inline void read_value(const Statement& row, int column, AnyBytes<std::string> value) {
  value.text = row.text(column);
}
template <class T>
void read_value(const Statement& row, int column, std::optional<T>& value) {
  if (row.is_null(column)) {
    value.reset();
  } else {
    read_value(row, column, value.emplace());
  }
}

/// The columns of a row one after the other.
class RowReader {
 public:
  explicit RowReader(const Cursor& row, int first = 0) : row_(*row.operator->()), column_(first) {}
  template <class T>
  T next() {
    T value{};
    read_value(row_, column_++, value);
    return value;
  }
  template <class T>
  void operator()(std::string_view /*name*/, T&& value) {
    read_value(row_, column_++, value);
  }
  void skip() { ++column_; }
  [[nodiscard]] int column() const { return column_; }

 private:
  const Statement& row_;
  int column_;
};

/// Binds columns from a position on.
class ColumnBinder {
 public:
  ColumnBinder(Statement& statement, int first) : statement_(statement), position_(first) {}
  template <class T>
  void operator()(std::string_view /*name*/, const T& value) {
    statement_.bind(position_++, parameter(value));
  }
  [[nodiscard]] int position() const { return position_; }

 private:
  Statement& statement_;
  int position_;
};

/// Runs a statement whose parameters are bound.
inline void run_bound(Statement& statement) {
  const Statement::Reset reset(statement);
  while (statement.step()) {
  }
}

// ---- statements ----------------------------------------------------------------------------------

/// Collects the names of columns as a statement needs them.
struct ColumnNames {
  std::string list{};     ///< "a, b"
  std::string changes{};  ///< "a = ?2, b = ?3", counted from `first`
  std::string places{};   ///< "?2, ?3"
  int position;
  std::string prefix;

  explicit ColumnNames(int first = 1, std::string before = {}) : position(first), prefix(std::move(before)) {}
  void operator()(std::string_view name, const auto& /*value*/) {
    const std::string comma = list.empty() ? "" : ", ";
    const std::string place = "?" + std::to_string(position++);
    list += comma + prefix + std::string(name);
    changes += comma + std::string(name) + " = " + place;
    places += comma + place;
  }
};

}  // namespace holdfast::sqlite_store
