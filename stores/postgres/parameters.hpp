// Values on their way to PostgreSQL, in its binary form: single ones, and columns of rows as arrays, so that
// a statement takes as many rows as there are (`unnest`).
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

/// A string that is kept as `bytea`; plain ones are `text`.
struct Bytes {
  std::string_view value{};
};
/// 128 bits, kept as `uuid`; null when they are all zero.
struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  template <class Tag>
  Uuid(Token<Tag> token) : high(token.high), low(token.low) {}  // NOLINT: what tokens are in a row
};

namespace wire {

using Oid = std::uint32_t;

template <std::unsigned_integral Int>
void append(std::string& out, Int value) {
  for (int shift = (static_cast<int>(sizeof(Int)) - 1) * 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(value >> shift)));
  }
}

/// Of the number of a transaction.
inline constexpr Oid kTransactionOid = 28;

/// How a type stands in a row. `put` appends the value's bytes; where there is an `is_null`, some have none.
template <class T>
struct Form;
template <>
struct Form<std::int64_t> {
  static constexpr Oid kOid = 20;
  static void put(std::string& out, std::int64_t value) { append(out, static_cast<std::uint64_t>(value)); }
};
template <>
struct Form<std::uint64_t> : Form<std::int64_t> {
  static void put(std::string& out, std::uint64_t value) { append(out, value); }
};
template <class Tag>
struct Form<Number<Tag>> : Form<std::int64_t> {
  static void put(std::string& out, Number<Tag> number) { append(out, number.value); }
};
template <class Clock>
struct Form<std::chrono::time_point<Clock, std::chrono::microseconds>> : Form<std::int64_t> {
  static void put(std::string& out, std::chrono::time_point<Clock, std::chrono::microseconds> time) {
    append(out, static_cast<std::uint64_t>(time.time_since_epoch().count()));
  }
};
template <>
struct Form<std::chrono::microseconds> : Form<std::int64_t> {
  static void put(std::string& out, std::chrono::microseconds time) {
    append(out, static_cast<std::uint64_t>(time.count()));
  }
};
template <>
struct Form<std::int32_t> {
  static constexpr Oid kOid = 23;
  static void put(std::string& out, std::int32_t value) { append(out, static_cast<std::uint32_t>(value)); }
};
template <>
struct Form<std::uint32_t> : Form<std::int32_t> {
  static void put(std::string& out, std::uint32_t value) { append(out, value); }
};
template <>
struct Form<bool> {
  static constexpr Oid kOid = 16;
  static void put(std::string& out, bool value) { out.push_back(value ? '\1' : '\0'); }
};
template <>
struct Form<std::string> {
  static constexpr Oid kOid = 25;
  static void put(std::string& out, std::string_view value) { out.append(value); }
};
template <>
struct Form<std::string_view> : Form<std::string> {};
template <>
struct Form<Bytes> {
  static constexpr Oid kOid = 17;
  static void put(std::string& out, Bytes bytes) { out.append(bytes.value); }
};
template <>
struct Form<Uuid> {
  static constexpr Oid kOid = 2950;
  static void put(std::string& out, Uuid uuid) {
    append(out, uuid.high);
    append(out, uuid.low);
  }
  static bool is_null(Uuid uuid) { return uuid.high == 0 && uuid.low == 0; }
};
template <class Tag>
struct Form<Token<Tag>> : Form<Uuid> {};
/// An enumeration is a small number; it is sent as an integer, which the statement converts.
template <class T>
  requires std::is_enum_v<T>
struct Form<T> : Form<std::int32_t> {
  static void put(std::string& out, T value) {
    Form<std::int32_t>::put(out, static_cast<std::int32_t>(value));
  }
};
template <class T>
struct Form<std::optional<T>> : Form<T> {
  static void put(std::string& out, const std::optional<T>& value) { Form<T>::put(out, *value); }
  static bool is_null(const std::optional<T>& value) { return !value; }
};

template <class T>
bool is_null(const T& value) {
  if constexpr (requires { Form<T>::is_null(value); }) {
    return Form<T>::is_null(value);
  } else {
    return false;
  }
}

/// The elements of an array that is being made.
struct Elements {
  std::string bytes{};
  std::uint32_t count = 0;
  bool has_null = false;
  bool all_same = true;
  std::size_t first_ends = 0;

