// Codecs of the standard containers, of optional values and of variants. Equal values have equal text:
// unordered containers are sorted.
#pragma once

#include <holdfast/detail/codec_base.hpp>
#include <holdfast/detail/codec_scalars.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

namespace detail {

// ---- sequences and sets: arrays -----------------------------------------------------------------

template <class Container>
struct SequenceCodec {
  using Element = typename Container::value_type;

  static void write(JsonWriter& out, const Container& values) {
    out.begin_array();
    for (const auto& value : values) write_value<Element>(out, value);
    out.end_array();
  }
  static bool read(JsonReader& in, Container& values) {
    values.clear();
    return in.array([&](std::size_t) {
      if constexpr (std::default_initializable<Element> && requires { values.emplace_back(); } &&
                    !std::same_as<Element, bool>) {
        return read_value<Element>(in, values.emplace_back());
      } else {
        std::optional<Element> value = make_value<Element>(in);
        if (value) values.insert(values.end(), std::move(*value));
        return value.has_value();
      }
    });
  }
};

// The JSON of each element, sorted: containers that hash have no order that two processes agree on.
template <class Container, class WriteOne>
std::multiset<std::string> sorted_texts(const Container& values, WriteOne write_one) {
  std::multiset<std::string> texts;
  for (const auto& value : values) {
    JsonWriter out;
    write_one(out, value);
    texts.insert(out.take());
  }
  return texts;
}

template <class Container>
struct UnorderedSetCodec {
  using Element = typename Container::value_type;

  static void write(JsonWriter& out, const Container& values) {
    out.begin_array();
    for (const auto& text : sorted_texts(values, &write_value<Element>)) out.raw(text);
    out.end_array();
  }
  static bool read(JsonReader& in, Container& values) { return SequenceCodec<Container>::read(in, values); }
};

// ---- maps: objects where the keys allow it, arrays of pairs otherwise ---------------------------

/// Keys that can be the name of a field: text, whole numbers and enums.
template <class Key>
concept HasTextKey =
    std::same_as<Key, std::string> || (std::integral<Key> && !IsCharacter<Key>) || FixedEnum<Key>;

template <class Key>
std::string key_text(const Key& key) {
  if constexpr (std::same_as<Key, std::string>) {
    return key;
  } else {
    JsonWriter out;
    write_value(out, key);
    std::string text = out.take();
    return text.front() == '"' ? text.substr(1, text.size() - 2) : text;
  }
}

template <class Key>
bool read_key(JsonReader& in, std::string_view text, Key& key) {
  if constexpr (std::same_as<Key, std::string>) {
    key.assign(text);
    return true;
  } else {
    const bool number = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    const std::string json = number ? std::string(text) : '"' + std::string(text) + '"';
    JsonReader inner(json);
    return (read_value(inner, key) && inner.finish()) || in.fail("the key: " + inner.error());
  }
}

bool are_utf8(const std::vector<std::string_view>& texts);

template <class Container, bool kUnique>
struct MapCodec {
  using Key = typename Container::key_type;
  using Value = typename Container::mapped_type;

  static void write(JsonWriter& out, const Container& values) {
    if (fits_object(values)) {
      write_object(out, values);
    } else {
      write_pairs(out, values);
    }
  }

  static bool read(JsonReader& in, Container& values) {
    values.clear();
    if (in.peek() == JsonKind::array) {
      return in.array([&](std::size_t) {
        auto pair = make_value<std::pair<Key, Value>>(in);
        return pair && insert(in, values, std::move(pair->first), std::move(pair->second));
      });
    }
    if constexpr (HasTextKey<Key> && kUnique) {
      return in.object([&](std::string_view name) {
        Key key{};
        if (!read_key(in, name, key)) return false;
        auto value = make_value<Value>(in);
        return value && insert(in, values, std::move(key), std::move(*value));
      });
    } else {
      return in.fail_expected("array of [key, value] pairs");
    }
  }

 private:
  static constexpr bool kOrdered = requires { typename Container::key_compare; };

