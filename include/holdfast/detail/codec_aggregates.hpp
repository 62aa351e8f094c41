// The codec of aggregates: an object with a field for each member. Unknown fields are ignored, so that old
// code reads what newer code wrote; missing ones keep the member's default, so that new code reads old
// values.
#pragma once

#include <holdfast/detail/codec_base.hpp>
#include <holdfast/detail/fields.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast {

namespace detail {

/// How to read an object into some `target`: the loop over its fields is the same for all types.
struct FieldTable {
  using Read = bool (*)(JsonReader& in, void* target);
  const std::string_view* keys;  // as in field_keys
  const Read* read;
  std::size_t count;
  std::uint64_t required;
};
bool read_fields(JsonReader& in, const FieldTable& table, void* target);

// `,"name":` for each field, ready to be copied.
template <class T, std::size_t I>
constexpr auto make_key() {
  constexpr std::string_view name = field_names<T>[I];
  std::array<char, name.size() + 4> key{};
  std::size_t at = 0;
  key[at++] = ',';
  key[at++] = '"';
  for (const char c : name) key[at++] = c;
  key[at++] = '"';
  key[at++] = ':';
  return key;
}
template <class T, std::size_t I>
inline constexpr auto field_key = make_key<T, I>();
template <class T, std::size_t I>
inline constexpr std::string_view field_key_text{field_key<T, I>.data(), field_key<T, I>.size()};

template <class T, std::size_t... I>
constexpr auto list_field_keys(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{field_key_text<T, I>...};
}
template <class T>
inline constexpr auto field_keys = list_field_keys<T>(std::make_index_sequence<field_count<T>>{});

template <class T, std::size_t I>
bool read_field(JsonReader& in, void* target) {
  return read_value<FieldType<T, I>>(in, std::get<I>(fields_of(*static_cast<T*>(target))));
}

// Members of a T that can't be made without some of them are gathered first.
template <class T, class Indices>
struct GatheredFields;
template <class T, std::size_t... I>
struct GatheredFields<T, std::index_sequence<I...>> {
  using Tuple = std::tuple<std::optional<FieldType<T, I>>...>;

  template <std::size_t K>
  static bool read_one(JsonReader& in, void* target) {
    auto& field = std::get<K>(*static_cast<Tuple*>(target));
    field = make_value<FieldType<T, K>>(in);
    return field.has_value();
  }
  static constexpr std::array<FieldTable::Read, sizeof...(I)> kRead{&read_one<I>...};

  template <std::size_t... Given>
  static T make(Tuple& gathered, std::index_sequence<Given...>) {
    T object{std::move(*std::get<Given>(gathered))...};
    auto members = fields_of(object);
    const auto set = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      if constexpr (K >= sizeof...(Given)) {
        if (std::get<K>(gathered)) std::get<K>(members) = std::move(*std::get<K>(gathered));
      }
    };
    (set(std::integral_constant<std::size_t, I>{}), ...);
    return object;
  }
};

template <class T>
constexpr bool has_fields() {
  if constexpr (ListsFields<T>) {
    return field_count<T> <= kMaxMembers;
  } else {
    return is_reflectable<T>();
  }
}

}  // namespace detail

template <class T>
struct Codec {
  static_assert(
      !std::is_pointer_v<T>,
      "holdfast: a pointer means nothing in another process; encode the value that it points to, or hold it "
      "in a std::unique_ptr or std::shared_ptr");
  static_assert(
      std::is_pointer_v<T> || detail::has_fields<T>(),
      "holdfast: the members of this type can't be found by reflection (it has private members, a "
      "constructor, a base class, a C array, or more than 64 members); put HOLDFAST_FIELDS(member, ...) "
      "into the class, or specialise holdfast::Codec for it");

  static void write(JsonWriter& out, const T& object) { write(out, object, Indices{}); }

  static bool read(JsonReader& in, T& object)
    requires std::default_initializable<T>
  {
    return read(in, &object, Indices{});
  }
  static std::optional<T> read(JsonReader& in)
    requires(!std::default_initializable<T>)
  {
    using Gathered = detail::GatheredFields<T, Indices>;
    static constexpr detail::FieldTable kTable{detail::field_keys<T>.data(), Gathered::kRead.data(), kCount,
                                               kRequired};
    typename Gathered::Tuple gathered;
    if (!detail::read_fields(in, kTable, &gathered)) return std::nullopt;
    return Gathered::make(gathered, std::make_index_sequence<detail::members_to_give<T>>{});
  }

 private:
  static constexpr std::size_t kCount = detail::field_count<T>;
  static constexpr std::uint64_t kRequired = detail::required_fields<T>;
  static_assert(detail::has_required_names<T>,
                "holdfast: HOLDFAST_REQUIRED names a field that the type doesn't have");
  using Indices = std::make_index_sequence<kCount>;

  template <std::size_t... I>
  static void write(JsonWriter& out, const T& object, std::index_sequence<I...>) {
    if constexpr (kCount == 0) {
      out.begin_object();
      out.end_object();
    } else {
      const auto members = detail::fields_of(object);
      const auto write_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
        if constexpr (K == 0) {
          out.open_fields(detail::field_key_text<T, K>);
        } else {
          out.next_field(detail::field_key_text<T, K>);
        }
        detail::write_value<detail::FieldType<T, K>>(out, std::get<K>(members));
      };
      (write_one(std::integral_constant<std::size_t, I>{}), ...);
      out.close_fields();
    }
  }

  template <std::size_t... I>
  static bool read(JsonReader& in, T* object, std::index_sequence<I...>) {
    static constexpr std::array<detail::FieldTable::Read, kCount> kRead{&detail::read_field<T, I>...};
    static constexpr detail::FieldTable kTable{detail::field_keys<T>.data(), kRead.data(), kCount, kRequired};
    return detail::read_fields(in, kTable, object);
  }
};

}  // namespace holdfast