  template <class T>
  void add(const T& value) {
    const std::size_t begins = bytes.size();
    append_element(value);
    if (count++ == 0) first_ends = bytes.size();
    all_same =
        all_same && std::string_view(bytes).substr(begins) == std::string_view(bytes).substr(0, first_ends);
  }
  /// None: it is null.
  [[nodiscard]] std::optional<std::string_view> first() const {
    constexpr std::size_t kLength = 4;
    if (static_cast<unsigned char>(bytes[0]) == 0xFF) return std::nullopt;
    return std::string_view(bytes).substr(kLength, first_ends - kLength);
  }

  template <class T>
  void append_element(const T& value) {
    if (is_null(value)) {
      has_null = true;
      append(bytes, std::uint32_t{0xFFFFFFFF});
      return;
    }
    const std::size_t at = bytes.size();
    bytes.append(4, '\0');
    Form<T>::put(bytes, value);
    const auto size = static_cast<std::uint32_t>(bytes.size() - at - 4);
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[at + i] = static_cast<char>(static_cast<unsigned char>(size >> (8 * (3 - i))));
    }
  }
  [[nodiscard]] std::string array(Oid element) const {
    std::string out;
    out.reserve(bytes.size() + 20);
    append(out, std::uint32_t{count == 0 ? 0U : 1U});
    append(out, std::uint32_t{has_null ? 1U : 0U});
    append(out, element);
    if (count == 0) return out;
    append(out, count);
    append(out, std::uint32_t{1});
    return out += bytes;
  }
};

/// Texts as one value.
template <>
struct Form<std::vector<std::string>> {
  static constexpr Oid kOid = 1009;
  static void put(std::string& out, const std::vector<std::string>& texts) {
    Elements elements;
    for (const std::string& text : texts) elements.add(text);
    out.append(elements.array(Form<std::string>::kOid));
  }
};

/// What SQL calls a type.
constexpr std::string_view name_of(Oid oid) {
  switch (oid) {
    case Form<std::int64_t>::kOid:
      return "bigint";
    case Form<std::int32_t>::kOid:
      return "integer";
    case Form<bool>::kOid:
      return "boolean";
    case Form<std::string>::kOid:
      return "text";
    case Form<Bytes>::kOid:
      return "bytea";
    case Form<Uuid>::kOid:
      return "uuid";
    case kTransactionOid:
      return "xid";
    default:
      return "text[]";
  }
}

}  // namespace wire

/// The parameters of one statement, in order.
class Parameters {
 public:
  Parameters() = default;
  template <class... Values>
  explicit Parameters(const Values&... values) {
    (add(values), ...);
  }

  template <class T>
  Parameters& add(const T& value) {
    auto& slot = values_.emplace_back();
    if (wire::is_null(value)) return *this;
    wire::Form<T>::put(slot.emplace(), value);
    return *this;
  }
  /// As an array.
  template <class Range>
  Parameters& add_all(const Range& range) {
    using T = std::remove_cvref_t<decltype(*std::begin(range))>;
    wire::Elements elements;
    for (const auto& value : range) elements.add(value);
    return add_array(elements.array(wire::Form<T>::kOid));
  }
  Parameters& add_value(std::optional<std::string_view> bytes) {
    values_.emplace_back(bytes);
    return *this;
  }
  Parameters& add_array(std::string bytes) {
    values_.emplace_back(std::move(bytes));
    return *this;
  }

  [[nodiscard]] const std::vector<std::optional<std::string>>& values() const noexcept { return values_; }

 private:
  std::vector<std::optional<std::string>> values_{};
};

/// Rows for a statement that takes one array per column.
template <class... Columns>
class Rows {
 public:
  void add(const Columns&... values) {
    std::size_t column = 0;
    (elements_[column++].add(values), ...);
  }
  [[nodiscard]] bool empty() const noexcept { return elements_[0].count == 0; }
  [[nodiscard]] std::uint32_t size() const noexcept { return elements_[0].count; }

  /// What comes before the arrays is the same for all rows.
  template <class... Shared>
  [[nodiscard]] Parameters parameters(const Shared&... shared) const {
    Parameters all(shared...);
    std::size_t column = 0;
    (all.add_array(elements_[column++].array(wire::Form<Columns>::kOid)), ...);
    return all;
  }

 private:
  std::array<wire::Elements, sizeof...(Columns)> elements_{};
};

}  // namespace holdfast::postgres_store
