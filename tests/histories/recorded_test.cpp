// Executions that were recorded once, with every kind of event in them: whoever builds this replays them, and
// records the same again, byte by byte. After a change that is meant,
//
//   HOLDFAST_WRITE_HISTORIES=1 build/dev/tests/histories/histories_tests --gtest_filter='Recorded.*'
//
// writes the files anew, until their format is released. From then on they stay, and new ones come beside
// them.
#include "client/history_source.hpp"
#include "codec/history_json.hpp"
#include "codec/history_lines.hpp"
#include "codec/segment.hpp"
#include "engine/execution.hpp"
#include "tests/histories/segments_test.hpp"

#include <holdfast/context.hpp>
#include <holdfast/ended_instance.hpp>
#include <holdfast/history_file.hpp>
#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

// ---- code ---------------------------------------------------------------------------------------

Task<std::string> all_operations(Context& ctx, std::string id) {
  ctx.set_value("id", id);
  Future<void> reminder = ctx.sleep(24h).start();
  const std::string receipt = co_await ctx.activity<std::string>(
      "charge",
      {.queue = "payments", .timeout = 30s, .retry = {.max_attempts = 4, .non_retryable = {"declined"}}}, id);
  const Result<int> shipped = co_await ctx.activity<int>("ship", id).result();
  const bool approved = co_await ctx.event<bool>("decision");
  const Receiver<int> numbers = ctx.mailbox<int>("numbers");
  const int first = co_await numbers.receive();
  const std::vector<int> rest = co_await numbers.drain();
  const std::string child = co_await ctx.child<std::string>(
      "audit", {.id = "audit-" + id, .retry = {.max_attempts = 3, .first_delay = 1s}}, id);
  const std::string detached = co_await ctx.start_detached("report", id);
  const Session session = co_await ctx.open_session({.queue = "gpu", .ttl = 1h});
  const SessionEvent moved = co_await session.next_event();
  const int rendered = co_await session.activity<int>("render", id);
  co_await session.close();
  const std::optional<int> other = co_await ctx.value_of<int>("shop", "stock");
  const EndedInstance rival = co_await ctx.ended("rival");
  const int effect = co_await ctx.side_effect([] { return 17; });
  ctx.clear_value("id");
  ctx.set_attribute("receipt", receipt);
  ctx.set_attribute("parts", {"first", "rest"});
  ctx.clear_attribute<int>("cents");
  ctx.deprecate_patch("log-twice");
  ctx.send("stock", "changes", {.keep_for = 1h}, -1);
  ctx.raise("shop", "sold", id);
  ctx.cancel("reservation", "sold");
  ctx.terminate("rival", "sold");
  ctx.launch("log", id);
  co_return receipt + (shipped ? "?" : shipped.error().type) + (approved ? "+" : "-") +
      std::to_string(first) + std::to_string(rest.size()) + child + (detached.empty() ? "?" : "!") +
      moved.to + std::to_string(rendered) + std::to_string(other.value_or(-1)) +
      std::string(to_string(rival.status)) + std::to_string(effect) + ctx.uuid().substr(14, 1);
}
Task<std::string> fails(Context& ctx, std::string id) {
  Future<std::string> open = ctx.activity<std::string>("audit", id).start();
  co_await ctx.activity<void>("charge", id);
  throw std::runtime_error("no more " + id);
}
Task<std::string> is_cancelled(Context& ctx, std::string id) {
  bool cancelled = false;
  try {
    co_await when_all(ctx.activity<void>("charge", id), ctx.child<void>("ship", {.id = "ship-" + id}, id));
  } catch (const Cancelled&) {
    cancelled = true;
  }
  if (cancelled) co_await ctx.shield(ctx.activity<void>("refund", id));
  co_return co_await ctx.event<std::string>("never");
}
Task<std::string> is_terminated(Context& ctx, std::string id) {
  const auto won = co_await race(ctx.event<std::string>("end"), ctx.sleep(1h));
  co_return won.index() == 0 ? std::get<0>(won) : id;
}
Task<std::string> goes_on(Context& ctx, std::string id) {
  ctx.set_value("round", 1);
  co_await ctx.sleep(1h);
  const std::string next = id + "'";
  co_await ctx.continue_as_new({.version = "2"}, next);
}
Task<std::string> begins_anew(Context& ctx, std::string id) {
  co_await ctx.activity<void>("charge", id);
  co_return "attempt " + std::to_string(ctx.attempt());
}

