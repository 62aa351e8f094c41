// Search attributes: typed values by which instances are found and counted.
//
//   client.start("bill", {.id = "o-7", .attributes = {{"customer", "acme"}, {"cents", 1200}}}, order);
//   ctx.set_attribute("stage", "packing");
//   client.list(parse_filter("customer = \"acme\" and cents > 1000 order by cents desc"));
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/ids.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

class Names;

/// A name and a type together are one attribute: "size" as a text is another one than "size" as an integer.
enum class AttributeType : std::uint8_t {
  text,
  keywords,  ///< a list of texts, each of which is found by itself
  integer,
  real,
  boolean,
  time,
};
std::string_view to_string(AttributeType type) noexcept;

using Keywords = std::vector<std::string>;
/// The alternatives stand in the order of AttributeType.
using AttributeValue = std::variant<std::string, Keywords, std::int64_t, double, bool, CalendarTime>;
constexpr AttributeType type_of(const AttributeValue& value) noexcept {
  return static_cast<AttributeType>(value.index());
}
/// For people: `"acme"`, `["a","b"]`, `12`, `1.5`, `true`, `2027-03-28T01:00:00Z`.
std::string to_string(const AttributeValue& value);

struct Attribute {
  std::string name{};
  AttributeValue value{};
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// An instance has at most this many. A list of keywords is one.
inline constexpr std::size_t kMaxAttributes = 64;
/// Of one list.
inline constexpr std::size_t kMaxKeywords = 32;
/// Of a text, or of one keyword, in bytes.
inline constexpr std::size_t kMaxAttributeText = 1024;
/// Of all names and values of an instance together, in bytes.
inline constexpr std::size_t kMaxAttributesSize = std::size_t{16} << 10U;

namespace detail {

template <class T>
concept AttributeText = std::convertible_to<const T&, std::string_view>;

/// The type of attribute that a T is kept as.
template <class T>
consteval AttributeType attribute_type() {
  static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, std::string> || std::is_same_v<T, Keywords> ||
                    std::is_same_v<T, CalendarTime>,
                "holdfast: attributes are texts (std::string), lists of texts (std::vector<std::string>), "
                "numbers, bool, or CalendarTime");
  if constexpr (std::is_same_v<T, bool>) {
    return AttributeType::boolean;
  } else if constexpr (std::is_integral_v<T>) {
    return AttributeType::integer;
  } else if constexpr (std::is_floating_point_v<T>) {
    return AttributeType::real;
  } else if constexpr (std::is_same_v<T, Keywords>) {
    return AttributeType::keywords;
  } else if constexpr (std::is_same_v<T, CalendarTime>) {
    return AttributeType::time;
  } else {
    return AttributeType::text;
  }
}

}  // namespace detail

/// An attribute in options. It refers to what it is given, so write it inline.
class AttributeRef {
 public:
  using Value =
      std::variant<std::string_view, const Names*, const Keywords*, std::int64_t, double, bool, CalendarTime>;

  constexpr AttributeRef() noexcept = default;
  template <class T>
  constexpr AttributeRef(std::string_view name, const T& value) : name_(name), value_(value_of(value)) {}
  /// A list of keywords: `{"tags", {"rush", "gift"}}`.
  constexpr AttributeRef(std::string_view name, const Names& keywords) noexcept
      : name_(name), value_(&keywords) {}

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }
  [[nodiscard]] constexpr const Value& value() const noexcept { return value_; }

 private:
  template <class T>
  static constexpr Value value_of(const T& value) {
    if constexpr (detail::AttributeText<T>) {
      return std::string_view(value);
    } else if constexpr (std::is_same_v<T, Names> || std::is_same_v<T, Keywords>) {
      return &value;
    } else if constexpr (detail::attribute_type<T>() == AttributeType::boolean ||
                         std::is_same_v<T, CalendarTime>) {
      return value;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(value);
    } else {
      if (!std::in_range<std::int64_t>(value))
        throw std::out_of_range("holdfast: the number of an attribute does not fit into 64 bits with a sign");
      return static_cast<std::int64_t>(value);
    }
  }

  std::string_view name_{};
  Value value_{};
};

/// Attributes in options: up to eight inline, `{{"customer", name}, {"cents", 1200}}`, or any number from a
/// std::vector<Attribute>. It refers to what it is given.
class AttributeList {
 public:
  static constexpr std::size_t kMaxInline = 8;

