#include "bench/load_frame.hpp"

#include <charconv>
#include <stdexcept>
#include <utility>
#include <variant>

namespace holdfast::bench {

namespace {

// Bytes in a segment, as the engine writes them.
constexpr std::size_t kTurnBytes = 29;
constexpr std::size_t kStartedBytes = 51;
constexpr std::size_t kScheduledBytes = 50;
constexpr std::size_t kCompletedBytes = 39;
constexpr std::size_t kEndedBytes = 10;

}  // namespace

Frame::Frame(Shape shape, bool hand_off, std::size_t number)
    : shape_(shape), hand_off_(hand_off), body_(std::to_string(number)) {
  body_.resize(kBodyBytes, ' ');
}

std::size_t Frame::number_in(std::string_view body) {
  std::size_t number = 0;
  std::from_chars(body.data(), body.data() + body.size(), number);
  return number;
}

void Frame::start(std::uint64_t id, Random& random, store::StartRequest& request) {
  next_event_ = 1;
  done_ = 0;
  started_ = Clock::now();
  request.instance = instance_id(id);
  request.code.name = kOrchestrationName;
  request.code.version = "1";
  request.body = body_;
  request.request = random_token<RequestId>(random);
  request.fingerprint = random_token<Fingerprint>(random);
}

void Frame::fetched(const store::LockedTurn& turn) {
  key_ = turn.key;
  token_ = turn.token;
  stamp_ = turn.stamp;
  for (const store::Message& message : turn.messages) {
    seen_ = message.id;
    unread_.push_back(message.id);
    if (message.kind == store::MessageKind::outcome) ++outcomes_;
  }
}

void Frame::next_turn(Random& random, store::TurnCommit& commit) {
  new_stamp_ = random_token<TurnStamp>(random);
  activity_token_ = random_token<LockToken>(random);
  const bool first = next_event_ == 1;
  steps_ = std::exchange(outcomes_, 0) + static_cast<std::uint32_t>(completed_.size());
  done_ += steps_;

  commit.key = key_;
  commit.token = token_;
  commit.expected = stamp_;
  commit.stamp = new_stamp_;
  commit.execution = {1};
  commit.first_event = {next_event_};
  commit.seen = seen_;
  commit.consumed.swap(unread_);
  unread_.clear();
  commit.activity_token = activity_token_;
  commit.completed.swap(completed_);
  completed_.clear();
  commit.keep_lock = hand_off_ && !ended();
  next_event_ += 1 + (first ? 1 : 0) + steps_;
  const std::uint32_t at_once = shape_ == Shape::p5 ? kActivities : 1;
  schedule(commit, ended() || (shape_ == Shape::p5 && !first) ? 0 : at_once);
  if (ended()) {
    commit.end = store::InstanceEnd{.status = store::InstanceStatus::completed, .output = body_};
  } else {
    commit.end = std::monostate{};
  }
  commit.segment.assign(kTurnBytes + (first ? kStartedBytes : 0) + steps_ * kCompletedBytes +
                            commit.activities.size() * kScheduledBytes + (ended() ? kEndedBytes : 0),
                        'h');
}

void Frame::schedule(store::TurnCommit& commit, std::uint32_t count) {
  commit.activities.resize(count);
  for (store::NewActivity& activity : commit.activities) {
    activity.event = {next_event_++};
    activity.name = kActivityName;
    activity.body = body_;
    activity.hand_off = hand_off_;
  }
}

void Frame::committed(const store::Committed& answer) {
  stamp_ = new_stamp_;
  if (!hand_off_) return;
  for (const auto& activity : answer.handed_off) {
    if (!activity) throw std::runtime_error("an activity was not handed off");
    completed_.push_back({.event = activity->id.event, .token = activity_token_});
  }
}

}  // namespace holdfast::bench