  static bool fits_object(const Container& values) {
    if constexpr (!HasTextKey<Key> || !kUnique) {
      return false;
    } else if constexpr (std::same_as<Key, std::string>) {
      std::vector<std::string_view> keys;
      keys.reserve(values.size());
      for (const auto& [key, value] : values) keys.push_back(key);
      return are_utf8(keys);
    } else {
      return true;
    }
  }

  static void write_object(JsonWriter& out, const Container& values) {
    out.begin_object();
    if constexpr (kOrdered) {
      for (const auto& [key, value] : values) write_field(out, key_text(key), value);
    } else {
      std::map<std::string, const Value*> sorted;
      for (const auto& [key, value] : values) sorted.emplace(key_text(key), &value);
      for (const auto& [name, value] : sorted) write_field(out, name, *value);
    }
    out.end_object();
  }

  static void write_field(JsonWriter& out, const std::string& name, const Value& value) {
    out.key(name);
    write_value<Value>(out, value);
  }

  static void write_pair(JsonWriter& out, const typename Container::value_type& pair) {
    out.begin_array();
    write_value<Key>(out, pair.first);
    write_value<Value>(out, pair.second);
    out.end_array();
  }

  static void write_pairs(JsonWriter& out, const Container& values) {
    out.begin_array();
    if constexpr (kOrdered) {
      for (const auto& pair : values) write_pair(out, pair);
    } else {
      for (const auto& text : sorted_texts(values, &write_pair)) out.raw(text);
    }
    out.end_array();
  }

  static bool insert(JsonReader& in, Container& values, Key key, Value value) {
    const std::size_t before = values.size();
    values.emplace(std::move(key), std::move(value));
    return values.size() > before || in.fail("the same key stands here twice");
  }
};

// ---- fixed lengths: arrays of exactly that many -------------------------------------------------

template <class Tuple, std::size_t... I>
void write_tuple(JsonWriter& out, const Tuple& values, std::index_sequence<I...>) {
  out.begin_array();
  (write_value<std::remove_cvref_t<std::tuple_element_t<I, Tuple>>>(out, std::get<I>(values)), ...);
  out.end_array();
}

inline bool wrong_length(JsonReader& in, std::size_t expected, std::size_t found) {
  return in.fail("expected an array of " + std::to_string(expected) + ", found one of " +
                 std::to_string(found));
}

// Counts the elements while `read(i)` reads those that are wanted.
template <class Read>
bool read_exactly(JsonReader& in, std::size_t expected, Read read) {
  std::size_t found = 0;
  const bool fine = in.array([&](std::size_t i) {
    ++found;
    return i < expected ? read(i) : in.skip();
  });
  return fine && (found == expected || wrong_length(in, expected, found));
}

template <class... T>
std::optional<std::tuple<T...>> make_tuple(JsonReader& in) {
  std::tuple<std::optional<T>...> parts;
  const bool fine = read_exactly(in, sizeof...(T), [&](std::size_t i) {
    bool read = false;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((i == I ? void(read = (std::get<I>(parts) = make_value<T>(in)).has_value()) : void()), ...);
    }(std::index_sequence_for<T...>{});
    return read;
  });
  if (!fine) return std::nullopt;
  return std::apply([](auto&... part) { return std::tuple<T...>(std::move(*part)...); }, parts);
}

template <class Array>
struct FixedArrayCodec {
  using Element = std::remove_cvref_t<decltype(std::declval<Array&>()[0])>;

  static void write(JsonWriter& out, const Array& values) {
    out.begin_array();
    for (const auto& value : values) write_value<Element>(out, value);
    out.end_array();
  }
  static bool read(JsonReader& in, Array& values) {
    return read_exactly(in, std::size(values),
                        [&](std::size_t i) { return read_value<Element>(in, values[i]); });
  }
};

// ---- nullable values ----------------------------------------------------------------------------

