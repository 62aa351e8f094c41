#include <holdfast/context.hpp>
#include <holdfast/detail/enum_names.hpp>

namespace holdfast {

std::string_view to_string(SessionEvent::Kind kind) noexcept { return detail::enum_name(kind); }

std::string Context::uuid() {
  const std::uint64_t high = (random() & 0xFFFFFFFFFFFF0FFFU) | 0x0000000000004000U;  // version 4
  const std::uint64_t low =
      (random() & 0x3FFFFFFFFFFFFFFFU) | 0x8000000000000000U;  // the variant of RFC 9562
  std::string text = detail::to_hex(high, low);
  for (const std::size_t dash : {8U, 13U, 18U, 23U}) text.insert(dash, 1, '-');
  return text;
}

}  // namespace holdfast
