// Drives one execution through its turns, for tests that say what happens step by step. What must hold for
// every orchestration is checked at each turn.
#pragma once

#include "codec/history.hpp"
#include "codec/segment.hpp"
#include "engine/checked_test.hpp"
#include "engine/execution.hpp"

#include <holdfast/codec.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::engine {

using namespace std::chrono_literals;

class Driver {
 public:
  template <class F, class... In>
  explicit Driver(F orchestration, const In&... in)
      : checked_({.instance = "i-1", .build = "b1", .strict = true},
                 detail::make_orchestration(orchestration)),
        input_(encode_args(in...)) {}

  /// The first turn.
  Outcome start() {
    Message message = message_of(history::Started{.name = "test",
                                                  .version = "1",
                                                  .input = input_,
                                                  .seed = 42,
                                                  .values = values,
                                                  .cancel_requested = cancel_requested,
                                                  .history_budget = 1000,
                                                  .retrying = retrying,
                                                  .attributes = attributes});
    return turn({std::move(message)});
  }
  template <class T>
  Message completes(EventId source, const T& value) {
    return message_of(history::Completed{source, encode(value)});
  }
  Message completes(EventId source) { return completes(source, std::monostate{}); }
  Message fails(EventId source, std::string type = "boom", std::string what = "activity work") {
    return message_of(history::Failed{
        source,
        Failure{
            .type = std::move(type), .message = "it failed", .source = std::move(what), .event = source}});
  }
  template <class T>
  Message raises(std::string name, const T& value) {
    return message_of(Delivery{{Address::Kind::event, std::move(name)}, encode(value)});
  }
  template <class T>
  Message sends(std::string mailbox, const T& value) {
    return message_of(Delivery{{Address::Kind::mailbox, std::move(mailbox)}, encode(value)});
  }
  Message cancels(std::string reason) { return message_of(history::CancelRequested{std::move(reason)}); }

  /// One turn.
  Outcome turn(const std::vector<Message>& messages) {
    now_ += 1s;
    return check(checked_.run(now_, messages));
  }
  Outcome terminate(std::string reason) { return check(checked_.terminate(now_, std::move(reason))); }
  template <class... Messages>
  Outcome step(Messages... messages) {
    std::vector<Message> list;
    (list.push_back(std::move(messages)), ...);
    return turn(std::move(list));
  }

  /// All of history.
  [[nodiscard]] std::vector<history::Event> events() const {
    std::vector<history::Event> all;
    for (const std::string& segment : checked_.segments) {
      auto some = history::read_segment(segment);
      EXPECT_TRUE(some) << some.error();
      for (auto& event : *some) all.push_back(std::move(event));
    }
    return all;
  }

  /// Another code over this history.
  template <class F>
  Result<void, Problem> replay_with(F orchestration, bool strict = false) {
    Execution execution({.instance = "i-1", .build = "b2", .strict = strict},
                        detail::make_orchestration(orchestration));
    for (const std::string& segment : checked_.segments) {
      if (auto outcome = execution.replay(segment); !outcome) return outcome;
    }
    return {};
  }

  /// Destroys the frames in memory: the next turn goes on from history.
  void forget_frames() { checked_.go_on_with(CheckedExecution::Frames::replayed); }
  [[nodiscard]] Execution& warm() { return checked_.warm(); }
  /// History as it is recorded, one segment for each turn.
  [[nodiscard]] const std::vector<std::string>& segments() const { return checked_.segments; }
  [[nodiscard]] std::vector<std::string>& segments() { return checked_.segments; }

  std::map<std::string, Payload> values;
  std::optional<std::string> cancel_requested;
  history::Retrying retrying;
  std::vector<Attribute> attributes;
  Outcome last;

 private:
  template <class Body>
  Message message_of(Body body) {
    return Message{MessageId{++message_ids_}, ExecutionNumber{1}, std::move(body)};
  }
  Outcome check(Outcome outcome) {
    for (const std::string& problem : std::exchange(checked_.problems, {})) ADD_FAILURE() << problem;
    last = outcome;
    return outcome;
  }

  CheckedExecution checked_;
  Payload input_;
  CalendarTime now_{std::chrono::sys_days(std::chrono::year(2030) / 1 / 1)};
  std::uint64_t message_ids_ = 0;
};

/// The value with which the execution ended.
template <class T>
T result_of(const Outcome& outcome) {
  if (!outcome.end) return ADD_FAILURE() << "the execution has not ended", T{};
  const auto* const completed = std::get_if<history::ExecutionCompleted>(&*outcome.end);
  if (completed == nullptr) {
    const auto* const failed = std::get_if<history::ExecutionFailed>(&*outcome.end);
    return ADD_FAILURE() << "ended without a result: "
                         << (failed ? describe(failed->failure) : "not even a failure"),
           T{};
  }
  return decode<T>(completed->output).value();
}

template <class EndType>
const EndType* end_of(const Outcome& outcome) {
  return outcome.end ? std::get_if<EndType>(&*outcome.end) : nullptr;
}

/// The ids of the operations that were started in a turn, those of one kind.
template <class OperationType>
std::vector<EventId> started(const Outcome& outcome) {
  std::vector<EventId> ids;
  for (const Action& action : outcome.actions) {
    if (std::holds_alternative<OperationType>(action.operation)) ids.push_back(action.id);
  }
  return ids;
}

inline std::vector<std::uint64_t> cancelled(const Outcome& outcome) {
  std::vector<std::uint64_t> ids;
  for (const Cancel& cancel : outcome.cancels) ids.push_back(cancel.source.value);
  return ids;
}

}  // namespace holdfast::engine
