// Drives one execution through its turns and checks at each of them what must hold for every orchestration:
// going on with the frames in memory gives the same outcome as replaying history from the start.
#pragma once

#include "codec/history.hpp"
#include "codec/segment.hpp"
#include "engine/execution.hpp"

#include <holdfast/codec.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::engine {

using namespace std::chrono_literals;

class Driver {
 public:
  template <class F, class... In>
  explicit Driver(F orchestration, const In&... in)
      : code_(detail::make_orchestration(orchestration)), input_(encode_args(in...)) {
    reset_warm();
  }

  /// The first turn.
  Outcome start() {
    Message message = message_of(history::Started{.name = "test",
                                                  .version = "1",
                                                  .input = input_,
                                                  .seed = 42,
                                                  .values = values,
                                                  .cancel_requested = cancel_requested,
                                                  .history_budget = 1000});
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

  /// One turn, run warm and cold.
  Outcome turn(std::vector<Message> messages) {
    now_ += 1s;
    for (const Message& message : messages) remember_unread(message);
    Outcome warm = warm_->run({now_, messages});
    const Outcome cold = run_cold(messages);
    EXPECT_EQ(warm, cold) << "the warm run and the replay differ";
    if (!warm.segment.empty()) {
      segments.push_back(warm.segment);
      expect_replays();
    }
    const std::set<MessageId> consumed(warm.consumed.begin(), warm.consumed.end());
    std::erase_if(unread_, [&](const Message& m) { return consumed.contains(m.id); });
    last = warm;
    return warm;
  }
  template <class... Messages>
  Outcome step(Messages... messages) {
    std::vector<Message> list;
    (list.push_back(std::move(messages)), ...);
    return turn(std::move(list));
  }

  /// All of history.
  [[nodiscard]] std::vector<history::Event> events() const {
    std::vector<history::Event> all;
    for (const std::string& segment : segments) {
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
    for (const std::string& segment : segments) {
      if (auto outcome = execution.replay(segment); !outcome) return outcome;
    }
    return {};
  }

  Execution& warm() { return *warm_; }
  void reset_warm() { warm_ = fresh(); }

  std::vector<std::string> segments;
  std::map<std::string, Payload> values;
  std::optional<std::string> cancel_requested;
  Outcome last;

 private:
  template <class Body>
  Message message_of(Body body) {
    return Message{MessageId{++message_ids_}, ExecutionNumber{1}, std::move(body)};
  }
  [[nodiscard]] std::unique_ptr<Execution> fresh() const {
    return std::make_unique<Execution>(Identity{.instance = "i-1", .build = "b1", .strict = true}, code_);
  }
  void remember_unread(const Message& message) {
    if (std::holds_alternative<Delivery>(message.body)) unread_.push_back(message);
  }
  // From history alone; messages that were not received so far are handed out again.
  Outcome run_cold(const std::vector<Message>& messages) {
    auto cold = fresh();
    for (const std::string& segment : segments) {
      const auto outcome = cold->replay(segment);
      EXPECT_TRUE(outcome) << describe(outcome.error());
    }
    std::vector<Message> all;
    std::set<MessageId> given;
    for (const Message& message : messages) given.insert(message.id);
    for (const Message& message : unread_) {
      if (!given.contains(message.id)) all.push_back(message);
    }
    all.insert(all.end(), messages.begin(), messages.end());
    return cold->run({now_, std::move(all)});
  }
  void expect_replays() {
    auto cold = fresh();
    for (const std::string& segment : segments) {
      const auto outcome = cold->replay(segment);
      EXPECT_TRUE(outcome) << describe(outcome.error());
    }
  }

  std::shared_ptr<const detail::OrchestrationCode> code_;
  Payload input_;
  std::unique_ptr<Execution> warm_;
  CalendarTime now_{std::chrono::sys_days(std::chrono::year(2030) / 1 / 1)};
  std::uint64_t message_ids_ = 0;
  std::vector<Message> unread_;
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
