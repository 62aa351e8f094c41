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

std::string Frame::body() const {
  std::string bytes = std::to_string(number_);
  bytes.resize(kBodyBytes, ' ');
  return bytes;
}

std::size_t Frame::number_in(std::string_view body) {
  std::size_t number = 0;
  std::from_chars(body.data(), body.data() + body.size(), number);
  return number;
}

store::StartRequest Frame::start(std::uint64_t id, Random& random) {
  next_event_ = 1;
  done_ = 0;
  started_ = Clock::now();
  return {.instance = instance_id(id),
          .code = {.name = std::string(kOrchestrationName), .version = "1"},
          .body = body(),
          .request = random_token<RequestId>(random),
          .fingerprint = random_token<Fingerprint>(random)};
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

store::TurnCommit Frame::next_turn(Random& random) {
  new_stamp_ = random_token<TurnStamp>(random);
  activity_token_ = random_token<LockToken>(random);
  const bool first = next_event_ == 1;
  steps_ = std::exchange(outcomes_, 0) + static_cast<std::uint32_t>(completed_.size());
  done_ += steps_;

  store::TurnCommit commit{.key = key_,
                           .token = token_,
                           .expected = stamp_,
                           .stamp = new_stamp_,
                           .execution = {1},
                           .first_event = {next_event_},
                           .seen = seen_,
                           .consumed = std::exchange(unread_, {}),
                           .activity_token = activity_token_,
                           .completed = std::exchange(completed_, {}),
                           .keep_lock = hand_off_ && !ended()};
  next_event_ += 1 + (first ? 1 : 0) + steps_;
  if (first && shape_ == Shape::p5) {
    schedule(commit, kActivities);
  } else if (shape_ == Shape::s5 && !ended()) {
    schedule(commit, 1);
  }
  if (ended()) commit.end = store::InstanceEnd{.status = store::InstanceStatus::completed, .output = body()};
  commit.segment.assign(kTurnBytes + (first ? kStartedBytes : 0) + steps_ * kCompletedBytes +
                            commit.activities.size() * kScheduledBytes + (ended() ? kEndedBytes : 0),
                        'h');
  return commit;
}

void Frame::schedule(store::TurnCommit& commit, std::uint32_t count) {
  commit.activities.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    commit.activities.push_back({.event = {next_event_++},
                                 .name = std::string(kActivityName),
                                 .body = body(),
                                 .hand_off = hand_off_});
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
