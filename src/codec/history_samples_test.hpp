// Histories that tests share: fixed ones, and random ones for rapidcheck.
#pragma once

#include "codec/history.hpp"
#include "codec/segment.hpp"

#include <holdfast/detail/enum_names.hpp>
#include <holdfast/detail/fields.hpp>

#include <rapidcheck.h>

#include <array>
#include <bit>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::history {

// ---- fixed ones ---------------------------------------------------------------------------------

/// Numbers the bodies from `first` on.
std::vector<Event> number_events(EventId first, std::vector<Body> bodies);

/// One event of each kind, with every field away from its default.
std::vector<Event> full_events();
/// One event of each kind, with every field at its default.
std::vector<Event> default_events();
/// A turn as they are: an order is charged, and its deadline is dropped.
std::vector<Event> order_turn();

/// The events as one segment. They must be numbered one after the other.
std::string write_segment(const std::vector<Event>& events);

// ---- random ones --------------------------------------------------------------------------------

/// A random T. For use inside of rc::gen::exec and of properties; shrinks towards short and few.
template <class T>
struct Pick;

template <class T>
T pick() {
  return Pick<T>::pick();
}

/// Events of any kind, numbered one after the other from any number on.
rc::Gen<std::vector<Event>> any_events();

template <class T>
struct Pick {
  static T pick() {
    if constexpr (std::is_enum_v<T>) {
      std::vector<T> named;
      for (int n = 0; n < 256; ++n) {
        if (!detail::enum_name(static_cast<T>(n)).empty()) named.push_back(static_cast<T>(n));
      }
      return *rc::gen::elementOf(named);
    } else if constexpr (std::is_class_v<T>) {
      T object{};
      std::apply(
          [](auto&... field) { ((field = history::pick<std::remove_cvref_t<decltype(field)>>()), ...); },
          detail::fields_of(object));
      return object;
    } else {
      return *rc::gen::arbitrary<T>();
    }
  }
};

/// Any bits but those that don't equal themselves.
template <>
struct Pick<double> {
  static double pick() {
    const auto value = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
    return value == value ? value : 0.5;
  }
};

/// Mostly names, sometimes any bytes.
template <>
struct Pick<std::string> {
  static std::string pick() {
    return *rc::gen::oneOf(rc::gen::arbitrary<std::string>(),
                           rc::gen::element<std::string>("", "charge", "gpu:l4", "\xC3\xA9t\xC3\xA9"));
  }
};

template <class Tag>
struct Pick<Number<Tag>> {
  static Number<Tag> pick() { return {*rc::gen::arbitrary<std::uint64_t>()}; }
};

template <>
struct Pick<Duration> {
  static Duration pick() {
    return Duration(*rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                                    rc::gen::element(never.count(), Duration::min().count(), Duration::rep{0},
                                                     Duration::rep{30'000'000})));
  }
};
template <>
struct Pick<CalendarTime> {
  static CalendarTime pick() { return CalendarTime(history::pick<Duration>()); }
};

/// JSON of all sorts, good and bad, and other bytes.
template <>
struct Pick<Payload> {
  static Payload pick() {
    const auto encoding = *rc::gen::element(kJsonEncoding, kBytesEncoding, Encoding("frame-v1"),
                                            Encoding("x"), Encoding("fifteen-letters"));
    auto bytes = *rc::gen::oneOf(
        rc::gen::arbitrary<std::string>(),
        rc::gen::element<std::string>("", "null", "12", " 12", "{\"a\": [1,\"x\"]}", "[1,\n2]", "1],[2",
                                      R"({"encoding":"bytes","$b64":""})", R"({"$b64":"AA=="})",
                                      std::string(480, '[') + std::string(480, ']')));
    return {encoding, std::move(bytes)};
  }
};

template <>
struct Pick<AttributeValue> {
  static AttributeValue pick() {
    return *rc::gen::element(AttributeValue(history::pick<std::string>()),
                             AttributeValue(Keywords{history::pick<std::string>(), ""}),
                             AttributeValue(history::pick<std::int64_t>()),
                             AttributeValue(history::pick<double>()), AttributeValue(false),
                             AttributeValue(history::pick<CalendarTime>()));
  }
};

template <class T>
struct Pick<detail::Boxed<T>> {
  static detail::Boxed<T> pick() { return history::pick<T>(); }
};
template <class T>
struct Pick<std::optional<T>> {
  static std::optional<T> pick() {
    if (!*rc::gen::arbitrary<bool>()) return std::nullopt;
    return history::pick<T>();
  }
};
template <class T>
struct Pick<std::vector<T>> {
  static std::vector<T> pick() {
    std::vector<T> values(*rc::gen::inRange<std::size_t>(0, 4));
    for (T& value : values) value = history::pick<T>();
    return values;
  }
};
template <class Key, class Value>
struct Pick<std::map<Key, Value>> {
  static std::map<Key, Value> pick() {
    std::map<Key, Value> values;
    for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
      values.insert_or_assign(history::pick<Key>(), history::pick<Value>());
    }
    return values;
  }
};
template <>
struct Pick<std::shared_ptr<const Failure>> {
  static std::shared_ptr<const Failure> pick() {
    if (*rc::gen::inRange(0, 3) != 2) return nullptr;
    return std::make_shared<const Failure>(history::pick<Failure>());
  }
};

template <>
struct Pick<Body> {
  static Body pick() { return pick_kind(std::make_index_sequence<std::variant_size_v<Body>>{}); }

 private:
  template <std::size_t... Kind>
  static Body pick_kind(std::index_sequence<Kind...>) {
    const auto kind = *rc::gen::inRange<std::size_t>(0, sizeof...(Kind));
    Body body;
    ((kind == Kind ? void(body = history::pick<std::variant_alternative_t<Kind, Body>>()) : void()), ...);
    return body;
  }
};

}  // namespace holdfast::history