// ---- recording ----------------------------------------------------------------------------------

/// One execution, turn by turn: the test plays everybody else.
class Recording {
 public:
  using Code = Task<std::string> (*)(Context&, std::string);

  Recording(Code code, history::Started started)
      : code_(detail::make_orchestration(code)), execution_(identity(), code_) {
    started.name = "recorded";
    started.version = "1";
    started.input = encode("o1");
    started.seed = 7;
    started.history_budget = 1'000;
    turn(std::move(started));
  }

  template <class T>
  void completes(const T& value) {
    turn(history::Completed{last_open(), encode(value)});
  }
  void fails(Failure failure) { turn(history::Failed{last_open(), std::move(failure)}); }
  template <class... T>
  void receives(Address address, const T&... values) {
    std::vector<Message> messages;
    (messages.push_back(message(Delivery{address, encode(values)})), ...);
    run(std::move(messages));
  }
  void is_asked_to_stop() { turn(history::CancelRequested{"enough"}); }
  void is_terminated() { note(execution_.terminate(now_ + 1s, "by hand")); }

  [[nodiscard]] const std::vector<std::string>& segments() const { return segments_; }
  /// Segments from elsewhere, with this code.
  [[nodiscard]] Result<void, Problem> replay(const std::vector<std::string>& segments) const {
    Execution again(identity(), code_);
    for (const std::string& segment : segments) {
      if (auto outcome = again.replay(segment); !outcome) return outcome;
    }
    return {};
  }

 private:
  static Identity identity() { return {.instance = "i-1", .build = "1", .strict = true}; }
  [[nodiscard]] EventId last_open() const { return execution_.open_operations().back().id; }
  template <class Body>
  Message message(Body body) {
    return {MessageId{++messages_}, ExecutionNumber{1}, std::move(body)};
  }
  template <class Body>
  void turn(Body body) {
    std::vector<Message> messages;
    messages.push_back(message(std::move(body)));
    run(std::move(messages));
  }
  void run(std::vector<Message> messages) {
    now_ += 1s;
    note(execution_.run({now_, std::move(messages)}));
  }
  void note(Outcome outcome) { segments_.push_back(std::move(outcome.segment)); }

  std::shared_ptr<const detail::OrchestrationCode> code_;
  Execution execution_;
  CalendarTime now_{std::chrono::sys_days(std::chrono::year(2030) / 1 / 1)};
  std::uint64_t messages_ = 0;
  std::vector<std::string> segments_;
};

