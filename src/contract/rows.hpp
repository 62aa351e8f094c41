// What is the same in the rows of all stores: structs that are kept as bytes. The form is positional and
// grows at its end only, like that of history.
#pragma once

#include "codec/binary.hpp"

#include <holdfast/clock.hpp>

#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::history {

/// How many, then one after the other, sorted.
template <class T, class Less>
struct Binary<std::set<T, Less>> {
  static void write(BinaryWriter& out, const std::set<T, Less>& values) {
    out.bytes.varint(values.size());
    for (const T& value : values) Binary<T>::write(out, value);
  }
  static bool read(BinaryReader& in, std::set<T, Less>& values) {
    std::uint64_t count = 0;
    if (!in.bytes.varint(count)) return in.fail_read();
    if (count > in.bytes.left()) return in.fail("is cut off");
    values.clear();
    for (; count > 0; --count) {
      T value{};
      if (!Binary<T>::read(in, value)) return false;
      values.insert(std::move(value));
    }
    return true;
  }
};

/// Of the lease clock of a store: a number of microseconds.
template <>
struct Binary<BootTime> {
  static void write(BinaryWriter& out, BootTime time) {
    Binary<CalendarTime>::write(out, CalendarTime(time.time_since_epoch()));
  }
  static bool read(BinaryReader& in, BootTime& time) {
    CalendarTime number;
    if (!Binary<CalendarTime>::read(in, number)) return false;
    time = BootTime(number.time_since_epoch());
    return true;
  }
};

}  // namespace holdfast::history

namespace holdfast::store {

template <class T>
std::string to_bytes(const T& value) {
  std::string bytes;
  constexpr std::size_t kUsualSize = 160;
  bytes.reserve(kUsualSize);
  history::BinaryWriter out{history::ByteWriter(bytes)};
  history::Binary<T>::write(out, value);
  return bytes;
}

/// False when the bytes are damaged.
template <class T>
bool from_bytes(std::string_view bytes, T& value) {
  history::BinaryReader in(bytes);
  return history::Binary<T>::read(in, value);
}

}  // namespace holdfast::store
