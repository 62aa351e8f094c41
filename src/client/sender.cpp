#include "client/sender.hpp"

#include "base/moments.hpp"

#include <holdfast/errors.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
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

const std::string& CallToSend::instance() const {
  if (const auto* start = std::get_if<StartToSend>(&what)) return start->request.instance;
  if (const auto* suspension = std::get_if<SuspensionToSend>(&what)) return suspension->wish.instance;
  return std::get<MessagesToSend>(what).messages.front().instance;
}

void Sender::start(store::StartRequest request, Started done) {
  add(StartToSend{std::move(request), std::move(done)});
}

void Sender::send(std::vector<store::ClientMessage> messages, Sent done) {
  add(MessagesToSend{std::move(messages), std::move(done)});
}

void Sender::set_suspended(store::Suspension wish, Sent done) {
  add(SuspensionToSend{std::move(wish), std::move(done)});
}

void Sender::add(WhatToSend what) {
  const BootTime give_up = after(store_->clock().boot_now(), retry_for_);
  const MutexLock lock(mutex_);
  if (closed_) refuse_as_closed();
  if (max_queued_ != 0 && queue_.size() >= max_queued_) {
    throw ClientError(ClientError::Kind::unavailable,
                      std::to_string(max_queued_) +
                          " calls of this client wait for the store already (ClientOptions::max_queued); "
                          "this one was not begun");
  }
  queue_.emplace_hint(queue_.end(), ++last_, CallToSend{.what = std::move(what), .give_up = give_up});
  any_new_ = true;
}

BootTime Sender::due() const {
  const MutexLock lock(mutex_);
  return any_new_ ? kLongAgo : next_;
}

void Sender::send_due(BootTime now, Callbacks& callbacks) {
  if (Calls group = take_due(now); !group.empty()) send(std::move(group), true, callbacks);
}

void Sender::finish(Callbacks& callbacks) {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  bool answers = true;
  for (Calls group = take_due(BootTime::max()); !group.empty(); group = take_due(BootTime::max())) {
    if (answers) {
      answers = send(std::move(group), false, callbacks);
      continue;
    }
    for (auto& [number, call] : group) {
      answer(std::move(call),
             Unexpected(StoreError{.message = "the client was closed while the store did not answer; this "
                                              "call was not sent"}),
             callbacks);
    }
  }
}

// Each kind of call is sent by itself, and an instance gets one of them in one group: which take effect, and
// in which order, must not depend on what the store answers to the first.
Sender::Calls Sender::take_due(BootTime now) {
  const MutexLock lock(mutex_);
  Calls group;
  std::map<std::string, std::size_t, std::less<>> kinds;  // of what an instance gets
  std::set<std::string, std::less<>> held;                // something that was begun before has to come first
  any_new_ = false;
  next_ = BootTime::max();
  for (auto next = queue_.begin(); next != queue_.end();) {
    CallToSend& call = next->second;
    const std::string& instance = call.instance();
    const auto kind = kinds.find(instance);
    const bool fits =
        group.size() < kSentAtOnce && (kind == kinds.end() || kind->second == call.what.index());
    if (held.contains(instance)) {
      ++next;
    } else if (call.next > now || !fits) {
      next_ = std::min(next_, call.next > now ? call.next : kLongAgo);
      if (group.size() == kSentAtOnce) break;
      held.insert(instance);
      ++next;
    } else {
      kinds.emplace(instance, call.what.index());
      group.insert(group.end(), queue_.extract(next++));
    }
  }
  return group;
}

bool Sender::send(Calls group, bool again, Callbacks& callbacks) {
  std::vector<StoreResult<InstanceKey>> answers = ask(group);
  bool answered = true;
  auto next = answers.begin();
  for (auto& [number, call] : group) {
    StoreResult<InstanceKey>& its = *next++;
    if (!its && its.error().kind == StoreError::Kind::unavailable) answered = false;
    if (!its && again && repeat(number, call, its.error())) continue;
    answer(std::move(call), std::move(its), callbacks);
  }
  return answered;
}

void Sender::answer(CallToSend call, StoreResult<InstanceKey> answer, Callbacks& callbacks) {
  if (const auto* start = std::get_if<StartToSend>(&call.what)) {
    callbacks.add(start->done(start->request, std::move(answer)));
  } else if (const auto* suspension = std::get_if<SuspensionToSend>(&call.what)) {
    callbacks.add(suspension->done(std::move(answer)));
  } else {
    callbacks.add(std::get<MessagesToSend>(call.what).done(std::move(answer)));
  }
}

// An answer for each call, in order.
std::vector<StoreResult<InstanceKey>> Sender::ask(Calls& group) {
  std::vector<store::StartRequest> requests;
  std::vector<store::ClientMessage> messages;
  std::vector<store::Suspension> wishes;
  for (auto& [number, call] : group) {
    if (auto* start = std::get_if<StartToSend>(&call.what)) {
      requests.push_back(std::move(start->request));
    } else if (const auto* suspension = std::get_if<SuspensionToSend>(&call.what)) {
      wishes.push_back(suspension->wish);
    } else {
      std::ranges::move(std::get<MessagesToSend>(call.what).messages, std::back_inserter(messages));
    }
  }
  std::vector<StoreResult<store::StartAnswer>> started;
  if (!requests.empty()) started = store_->start(requests);
  std::vector<StoreResult<InstanceKey>> sent;
  if (!messages.empty()) sent = store_->send(messages);
  std::vector<StoreResult<InstanceKey>> suspended;
  if (!wishes.empty()) suspended = store_->set_suspended(wishes);

  std::vector<StoreResult<InstanceKey>> answers;
  std::size_t next_start = 0;
  std::size_t next_message = 0;
  std::size_t next_wish = 0;
  for (auto& [number, call] : group) {
    if (auto* start = std::get_if<StartToSend>(&call.what)) {
      start->request = std::move(requests[next_start]);
      const auto& answer = started[next_start++];
      answers.push_back(answer ? StoreResult<InstanceKey>(answer->key) : Unexpected(answer.error()));
    } else if (std::holds_alternative<SuspensionToSend>(call.what)) {
      answers.push_back(std::move(suspended[next_wish++]));
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
bool Sender::repeat(std::uint64_t number, CallToSend& call, const StoreError& error) {
  if (!may_pass(error)) return false;
  const BootTime next = after(store_->clock().boot_now(), call.pause);
  if (next >= call.give_up) return false;
  call.next = next;
  call.pause = std::min(call.pause * 2, kLongestPause);
  const MutexLock lock(mutex_);
  queue_.emplace(number, std::move(call));
  next_ = std::min(next_, next);
  return true;
}

}  // namespace holdfast::client
