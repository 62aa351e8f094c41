#include "codec/binary.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace holdfast::history {

namespace {

constexpr std::uint8_t kJsonCode = 0;
constexpr std::uint8_t kBytesCode = 1;

bool to_encoding(std::string_view id, Encoding& encoding) {
  try {
    encoding = Encoding(id);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace

bool BinaryReader::fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

// The reader still stands before what could not be read. When a whole varint is there, that is either the
// length of something longer than the rest, or a number that no writer writes.
bool BinaryReader::fail_read() {
  const std::string_view rest = bytes.rest();
  const bool ends =
      std::any_of(rest.begin(), rest.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
  std::uint64_t number = 0;
  const bool malformed = (ends || rest.size() >= kMaxVarintSize) && !ByteReader(rest).varint(number);
  return fail(malformed ? "is malformed" : "is cut off");
}

bool BinaryReader::in_field(std::string_view name) {
  path_.insert(0, std::string(name) + (path_.empty() ? "" : "."));
  return false;
}

bool Binary<bool>::read(BinaryReader& in, bool& value) {
  std::uint8_t byte = 0;
  if (!in.bytes.byte(byte)) return in.fail_read();
  value = byte == 1;
  return byte <= 1 || in.fail("is malformed");
}

void Binary<Payload>::write(BinaryWriter& out, const Payload& payload) {
  if (payload.encoding == kJsonEncoding) {
    out.bytes.byte(kJsonCode);
  } else if (payload.encoding == kBytesEncoding) {
    out.bytes.byte(kBytesCode);
  } else {
    const std::string_view id = payload.encoding.id();
    out.bytes.byte(static_cast<std::uint8_t>(1 + id.size()));
    for (const char c : id) out.bytes.byte(static_cast<std::uint8_t>(c));
  }
  out.bytes.string(payload.bytes);
}

bool Binary<Payload>::read(BinaryReader& in, Payload& payload) {
  std::uint8_t code = 0;
  if (!in.bytes.byte(code)) return in.fail_read();
  if (code == kJsonCode) {
    payload.encoding = kJsonEncoding;
  } else if (code == kBytesCode) {
    payload.encoding = kBytesEncoding;
  } else {
    std::string_view id;
    if (!in.bytes.take(code - std::size_t{1}, id)) return in.fail("is cut off");
    if (!to_encoding(id, payload.encoding)) return in.fail("has an invalid encoding");
  }
  return Binary<std::string>::read(in, payload.bytes);
}

void Binary<AttributeValue>::write(BinaryWriter& out, const AttributeValue& value) {
  Binary<AttributeType>::write(out, type_of(value));
  std::visit([&]<class T>(const T& own) { Binary<T>::write(out, own); }, value);
}

bool Binary<AttributeValue>::read(BinaryReader& in, AttributeValue& value) {
  const auto read_as = [&]<class T>(std::type_identity<T>) {
    return Binary<T>::read(in, value.emplace<T>());
  };
  AttributeType type{};
  if (!Binary<AttributeType>::read(in, type)) return false;
  switch (type) {
    case AttributeType::text:
      return read_as(std::type_identity<std::string>());
    case AttributeType::keywords:
      return read_as(std::type_identity<Keywords>());
    case AttributeType::integer:
      return read_as(std::type_identity<std::int64_t>());
    case AttributeType::real:
      return read_as(std::type_identity<double>());
    case AttributeType::boolean:
      return read_as(std::type_identity<bool>());
    case AttributeType::time:
      return read_as(std::type_identity<CalendarTime>());
  }
  return false;
}

void Binary<std::shared_ptr<const Failure>>::write(BinaryWriter& out,
                                                   const std::shared_ptr<const Failure>& cause) {
  const bool there = cause && out.causes < kMaxCauses;
  out.bytes.byte(there ? 1 : 0);
  if (!there) return;
  ++out.causes;
  Binary<Failure>::write(out, *cause);
  --out.causes;
}

bool Binary<std::shared_ptr<const Failure>>::read(BinaryReader& in, std::shared_ptr<const Failure>& cause) {
  bool there = false;
  if (!Binary<bool>::read(in, there)) return false;
  if (!there) return true;
  if (in.causes == kMaxCauses) return in.fail("has too many causes");
  const auto failure = std::make_shared<Failure>();
  ++in.causes;
  const bool fine = Binary<Failure>::read(in, *failure);
  --in.causes;
  cause = failure;
  return fine;
}

}  // namespace holdfast::history
