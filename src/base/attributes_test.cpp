#include <holdfast/attributes.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace holdfast::attributes_test {
namespace {

std::vector<Attribute> owned(const AttributeList& list) { return list.checked("instance 'o-1'"); }

std::string why_not(const AttributeList& list) {
  try {
    owned(list);
  } catch (const Error& e) {
    return e.failure().type + ": " + e.failure().message;
  }
  return "";
}

TEST(Attributes, AreListedInlineByNameAndType) {
  const std::string name = "acme";
  const std::vector<Attribute> all = owned({{"customer", name},
                                            {"cents", 1200},
                                            {"rate", 0.5F},
                                            {"late", false},
                                            {"due", CalendarTime(Duration(5))},
                                            {"tags", {"rush", "gift"}},
                                            {"cents", "many"}});
  EXPECT_EQ(all, (std::vector<Attribute>{{"cents", "many"},
                                         {"cents", std::int64_t{1200}},
                                         {"customer", "acme"},
                                         {"due", CalendarTime(Duration(5))},
                                         {"late", false},
                                         {"rate", 0.5},
                                         {"tags", Keywords{"gift", "rush"}}}));
  EXPECT_EQ(owned({{"customer", "acme"}}), (std::vector<Attribute>{{"customer", "acme"}}));
  EXPECT_EQ(owned(all), all) << "from a vector, too";
  EXPECT_TRUE(AttributeList().empty());
}

TEST(Attributes, KeywordsAreASet) {
  const Keywords tags{"b", "a", "b"};
  EXPECT_EQ(owned({{"tags", tags}}), (std::vector<Attribute>{{"tags", Keywords{"a", "b"}}}));
  EXPECT_EQ(owned({{"tags", Keywords()}}), (std::vector<Attribute>{{"tags", Keywords()}}));
}

TEST(Attributes, HaveLimits) {
  const std::string most(kMaxAttributeText, 'x');
  EXPECT_EQ(why_not({{"t", most}}), "");
  EXPECT_EQ(
      why_not({{"t", most + "x"}}),
      "attribute_too_large: the attribute 't' of instance 'o-1' has 1025 bytes, and may have 1024; keep "
      "what is long in a value or in the input");
  const Keywords long_ones{most + "x"};
  EXPECT_NE(
      why_not({{"t", long_ones}}).find("a keyword of the attribute 't' of instance 'o-1' has 1025 bytes"),
      std::string::npos);
  Keywords many;
  for (std::size_t i = 0; i <= kMaxKeywords; ++i) many.push_back("k" + std::to_string(i));
  EXPECT_EQ(why_not({{"t", many}}),
            "too_many_keywords: the attribute 't' of instance 'o-1' has 33 keywords, and may have 32");
  std::vector<Attribute> all;
  for (std::size_t i = 0; i <= kMaxAttributes; ++i) all.push_back({"a" + std::to_string(i), true});
  EXPECT_EQ(why_not(all),
            "too_many_attributes: an instance may have 64 attributes, and would have 65; clear some "
            "by which nobody searches");
  all.clear();
  for (int i = 0; i < 16; ++i) all.push_back({"a" + std::to_string(i), most});
  EXPECT_EQ(why_not(all).substr(0, 22), "attributes_too_large: ");
}

TEST(Attributes, RefuseWhatCannotBeFound) {
  EXPECT_EQ(why_not({{"", 1}}).substr(0, 13), "invalid_name:");
  EXPECT_EQ(why_not({{"t", "\xff"}}),
            "invalid_attribute: the attribute 't' of instance 'o-1' is not valid UTF-8");
  EXPECT_EQ(why_not({{"t", std::numeric_limits<double>::quiet_NaN()}}),
            "invalid_attribute: the attribute 't' of instance 'o-1' is not a number");
  EXPECT_EQ(why_not({{"t", 1}, {"t", 2}}),
            "invalid_attribute: the attribute 't' of instance 'o-1' is given twice");
  EXPECT_THROW(owned({{"t", std::numeric_limits<std::uint64_t>::max()}}), std::out_of_range);
  EXPECT_EQ(std::get<double>(owned({{"t", -0.0}}).front().value), 0.0);
  EXPECT_FALSE(std::signbit(std::get<double>(owned({{"t", -0.0}}).front().value)));
}

TEST(Attributes, AreChangedInTheirPlace) {
  std::vector<Attribute> sorted;
  detail::change_attribute(sorted, "b", AttributeType::integer, std::int64_t{1});
  detail::change_attribute(sorted, "a", AttributeType::text, "x");
  detail::change_attribute(sorted, "b", AttributeType::text, "y");
  detail::change_attribute(sorted, "b", AttributeType::integer, std::int64_t{2});
  detail::change_attribute(sorted, "c", AttributeType::text, std::nullopt);
  EXPECT_EQ(sorted, (std::vector<Attribute>{{"a", "x"}, {"b", "y"}, {"b", std::int64_t{2}}}));
  EXPECT_EQ(detail::attribute_as<int>(detail::find_attribute(sorted, "b", AttributeType::integer)), 2);
  EXPECT_EQ(detail::find_attribute(sorted, "b", AttributeType::time), nullptr);
  detail::change_attribute(sorted, "a", AttributeType::text, std::nullopt);
  EXPECT_EQ(sorted.size(), 2U);
  const AttributeValue large = std::int64_t{300};
  EXPECT_THROW(detail::attribute_as<std::int8_t>(&large), std::out_of_range);
}

}  // namespace
}  // namespace holdfast::attributes_test