/// Types whose own JSON may be null: an optional one of them is written as an array of none or one.
template <class T>
inline constexpr bool writes_null = std::is_same_v<T, std::monostate>;
template <class T>
inline constexpr bool writes_null<std::optional<T>> = true;
template <class T>
inline constexpr bool writes_null<std::unique_ptr<T>> = true;
template <class T>
inline constexpr bool writes_null<std::shared_ptr<T>> = true;

template <class T, class Pointer>
void write_nullable(JsonWriter& out, const Pointer& value) {
  if (!value) return out.null();
  if constexpr (writes_null<T>) out.begin_array();
  write_value<T>(out, *value);
  if constexpr (writes_null<T>) out.end_array();
}

// `set(value)` is called when there is one.
template <class T, class Set>
bool read_nullable(JsonReader& in, Set set) {
  if (in.peek() == JsonKind::null) return in.null();
  if constexpr (writes_null<T>) {
    return read_exactly(in, 1, [&](std::size_t) {
      std::optional<T> value = make_value<T>(in);
      if (value) set(std::move(*value));
      return value.has_value();
    });
  } else {
    std::optional<T> value = make_value<T>(in);
    if (value) set(std::move(*value));
    return value.has_value();
  }
}

}  // namespace detail

template <class T, class A>
struct Codec<std::vector<T, A>> : detail::SequenceCodec<std::vector<T, A>> {};
template <class T, class A>
struct Codec<std::deque<T, A>> : detail::SequenceCodec<std::deque<T, A>> {};
template <class T, class A>
struct Codec<std::list<T, A>> : detail::SequenceCodec<std::list<T, A>> {};
template <class T, class C, class A>
struct Codec<std::set<T, C, A>> : detail::SequenceCodec<std::set<T, C, A>> {};
template <class T, class C, class A>
struct Codec<std::multiset<T, C, A>> : detail::SequenceCodec<std::multiset<T, C, A>> {};
template <class T, class H, class E, class A>
struct Codec<std::unordered_set<T, H, E, A>> : detail::UnorderedSetCodec<std::unordered_set<T, H, E, A>> {};
template <class T, class H, class E, class A>
struct Codec<std::unordered_multiset<T, H, E, A>>
    : detail::UnorderedSetCodec<std::unordered_multiset<T, H, E, A>> {};

template <class K, class V, class C, class A>
struct Codec<std::map<K, V, C, A>> : detail::MapCodec<std::map<K, V, C, A>, true> {};
template <class K, class V, class C, class A>
struct Codec<std::multimap<K, V, C, A>> : detail::MapCodec<std::multimap<K, V, C, A>, false> {};
template <class K, class V, class H, class E, class A>
struct Codec<std::unordered_map<K, V, H, E, A>> : detail::MapCodec<std::unordered_map<K, V, H, E, A>, true> {
};
template <class K, class V, class H, class E, class A>
struct Codec<std::unordered_multimap<K, V, H, E, A>>
    : detail::MapCodec<std::unordered_multimap<K, V, H, E, A>, false> {};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> : detail::FixedArrayCodec<std::array<T, N>> {};
template <class T, std::size_t N>
struct Codec<T[N]> : detail::FixedArrayCodec<T[N]> {};

/// A text in a buffer: the NULs that fill it up are left out, and put back.
template <std::size_t N>
struct Codec<char[N]> {
  static void write(JsonWriter& out, const char (&value)[N]) {
    const std::string_view whole(value, N);
    out.string(whole.substr(0, whole.find_last_not_of('\0') + 1));
  }
  static bool read(JsonReader& in, char (&value)[N]) {
    std::string text;
    if (!in.string(text)) return false;
    if (text.size() > N)
      return in.fail("expected at most " + std::to_string(N) + " bytes, found " +
                     std::to_string(text.size()));
    text.resize(N);
    std::copy(text.begin(), text.end(), value);
    return true;
  }
};