  constexpr AttributeList() noexcept = default;
  constexpr AttributeList(AttributeRef a) noexcept : inline_{a}, size_(1) {}
  constexpr AttributeList(AttributeRef a, AttributeRef b) noexcept : inline_{a, b}, size_(2) {}
  constexpr AttributeList(AttributeRef a, AttributeRef b, AttributeRef c) noexcept
      : inline_{a, b, c}, size_(3) {}
  constexpr AttributeList(AttributeRef a, AttributeRef b, AttributeRef c, AttributeRef d) noexcept
      : inline_{a, b, c, d}, size_(4) {}
  constexpr AttributeList(AttributeRef a, AttributeRef b, AttributeRef c, AttributeRef d,
                          AttributeRef e) noexcept
      : inline_{a, b, c, d, e}, size_(5) {}
  constexpr AttributeList(AttributeRef a, AttributeRef b, AttributeRef c, AttributeRef d, AttributeRef e,
                          AttributeRef f) noexcept
      : inline_{a, b, c, d, e, f}, size_(6) {}
  constexpr AttributeList(AttributeRef a, AttributeRef b, AttributeRef c, AttributeRef d, AttributeRef e,
                          AttributeRef f, AttributeRef g) noexcept
      : inline_{a, b, c, d, e, f, g}, size_(7) {}
  constexpr AttributeList(AttributeRef a, AttributeRef b, AttributeRef c, AttributeRef d, AttributeRef e,
                          AttributeRef f, AttributeRef g, AttributeRef h) noexcept
      : inline_{a, b, c, d, e, f, g, h}, size_(8) {}
  template <class All>
    requires std::is_same_v<All, std::vector<Attribute>>
  AttributeList(const All& all) noexcept : all_(&all) {}

  /// With texts of their own, sorted by name and type. Throws Error (invalid_name, invalid_attribute) and
  /// LimitError. `whose` begins the message: "instance 'o-7'".
  [[nodiscard]] std::vector<Attribute> checked(std::string_view whose) const;
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0 && all_ == nullptr; }

 private:
  std::array<AttributeRef, kMaxInline> inline_{};
  std::size_t size_ = 0;
  const std::vector<Attribute>* all_ = nullptr;
};
static_assert(std::is_trivially_destructible_v<AttributeList>);

// ---- finding instances --------------------------------------------------------------------------

/// What the value of an attribute has to be. It is asked of the attribute of its own type; a text with `has`
/// of the keywords of that name.
struct AttributeCondition {
  enum class Is : std::uint8_t {
    equal,
    has,          ///< the list of keywords has this text
    starts_with,  ///< of a text
    below,
    at_most,
    above,
    at_least,
  };
  std::string name{};
  Is is = Is::equal;
  AttributeValue value{};
  friend bool operator==(const AttributeCondition&, const AttributeCondition&) = default;
};

std::string_view to_string(AttributeCondition::Is is) noexcept;

/// The order of a list. Without an attribute: the newest first.
struct ListOrder {
  std::string attribute{};
  AttributeType type = AttributeType::text;
  bool descending = true;
  friend bool operator==(const ListOrder&, const ListOrder&) = default;
};

/// Where a page of a list ends.
struct ListPlace {
  ListPlace() = default;
  ListPlace(InstanceKey last) : key(last) {}
  ListPlace(InstanceKey last, AttributeValue with) : key(last), value(std::move(with)) {}

  InstanceKey key{};
  std::optional<AttributeValue> value{};  ///< of the attribute that the list is ordered by
  friend bool operator==(const ListPlace&, const ListPlace&) = default;
};

namespace detail {
/// One attribute with texts of its own. Throws like AttributeList::checked().
Attribute checked_attribute(const AttributeRef& attribute, std::string_view whose);
/// How much it counts towards kMaxAttributesSize.
std::size_t size_of(const Attribute& attribute) noexcept;
/// Why an instance can't have so many, or so much of them.
std::optional<Failure> over_attribute_limit(std::size_t count, std::size_t size);
/// The place of an attribute among those of an instance.
inline bool comes_before(const Attribute& a, std::string_view name, AttributeType type) noexcept {
  const int names = std::string_view(a.name).compare(name);
  return names < 0 || (names == 0 && type_of(a.value) < type);
}
/// Null when there is none. Precondition: sorted by name and type.
const AttributeValue* find_attribute(const std::vector<Attribute>& sorted, std::string_view name,
                                     AttributeType type) noexcept;
/// Sets or, without a value, removes one.
void change_attribute(std::vector<Attribute>& sorted, std::string_view name, AttributeType type,
                      const std::optional<AttributeValue>& value);

/// As the T that the code asked for; a number that does not fit into it throws std::out_of_range.
template <class T>
std::optional<T> attribute_as(const AttributeValue* value) {
  if (value == nullptr) return std::nullopt;
  const auto& own = std::get<static_cast<std::size_t>(attribute_type<T>())>(*value);
  if constexpr (attribute_type<T>() == AttributeType::integer) {
    if (!std::in_range<T>(own))
      throw std::out_of_range("holdfast: the attribute is " + std::to_string(own) +
                              ", which does not fit into the type that was asked for");
  }
  return static_cast<T>(own);
}
}  // namespace detail

}  // namespace holdfast
