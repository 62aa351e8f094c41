// Payload: the encoded bytes of a value that goes between orchestrations, activities and clients.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast {

/// How the bytes of a payload are encoded: `json`, `bytes`, or the id of a user's codec.
/// 1 to 15 printable ASCII characters, kept in place: an Encoding never allocates.
class Encoding {
 public:
  static constexpr std::size_t kMaxSize = 15;

  /// Throws std::invalid_argument when `id` is empty, too long or not printable ASCII.
  constexpr explicit Encoding(std::string_view id) {
    if (id.empty() || id.size() > kMaxSize) throw std::invalid_argument(kRule);
    for (std::size_t i = 0; i < id.size(); ++i) {
      if (id[i] <= ' ' || id[i] > '~') throw std::invalid_argument(kRule);
      id_[i] = id[i];
    }
    size_ = static_cast<std::uint8_t>(id.size());
  }

  [[nodiscard]] constexpr std::string_view id() const noexcept { return {id_.data(), size_}; }
  friend constexpr bool operator==(const Encoding&, const Encoding&) = default;

 private:
  static constexpr const char* kRule =
      "the id of a payload encoding has 1 to 15 printable ASCII characters and no space";
  std::array<char, kMaxSize> id_{};
  std::uint8_t size_ = 0;
};

inline constexpr Encoding kJsonEncoding{"json"};
inline constexpr Encoding kBytesEncoding{"bytes"};

/// An encoded value. Engine and stores carry the bytes verbatim and never look inside.
struct Payload {
  Encoding encoding = kJsonEncoding;
  std::string bytes{};

  friend bool operator==(const Payload&, const Payload&) = default;
};

}  // namespace holdfast