template <class... T>
struct Codec<std::tuple<T...>> {
  static void write(JsonWriter& out, const std::tuple<T...>& values) {
    detail::write_tuple(out, values, std::index_sequence_for<T...>{});
  }
  static bool read(JsonReader& in, std::tuple<T...>& values) {
    auto read = detail::make_tuple<T...>(in);
    if (read) values = std::move(*read);
    return read.has_value();
  }
  static std::optional<std::tuple<T...>> read(JsonReader& in) { return detail::make_tuple<T...>(in); }
};

template <class A, class B>
struct Codec<std::pair<A, B>> {
  static void write(JsonWriter& out, const std::pair<A, B>& values) {
    detail::write_tuple(out, values, std::index_sequence_for<A, B>{});
  }
  static bool read(JsonReader& in, std::pair<A, B>& values) {
    auto pair = read(in);
    if (pair) values = std::move(*pair);
    return pair.has_value();
  }
  static std::optional<std::pair<A, B>> read(JsonReader& in) {
    auto parts = detail::make_tuple<A, B>(in);
    if (!parts) return std::nullopt;
    return std::pair<A, B>(std::move(std::get<0>(*parts)), std::move(std::get<1>(*parts)));
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static void write(JsonWriter& out, const std::optional<T>& value) { detail::write_nullable<T>(out, value); }
  static bool read(JsonReader& in, std::optional<T>& value) {
    value.reset();
    return detail::read_nullable<T>(in, [&](T&& read) { value.emplace(std::move(read)); });
  }
};

template <class T>
struct Codec<std::unique_ptr<T>> {
  static void write(JsonWriter& out, const std::unique_ptr<T>& value) {
    detail::write_nullable<T>(out, value);
  }
  static bool read(JsonReader& in, std::unique_ptr<T>& value) {
    value.reset();
    return detail::read_nullable<T>(in, [&](T&& read) { value = std::make_unique<T>(std::move(read)); });
  }
};

/// Each pointer is written as a value of its own: that two of them shared one object is not kept.
template <class T>
struct Codec<std::shared_ptr<T>> {
  using Value = std::remove_const_t<T>;
  static void write(JsonWriter& out, const std::shared_ptr<T>& value) {
    detail::write_nullable<Value>(out, value);
  }
  static bool read(JsonReader& in, std::shared_ptr<T>& value) {
    value.reset();
    return detail::read_nullable<Value>(
        in, [&](Value&& read) { value = std::make_shared<Value>(std::move(read)); });
  }
};

/// `[index, value]`: alternatives of the same type stay apart.
template <class... T>
struct Codec<std::variant<T...>> {
  static void write(JsonWriter& out, const std::variant<T...>& value) {
    out.begin_array();
    out.integer(static_cast<std::uint64_t>(value.index()));
    std::visit([&]<class V>(const V& held) { detail::write_value<V>(out, held); }, value);
    out.end_array();
  }
  static bool read(JsonReader& in, std::variant<T...>& value) {
    auto read = Codec::read(in);
    if (read) value = std::move(*read);
    return read.has_value();
  }
  static std::optional<std::variant<T...>> read(JsonReader& in) {
    std::uint64_t index = 0;
    std::optional<std::variant<T...>> value;
    const bool fine = detail::read_exactly(in, 2, [&](std::size_t i) {
      if (i == 0) return in.integer(index, sizeof...(T) - 1);
      read_alternative(in, index, value, std::index_sequence_for<T...>{});
      return value.has_value();
    });
    if (!fine) value.reset();
    return value;
  }

 private:
  template <std::size_t... I>
  static void read_alternative(JsonReader& in, std::uint64_t index, std::optional<std::variant<T...>>& value,
                               std::index_sequence<I...>) {
    const auto try_one = [&]<std::size_t K, class V>(std::integral_constant<std::size_t, K>,
                                                     std::type_identity<V>) {
      if (index != K) return;
      if (std::optional<V> held = detail::make_value<V>(in))
        value.emplace(std::in_place_index<K>, std::move(*held));
    };
    (try_one(std::integral_constant<std::size_t, I>{}, std::type_identity<T>{}), ...);
  }
};

}  // namespace holdfast
