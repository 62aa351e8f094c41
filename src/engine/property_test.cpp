// Random orchestrations in a random world: whatever the code does and whatever happens to it, replay gives
// what the run gave, and the books balance. RC_PARAMS="max_success=100000" runs more of them.
#include "codec/history_lines.hpp"
#include "codec/segment.hpp"
#include "engine/generate_test.hpp"
#include "engine/record_test.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::engine {

// How rapidcheck shows a case: paste it into case_of(R"(...)").
static std::ostream& operator<<(std::ostream& out, const Case& what) { return out << to_text(what); }

namespace {

rc::Gen<Case> cases(Theme theme) {
  const auto sized = [theme](int size) {
    const auto make = [size, theme](std::uint64_t seed) { return generate(seed, size, theme); };
    return rc::gen::map(rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), make);
  };
  return rc::gen::shrink(rc::gen::withSize(sized),
                         [](const Case& what) { return rc::seq::fromContainer(simpler(what)); });
}

void expect_that_all_holds(Theme theme) {
  const Case what = *cases(theme);
  const Run happened = run(what);
  for (const std::string& problem : happened.problems) RC_LOG() << problem << "\n";
  RC_ASSERT(happened.problems.empty());
}

RC_GTEST_PROP(Programs, OfAllKindsReplayAsTheyRan, ()) { expect_that_all_holds(Theme::anything); }
RC_GTEST_PROP(Programs, ThatAreCancelledReplayAsTheyRan, ()) { expect_that_all_holds(Theme::cancellation); }
RC_GTEST_PROP(Programs, WithManyMessagesReplayAsTheyRan, ()) { expect_that_all_holds(Theme::messages); }
RC_GTEST_PROP(Programs, WithManyTasksReplayAsTheyRan, ()) { expect_that_all_holds(Theme::tasks); }

// What a history is exported as, and read from again: all of it as events that people can read.
RC_GTEST_PROP(Programs, HaveHistoriesThatAreExportedAndReadAgainByteByByte, ()) {
  const Case what = *cases(Theme::anything);
  for (const std::vector<TurnRecord>& turns : run(what).executions) {
    history::LinesWriter writer;
    std::string text = history::LinesWriter::header({"i", {1}, "program", "1"});
    std::vector<std::string> segments;
    for (const TurnRecord& turn : turns) {
      if (turn.segment.empty()) continue;
      segments.push_back(from_hex(turn.segment).value());
      text += writer.turn(segments.back()).value();
    }
    text += writer.end();
    RC_ASSERT(text.find("\"segment\"") == std::string::npos);

    std::istringstream in(text);
    history::LinesReader reader(in);
    RC_ASSERT(reader.next_history().value().has_value());
    std::vector<std::string> again;
    while (std::optional<std::string> segment = reader.next_turn().value()) again.push_back(*segment);
    RC_ASSERT(again == segments);
  }
}

std::optional<EventId> first_patch(const std::vector<TurnRecord>& execution) {
  for (const std::string& segment : segments_of(execution)) {
    for (const history::Event& event : history::read_segment(segment).value()) {
      if (std::holds_alternative<history::Patched>(event.body)) return event.id;
    }
  }
  return std::nullopt;
}

// All that a program was run with is replayed by the code of another time.
void replay_with_other_code(const Run& happened, bool always_patched) {
  for (std::size_t i = 0; i < happened.executions.size(); ++i) {
    const auto& execution = happened.executions[i];
    const auto patch = first_patch(execution);
    deploy(Generation::before);
    const auto without = first_difference(execution, i + 1);
    deploy(Generation::deprecated);
    const auto deprecated = first_difference(execution, i + 1);
    deploy(Generation::patched);
    RC_ASSERT(without.has_value() == patch.has_value());
    if (patch) {
      RC_ASSERT(without->event == *patch);
      RC_ASSERT(without->hint.starts_with("The code no longer asks for this patch"));
    }
    if (always_patched && deprecated) RC_FAIL(describe(*deprecated));
  }
}

// World checks at each turn that patched code replays what the code before it has recorded.
RC_GTEST_PROP(Programs, ThatArePatchedReplayWithTheCodeOfEachTime, ()) {
  const Case what = *cases(Theme::patches);
  const Run happened = run(what);
  for (const std::string& problem : happened.problems) RC_LOG() << problem << "\n";
  RC_ASSERT(happened.problems.empty());
  replay_with_other_code(happened, what.old_turns == 0);
}

TEST(Programs, GoThroughTheCodecUnchanged) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Case what = generate(seed, 60, Theme::anything);
    EXPECT_EQ(case_of(to_text(what)), what);
  }
}

}  // namespace
}  // namespace holdfast::engine
