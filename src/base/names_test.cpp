#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::detail {
namespace {

TEST(Names, AreUtf8WithoutControlCharacters) {
  for (const char* fine : {"a", "order 7", "Zoë", "\u00a0", "\u2028", "日本"}) {
    EXPECT_EQ(checked_name("an instance", fine), fine);
  }
  EXPECT_EQ(name_problem("an instance", std::string(255, 'a')), "");
}

TEST(Names, SayWhatIsWrongAndWhere) {
  const auto problem = [](std::string_view name) {
    const std::string text = name_problem("an instance", name);
    return text.substr(0, text.find(';'));
  };
  EXPECT_EQ(problem(""), "the name of an instance is empty");
  EXPECT_EQ(problem("a\tb"), "the name of an instance has the control character U+0009 at byte 1");
  EXPECT_EQ(problem(std::string_view("a\0", 2)),
            "the name of an instance has the control character U+0000 at byte 1");
  EXPECT_EQ(problem("\x7f"), "the name of an instance has the control character U+007F at byte 0");
  EXPECT_EQ(problem("ab\u0080"), "the name of an instance has the control character U+0080 at byte 2");
  EXPECT_EQ(problem("\u009f"), "the name of an instance has the control character U+009F at byte 0");
  EXPECT_EQ(problem("\xff\n"), "the name of an instance is not valid UTF-8");
  EXPECT_EQ(problem("a\xc2"), "the name of an instance is not valid UTF-8");
  EXPECT_EQ(problem(std::string(256, 'a')),
            "the name of an instance has more than 255 bytes: " + std::string(40, 'a') + "...");
  std::string accents = "a";
  for (int i = 0; i < 200; ++i) accents += "\u00e9";
  EXPECT_EQ(problem(accents),
            "the name of an instance has more than 255 bytes: " + accents.substr(0, 39) + "...");
  EXPECT_THROW(static_cast<void>(checked_name("an instance", "")), Error);
}

}  // namespace
}  // namespace holdfast::detail
