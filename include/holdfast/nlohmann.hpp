// A codec for types that already have to_json and from_json for nlohmann's JSON library.
//
//   template <> struct holdfast::Codec<Shape> : holdfast::NlohmannCodec<Shape> {};
//
// nlohmann::json itself works as it is. Two limits are that library's own: it writes NaN and infinities as
// null, and refuses strings that aren't UTF-8.
#pragma once

#include <holdfast/codec.hpp>

#include <nlohmann/json.hpp>

#include <string_view>

namespace holdfast {

template <class T>
struct NlohmannCodec {
  static void write(JsonWriter& out, const T& value) { out.raw(nlohmann::json(value).dump()); }

  static bool read(JsonReader& in, T& value) {
    std::string_view text;
    if (!in.raw(text)) return false;
    try {
      nlohmann::json::parse(text).get_to(value);
      return true;
    } catch (const nlohmann::json::exception& e) {
      return in.fail(e.what());
    }
  }
};

template <>
struct Codec<nlohmann::json> : NlohmannCodec<nlohmann::json> {};

namespace detail {
template <>
inline constexpr bool writes_null<nlohmann::json> = true;
}

}  // namespace holdfast
