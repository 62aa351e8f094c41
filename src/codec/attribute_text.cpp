// Search attributes as people write them.
#include <holdfast/attributes.hpp>
#include <holdfast/codec.hpp>

#include <string>
#include <type_traits>
#include <variant>

namespace holdfast {

std::string to_string(const AttributeValue& value) {
  return std::visit(
      []<class T>(const T& own) {
        std::string text = encode(own).bytes;
        // Times stand without quotes, as in filters.
        if constexpr (std::is_same_v<T, CalendarTime>) text = text.substr(1, text.size() - 2);
        return text;
      },
      value);
}

}  // namespace holdfast
