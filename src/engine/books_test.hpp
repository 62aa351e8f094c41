// The books of one execution: what was started, received and ended, told from the outcomes of its turns. They
// must balance for every orchestration, whatever it does.
#pragma once

#include "codec/history.hpp"
#include "engine/execution.hpp"
#include "engine/turn.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::engine {

class Books {
 public:
  /// One started operation.
  struct Entry {
    detail::Operation operation{};
    bool closed = false;  ///< it has an outcome or was cancelled
  };

  explicit Books(Identity identity) : identity_(std::move(identity)) {}

  /// These messages are given to the execution in its next turn.
  void note_messages(const std::vector<Message>& messages);
  /// Enters the outcome of a turn. The answer is what is wrong with it; empty when it all adds up.
  std::vector<std::string> enter(const Outcome& outcome, const std::vector<OpenOperation>& open);

  [[nodiscard]] const std::map<EventId, Entry>& operations() const noexcept { return operations_; }
  /// Operations without an outcome that somebody else has to complete.
  [[nodiscard]] std::vector<EventId> open() const;
  /// Where code waits for messages, sorted.
  [[nodiscard]] std::vector<Address> awaited() const;
  /// Deliveries that nobody has received, in the order in which they came.
  [[nodiscard]] const std::list<Message>& unread() const noexcept { return unread_; }
  /// The values as the code left them.
  [[nodiscard]] const std::map<std::string, Payload>& values() const noexcept { return values_; }
  [[nodiscard]] const std::optional<std::string>& cancel_request() const noexcept { return cancel_request_; }
  [[nodiscard]] const std::optional<End>& end() const noexcept { return end_; }

 private:
  struct Given {
    Message message{};
    std::uint64_t order = 0;  // among all messages
  };

  void expect(bool holds, const std::string& what);
  void enter_segment(const Outcome& outcome);
  void enter_event(const history::Event& event, const Outcome& outcome);
  void enter_cancel(EventId event, const history::OperationCancelled& body, const Outcome& outcome);
  void enter_reveal(const history::Event& event);
  void enter_operation(EventId id, const detail::Operation& operation);
  template <class Body>
  void apply(EventId event, const Body& body);
  void close(EventId event, EventId source, const char* how);
  void set_aside(const Unreadable& message);
  void receive(EventId event, const Address& address, const Payload& value);
  [[nodiscard]] const EventId* first_wait(const Address& address) const;
  void expect_nothing_to_deliver(std::uint64_t before, const std::string& when);
  void check_messages(const Outcome& outcome);
  void check_open(const std::vector<OpenOperation>& open);

  Identity identity_;
  std::map<EventId, Entry> operations_;
  std::map<std::string, Payload> values_;
  std::optional<std::string> cancel_request_;
  std::optional<End> end_;
  std::set<std::string> patches_;
  EventId next_event_{1};
  bool started_ = false;
  std::uint64_t arrivals_ = 0;
  std::list<Message> unread_;
  std::map<MessageId, std::uint64_t> order_;  // of deliveries
  std::vector<Given> given_;                  // in this turn, those that are no deliveries

  // Of the turn that is being entered.
  std::vector<std::string> problems_;
  std::vector<std::string> turn_patches_;
  std::size_t actions_ = 0;
  std::size_t cancels_ = 0;
  std::size_t applied_ = 0;     // messages that are no deliveries and were of use
  std::size_t next_given_ = 0;  // those before were applied or ignored
  enum class Stage { before, open, ended, cancels } stage_ = Stage::before;
  std::vector<MessageId> received_;
  std::set<EventId> doomed_;  // cancelled in this turn
};

}  // namespace holdfast::engine
