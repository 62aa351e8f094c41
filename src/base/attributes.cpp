#include "base/utf8.hpp"

#include <holdfast/attributes.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast {

namespace {

[[noreturn]] void is_invalid(std::string message) {
  throw Error(Failure{.type = "invalid_attribute", .message = std::move(message), .retryable = false});
}

[[noreturn]] void is_too_large(std::string type, std::string message) {
  throw LimitError(Failure{.category = Category::limit,
                           .type = std::move(type),
                           .message = std::move(message),
                           .retryable = false});
}

std::string attribute_in_words(std::string_view whose, std::string_view name) {
  return "the attribute '" + std::string(name) + "' of " + std::string(whose);
}

// Indexes hold texts as a whole, and compare them byte by byte.
void check_text(const std::string& what, std::string_view text) {
  if (!detail::is_utf8(text)) is_invalid(what + " is not valid UTF-8");
  if (text.size() > kMaxAttributeText) {
    is_too_large("attribute_too_large", what + " has " + std::to_string(text.size()) +
                                            " bytes, and may have " + std::to_string(kMaxAttributeText) +
                                            "; keep what is long in a value or in the input");
  }
}

Keywords checked_keywords(const std::string& what, Keywords keywords) {
  std::ranges::sort(keywords);
  const auto twice = std::ranges::unique(keywords);
  keywords.erase(twice.begin(), twice.end());
  for (const std::string& keyword : keywords) check_text("a keyword of " + what, keyword);
  if (keywords.size() > kMaxKeywords) {
    is_too_large("too_many_keywords", what + " has " + std::to_string(keywords.size()) +
                                          " keywords, and may have " + std::to_string(kMaxKeywords));
  }
  return keywords;
}

double checked_real(const std::string& what, double value) {
  if (std::isnan(value)) is_invalid(what + " is not a number");
  return value == 0 ? 0 : value;  // -0.0 is found by 0.0
}

AttributeValue checked_value(const std::string& what, const AttributeRef::Value& given) {
  return std::visit(
      [&]<class T>(const T& value) -> AttributeValue {
        if constexpr (std::is_same_v<T, std::string_view>) {
          check_text(what, value);
          return std::string(value);
        } else if constexpr (std::is_same_v<T, const Names*>) {
          return checked_keywords(what, Keywords(value->begin(), value->end()));
        } else if constexpr (std::is_same_v<T, const Keywords*>) {
          return checked_keywords(what, *value);
        } else if constexpr (std::is_same_v<T, double>) {
          return checked_real(what, value);
        } else {
          return value;
        }
      },
      given);
}

AttributeRef ref_to(const Attribute& attribute) {
  return std::visit([&](const auto& value) { return AttributeRef(attribute.name, value); }, attribute.value);
}

}  // namespace

std::vector<Attribute> AttributeList::checked(std::string_view whose) const {
  std::vector<Attribute> all;
  all.reserve(all_ != nullptr ? all_->size() : size_);
  for (std::size_t i = 0; i < size_; ++i) all.push_back(detail::checked_attribute(inline_.at(i), whose));
  if (all_ != nullptr) {
    for (const Attribute& one : *all_) all.push_back(detail::checked_attribute(ref_to(one), whose));
  }
  std::ranges::sort(all, [](const Attribute& a, const Attribute& b) {
    return detail::comes_before(a, b.name, type_of(b.value));
  });
  const auto twice = std::ranges::adjacent_find(all, [](const Attribute& a, const Attribute& b) {
    return a.name == b.name && type_of(a.value) == type_of(b.value);
  });
  if (twice != all.end()) is_invalid(attribute_in_words(whose, twice->name) + " is given twice");
  std::size_t size = 0;
  for (const Attribute& one : all) size += detail::size_of(one);
  if (auto refused = detail::over_attribute_limit(all.size(), size); refused)
    throw LimitError(*std::move(refused));
  return all;
}

namespace detail {

Attribute checked_attribute(const AttributeRef& attribute, std::string_view whose) {
  std::string name = checked_name("an attribute", attribute.name());
  AttributeValue value = checked_value(attribute_in_words(whose, name), attribute.value());
  return {.name = std::move(name), .value = std::move(value)};
}

std::size_t size_of(const Attribute& attribute) noexcept {
  constexpr std::size_t kNumber = 8;
  std::size_t size = attribute.name.size();
  if (const auto* const text = std::get_if<std::string>(&attribute.value)) return size + text->size();
  const auto* const keywords = std::get_if<Keywords>(&attribute.value);
  if (keywords == nullptr) return size + kNumber;
  for (const std::string& keyword : *keywords) size += keyword.size();
  return size;
}

std::optional<Failure> over_attribute_limit(std::size_t count, std::size_t size) {
  const auto limit = [](std::string type, std::string message) {
    return Failure{.category = Category::limit,
                   .type = std::move(type),
                   .message = std::move(message),
                   .retryable = false};
  };
  if (count > kMaxAttributes) {
    return limit("too_many_attributes", "an instance may have " + std::to_string(kMaxAttributes) +
                                            " attributes, and would have " + std::to_string(count) +
                                            "; clear some by which nobody searches");
  }
  if (size > kMaxAttributesSize) {
    return limit("attributes_too_large", "all attributes of an instance may have " +
                                             std::to_string(kMaxAttributesSize) +
                                             " bytes together, and would have " + std::to_string(size));
  }
  return std::nullopt;
}

namespace {
auto place_of(auto& sorted, std::string_view name, AttributeType type) {
  return std::ranges::partition_point(sorted,
                                      [&](const Attribute& one) { return comes_before(one, name, type); });
}
bool is_at(const auto& place, const auto& sorted, std::string_view name, AttributeType type) {
  return place != sorted.end() && place->name == name && type_of(place->value) == type;
}
}  // namespace

const AttributeValue* find_attribute(const std::vector<Attribute>& sorted, std::string_view name,
                                     AttributeType type) noexcept {
  const auto place = place_of(sorted, name, type);
  return is_at(place, sorted, name, type) ? &place->value : nullptr;
}

void change_attribute(std::vector<Attribute>& sorted, std::string_view name, AttributeType type,
                      const std::optional<AttributeValue>& value) {
  const auto place = place_of(sorted, name, type);
  const bool is_there = is_at(place, sorted, name, type);
  if (!value) {
    if (is_there) sorted.erase(place);
  } else if (is_there) {
    place->value = *value;
  } else {
    sorted.insert(place, Attribute{.name = std::string(name), .value = *value});
  }
}

}  // namespace detail

}  // namespace holdfast