void play_all_operations(Recording& run) {
  run.completes("paid");
  run.fails({.type = "no_stock", .message = "nothing left", .source = "activity ship", .retryable = false});
  run.receives({Address::Kind::event, "decision"}, true);
  run.receives({Address::Kind::mailbox, "numbers"}, 1, 2, 3);
  run.completes("fine");
  run.completes("report-1");
  run.completes("session-1");
  run.receives({Address::Kind::session, "session-1"}, SessionEvent{.from = "a", .to = "b", .generation = 2});
  run.completes(5);
  run.completes(std::monostate{});
  run.completes(std::optional<Payload>(encode(9)));
  run.completes(
      EndedInstance{.status = Status::failed, .failure = Failure{.type = "broke", .message = "no money"}});
}
history::Started with_limits() {
  return {.parent = history::Parent{"shop", {1}, {3}, {9}},
          .limits = history::ExecutionLimits{.payload_bytes = 1'000, .history_events = 500}};
}
history::Started second_attempt() {
  const CalendarTime noon = std::chrono::sys_days(std::chrono::year(2030) / 1 / 1) + 12h;
  return {.retrying = history::Retrying{
              .policy = {.max_attempts = 3}, .attempt = 2, .first_start = noon - 24h, .not_before = noon}};
}
void play_one_step(Recording& run) { run.completes(std::monostate{}); }
void play_two_steps(Recording& run) {
  run.completes(std::monostate{});
  run.completes(std::monostate{});
}
void play_cancellation(Recording& run) {
  run.is_asked_to_stop();
  run.completes(std::monostate{});
}
void play_termination(Recording& run) { run.is_terminated(); }

// ---- files --------------------------------------------------------------------------------------

struct Recorded {
  std::string name;
  Recording::Code code;
  history::Started started;
  void (*play)(Recording&);
};
std::vector<Recorded> all_recorded() {
  return {
      {"all_operations", all_operations, {.attributes = {{"cents", std::int64_t{5}}}}, play_all_operations},
      {"failed", fails, with_limits(), play_one_step},
      {"cancelled", is_cancelled, {}, play_cancellation},
      {"terminated", is_terminated, {}, play_termination},
      {"continued_as_new", goes_on, {.values = {{"round", encode(0)}}}, play_one_step},
      {"second_attempt", begins_anew, second_attempt(), play_two_steps}};
}

std::string path_of(const std::string& name) { return "tests/histories/recorded/" + name + ".json"; }

std::vector<history::Event> events_of(const std::vector<std::string>& segments) {
  std::vector<history::Event> events;
  for (const std::string& segment : segments) {
    auto some = history::read_segment(segment);
    EXPECT_TRUE(some);
    if (some) events.insert(events.end(), some->begin(), some->end());
  }
  return events;
}

std::vector<history::Event> read_events(const std::string& name) {
  std::ifstream file(path_of(name));
  const std::string json(std::istreambuf_iterator<char>(file), {});
  auto events = history::parse_history_json(json);
  EXPECT_TRUE(events) << name;
  return events ? *std::move(events) : std::vector<history::Event>{};
}

TEST(Recorded, HistoriesReplayAndAreRecordedTheSameAgain) {
  for (const Recorded& recorded : all_recorded()) {
    Recording run(recorded.code, recorded.started);
    recorded.play(run);
    const std::vector<history::Event> events = events_of(run.segments());
    if (std::getenv("HOLDFAST_WRITE_HISTORIES") != nullptr)
      std::ofstream(path_of(recorded.name)) << history::history_json(events);
    const std::vector<std::string> kept = segments_of(read_events(recorded.name));
    const auto replayed = run.replay(kept);
    EXPECT_TRUE(replayed) << recorded.name << ": " << (replayed ? "" : describe(replayed.error()));
    EXPECT_EQ(run.segments(), kept) << recorded.name;
  }
}

std::string exported_path_of(const std::string& name) {
  return "tests/histories/exported/" + name + ".jsonl";
}

void write_exported(const std::string& name, const std::vector<std::string>& segments) {
  history::LinesWriter lines;
  std::ofstream file(exported_path_of(name));
  file << history::LinesWriter::header({"i-1", {1}, "recorded", "1"});
  for (const std::string& segment : segments) file << lines.turn(segment).value();
  file << lines.end();
}

// The same histories as files of write_history(): whatever version wrote them, they give the same bytes.
TEST(Recorded, HistoriesAreReadFromFilesByteByByte) {
  for (const Recorded& recorded : all_recorded()) {
    const std::vector<std::string> kept = segments_of(read_events(recorded.name));
    if (std::getenv("HOLDFAST_WRITE_HISTORIES") != nullptr) write_exported(recorded.name, kept);
    std::ifstream file(exported_path_of(recorded.name));
    HistoryReader history = read_history(file, recorded.name);
    EXPECT_EQ(history.header(), (HistoryHeader{"i-1", {1}, "recorded", "1"}));
    std::vector<std::string> segments;
    while (std::optional<std::string> segment = history.source().next_segment()) segments.push_back(*segment);
    EXPECT_EQ(segments, kept) << recorded.name;
    EXPECT_TRUE(Recording(recorded.code, recorded.started).replay(segments)) << recorded.name;
  }
}

TEST(Recorded, EveryKindOfEventIsThere) {
  std::set<std::string_view> kinds;
  for (const Recorded& recorded : all_recorded()) {
    for (const history::Event& event : read_events(recorded.name))
      kinds.insert(history::kind_name(event.body));
  }
  for (std::uint8_t kind = 0; !history::kind_name(kind).empty(); ++kind)
    EXPECT_TRUE(kinds.contains(history::kind_name(kind))) << history::kind_name(kind);
}

}  // namespace
}  // namespace holdfast::engine
