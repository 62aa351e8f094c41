#include "client/sender.hpp"

#include "base/moments.hpp"

#include <holdfast/errors.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace holdfast::client {
namespace {

constexpr std::size_t kSentAtOnce = 500;  // keeps transactions short
constexpr std::chrono::milliseconds kLongestPause{500};

}  // namespace

StoreResult<InstanceKey> outcome_of(std::span<StoreResult<InstanceKey>> answers) {
  const auto taken = std::ranges::find_if(answers, [](const auto& answer) { return answer.has_value(); });
  const auto refused = std::ranges::find_if(answers, [&](const auto& answer) {
    return !answer && (taken == answers.end() || answer.error().kind != StoreError::Kind::conflict);
  });
  return std::move(refused == answers.end() ? *taken : *refused);
}

void Sender::start(store::StartRequest request, Started done) {
  add(StartToSend{std::move(request), std::move(done)});
}

void Sender::send(std::vector<store::ClientMessage> messages, Sent done) {
  add(MessagesToSend{std::move(messages), std::move(done)});
}

void Sender::add(std::variant<StartToSend, MessagesToSend> what) {
  const BootTime give_up = after(store_->clock().boot_now(), retry_for_);
  const MutexLock lock(mutex_);
  if (closed_) refuse_as_closed();
  if (max_queued_ != 0 && queue_.size() + later_.size() >= max_queued_) {
    throw ClientError(ClientError::Kind::unavailable,
                      std::to_string(max_queued_) +
                          " calls of this client wait for the store already (ClientOptions::max_queued); "
                          "this one was not begun");
  }
  queue_.push_back({.what = std::move(what), .give_up = give_up});
}

BootTime Sender::due() const {
  const MutexLock lock(mutex_);
  if (!queue_.empty()) return kLongAgo;
  const auto first = std::ranges::min_element(later_, {}, &CallToSend::next);
  return first == later_.end() ? BootTime::max() : first->next;
}

void Sender::send_due(BootTime now, const Callbacks& callbacks) { send(take_due(now), true, callbacks); }

void Sender::finish(const Callbacks& callbacks) {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  for (;;) {
    std::vector<CallToSend> group = take_due(BootTime::max());
    if (group.empty()) return;
    send(std::move(group), false, callbacks);
  }
}

// Starts are sent before messages. So a group ends before the start of an instance that a message in it is
// for, which was begun before.
std::vector<CallToSend> Sender::take_due(BootTime now) {
  std::vector<CallToSend> group;
  std::set<std::string_view> told;
  const auto fits = [&](const CallToSend& call) {
    if (group.size() == kSentAtOnce) return false;
    if (const auto* start = std::get_if<StartToSend>(&call.what))
      return !told.contains(start->request.instance);
    return true;
  };
  const auto take = [&](CallToSend& call) {
    group.push_back(std::move(call));
    if (const auto* sent = std::get_if<MessagesToSend>(&group.back().what))
      told.insert(sent->messages.front().instance);
  };
  const MutexLock lock(mutex_);
  group.reserve(std::min(kSentAtOnce, later_.size() + queue_.size()));
  std::erase_if(later_, [&](CallToSend& call) {
    if (call.next > now || !fits(call)) return false;
    take(call);
    return true;
  });
  while (!queue_.empty() && fits(queue_.front())) {
    take(queue_.front());
    queue_.pop_front();
  }
  return group;
}

void Sender::send(std::vector<CallToSend> group, bool again, const Callbacks& callbacks) {
  if (group.empty()) return;
  std::vector<StoreResult<InstanceKey>> answers = ask(group);
  for (std::size_t i = 0; i < group.size(); ++i) {
    CallToSend& call = group[i];
    StoreResult<InstanceKey>& answer = answers[i];
    if (!answer && again && repeat(call, answer.error())) continue;
    callbacks.run([what = std::move(call.what), &answer] {
      if (const auto* start = std::get_if<StartToSend>(&what)) {
        start->done(start->request, std::move(answer));
      } else {
        std::get<MessagesToSend>(what).done(std::move(answer));
      }
    });
  }
}

// An answer for each call, in order.
std::vector<StoreResult<InstanceKey>> Sender::ask(std::vector<CallToSend>& group) {
  std::vector<store::StartRequest> requests;
  std::vector<store::ClientMessage> messages;
  for (CallToSend& call : group) {
    if (auto* start = std::get_if<StartToSend>(&call.what)) {
      requests.push_back(std::move(start->request));
    } else {
      std::ranges::move(std::get<MessagesToSend>(call.what).messages, std::back_inserter(messages));
    }
  }
  std::vector<StoreResult<store::StartAnswer>> started;
  if (!requests.empty()) started = store_->start(requests);
  std::vector<StoreResult<InstanceKey>> sent;
  if (!messages.empty()) sent = store_->send(messages);

  std::vector<StoreResult<InstanceKey>> answers;
  std::size_t next_start = 0;
  std::size_t next_message = 0;
  for (CallToSend& call : group) {
    if (auto* start = std::get_if<StartToSend>(&call.what)) {
      start->request = std::move(requests[next_start]);
      const auto& answer = started[next_start++];
      answers.push_back(answer ? StoreResult<InstanceKey>(answer->key) : Unexpected(answer.error()));
    } else {
      auto& own = std::get<MessagesToSend>(call.what).messages;
      std::ranges::move(std::span(messages).subspan(next_message, own.size()), own.begin());
      answers.push_back(outcome_of(std::span(sent).subspan(next_message, own.size())));
      next_message += own.size();
    }
  }
  return answers;
}

// False when it is answered as it is.
bool Sender::repeat(CallToSend& call, const StoreError& error) {
  if (!may_pass(error)) return false;
  const BootTime next = after(store_->clock().boot_now(), call.pause);
  if (next >= call.give_up) return false;
  call.next = next;
  call.pause = std::min(call.pause * 2, kLongestPause);
  const MutexLock lock(mutex_);
  later_.push_back(std::move(call));
  return true;
}

}  // namespace holdfast::client
