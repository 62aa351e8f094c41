#include "stores/rules/table.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::rules::table_test {
namespace {

using Names = Table<int, std::string>;
using Keys = std::vector<int>;

class RulesTable : public ::testing::Test {
 protected:
  RulesTable() {
    table_.begin_notes();
    table_.bring(1, "one");
    table_.bring(2, "two");
    table_.take_notes();
    table_.end_notes();
  }
  Keys noted() { return keys_of(table_.take_notes(), is_any); }
  static Keys keys_of(std::span<const Names::Note> notes, bool (*which)(const Names::Note&)) {
    Keys keys;
    for (const Names::Note& note : notes) {
      if (which(note)) keys.push_back(*note.key);
    }
    return keys;
  }
  static bool is_made(const Names::Note& note) { return note.is_made; }
  static bool is_any(const Names::Note& /*note*/) { return true; }
  Names table_{};
};

TEST_F(RulesTable, NotesWhatIsAskedForToBeChanged) {
  EXPECT_EQ(*table_.peek(1), "one");
  EXPECT_TRUE(table_.contains(2));
  for (const auto& [key, name] : table_) EXPECT_FALSE(name.empty());
  EXPECT_FALSE(table_.has_notes());
  table_.at(2) = "zwei";
  table_.at(1) = "eins";
  table_.at(2) += "!";
  const auto notes = table_.take_notes();
  EXPECT_EQ(keys_of(notes, is_any), (Keys{1, 2}));
  EXPECT_TRUE(keys_of(notes, is_made).empty());
  EXPECT_FALSE(table_.has_notes());
}

TEST_F(RulesTable, TellsWhatWasMadeFromWhatWasBrought) {
  table_.bring(3, "three");
  table_.insert_or_assign(2, "another");
  table_[4] = "four";
  const auto notes = table_.take_notes();
  EXPECT_EQ(keys_of(notes, is_any), (Keys{2, 3, 4}));
  EXPECT_EQ(keys_of(notes, is_made), (Keys{2, 4}));
}

// Who inserts a row may name it by the key that stands in it.
TEST(RulesTableKeys, AreReadBeforeTheirRowIsMoved) {
  struct Row {
    std::string id;
  };
  Table<std::string, Row> table;
  Row first{"first"};
  table.emplace(first.id, std::move(first));
  Row second{"second"};
  table.insert_or_assign(second.id, std::move(second));
  Row third{"third"};
  table.bring(third.id, std::move(third));
  for (const char* const id : {"first", "second", "third"}) {
    ASSERT_TRUE(table.contains(std::string(id))) << id;
    EXPECT_EQ(table.peek(std::string(id))->id, id);
  }
}

TEST_F(RulesTable, KnowsWhatIsGoneUntilTheDatabaseDoes) {
  table_.erase(1);
  EXPECT_TRUE(table_.is_gone(1));
  EXPECT_EQ(noted(), Keys{1});
  table_.emplace(1, "again");
  EXPECT_FALSE(table_.is_gone(1));
  table_.erase_if([](const auto& entry) { return entry.first == 2; });
  EXPECT_TRUE(table_.is_gone(2));
  EXPECT_EQ(noted(), (Keys{1, 2}));
  table_.end_notes();
  EXPECT_FALSE(table_.is_gone(2));
}

TEST_F(RulesTable, TellsOfARowThatCameBackAndNotOfTheOneBefore) {
  table_.at(1) = "eins";
  table_.erase(1);
  table_.emplace(1, "again");
  table_.erase(1);
  table_.emplace(1, "and again");
  table_.erase(2);
  const auto notes = table_.take_notes();
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(*notes[0].key, 1);
  ASSERT_NE(notes[0].row, nullptr);
  EXPECT_EQ(*notes[0].row, "and again");
  EXPECT_TRUE(notes[0].is_made);
  EXPECT_EQ(*notes[1].key, 2);
  EXPECT_EQ(notes[1].row, nullptr);
}

// Whoever writes what was noted may remove more: the database hears of that next time.
TEST_F(RulesTable, KeepsWhatGoesWhileNotesAreWritten) {
  table_.erase(1);
  EXPECT_EQ(noted(), Keys{1});
  table_.erase(2);
  table_.end_notes();
  EXPECT_FALSE(table_.is_gone(1));
  EXPECT_TRUE(table_.is_gone(2));
  EXPECT_EQ(noted(), Keys{2});
}

TEST_F(RulesTable, KnowsWhatIsGoneOfMany) {
  for (int i = 0; i < 500; ++i) table_[i * 7 % 500] = "row";
  for (int i = 0; i < 500; i += 2) {
    table_.erase(i);
    EXPECT_TRUE(table_.is_gone(i / 4 * 2)) << i;
    EXPECT_FALSE(table_.is_gone(i + 1)) << i;
  }
  EXPECT_EQ(noted().size(), 500U);
}

TEST_F(RulesTable, MakesARowAnewWhereAnotherHasLeft) {
  table_.at(1) = std::string(1000, 'x');
  table_.erase(1);
  table_.take_notes();
  table_.end_notes();
  EXPECT_EQ(table_[7], "");
  table_.emplace(8, "eight");
  const auto notes = table_.take_notes();
  EXPECT_EQ(keys_of(notes, is_made), (Keys{7, 8}));
}

TEST_F(RulesTable, LetsRowsGoWithoutANote) {
  table_.at(2) = "zwei";
  table_.let_go(2);
  EXPECT_TRUE(noted().empty());
  table_.let_go(1);
  EXPECT_FALSE(table_.contains(1));
  EXPECT_FALSE(table_.is_gone(1));
  EXPECT_FALSE(table_.has_notes());
}

// The row that was asked for last is remembered: not beyond its end, and not in another table.
TEST_F(RulesTable, FindsNoRowOfAnotherTable) {
  EXPECT_EQ(table_.find(1)->second, "one");
  table_.erase(1);
  EXPECT_EQ(table_.find(1), table_.end());
  EXPECT_EQ(table_.find(2)->second, "two");
  Names other = std::move(table_);
  EXPECT_EQ(*other.peek(2), "two");
  table_ = Names{};
  EXPECT_EQ(table_.peek(2), nullptr);
}

}  // namespace
}  // namespace holdfast::rules::table_test
