#include "runtime/activities.hpp"

#include "runtime/activity_lines.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::runtime {
namespace {

// How long a suspect is left alone in its process: nothing else is fetched. Most that kill do so at once.
constexpr Duration kAlone = std::chrono::seconds(1);
// How long the other suspects wait for a process of their own.
constexpr Duration kPause = std::chrono::milliseconds(250);
// How soon to look whether a fetch that is under way has locked something again.
constexpr Duration kFetchEnds = std::chrono::milliseconds(5);

// A worker that has claimed its share of the sessions that wait lets the others have theirs before it asks
// for more: so long it takes them to wake up, and to ask the store.
constexpr Duration kTurnOfOthers = std::chrono::milliseconds(10);

// `call` is null for what was answered without being run.
void say_refused(const Settings& settings, const store::ActivityResult& answer,
                 const detail::ActivityCall* call, const StoreError& error) {
  if (std::holds_alternative<store::PutBack>(answer.result)) return;  // nothing is lost with it
  constexpr std::string_view kSaid = "the result of an activity is refused: the store no longer wants it";
  const LogLevel level = error.kind == StoreError::Kind::lost ? LogLevel::warn : LogLevel::info;
  const LogField kind{"kind", to_string(error.kind)};
  const LogField why{"error", error.message};
  if (call != nullptr) return log_activity(*settings.logger, level, kSaid, call->locked(), {kind, why});
  log(*settings.logger, level, kSaid,
      {{"instance_key", answer.id.instance.value}, {"event", answer.id.event.value}, kind, why});
}

bool requires_save(const store::ActivityResult& answer) { return answer.save && answer.save->required; }

}  // namespace

Progress FetchStep::step() {
  // A worker that drains goes on with the sessions that nobody else may ever have.
  const bool draining = !standing_.accepts();
  const bool may_take = !draining || sessions_.has_unmovable();
  if (!may_take && !unanswered_) return {};
  if (!wanted_ && settings_.now() < due_) return {false, due_};
  // What is fetched now would be lost with this process, if that is what the suspect kills.
  const std::optional<BootTime> suspect = desk_.suspect_since();
  if (suspect && settings_.now() < *suspect + kAlone) return {false, *suspect + kAlone};
  const std::size_t slots = may_take ? desk_.reserve_for_fetch() : 0;
  if (slots == 0 && !unanswered_) return {false, BootTime::max()};  // a free slot wakes this step
  wanted_ = false;
  return fetch({.worker = standing_.key(),
                .abilities = &settings_.abilities,
                .token = unanswered_ ? *unanswered_ : chance_.token<LockToken>(),
                .repeated = unanswered_.has_value(),
                .lease = settings_.options.activity_lease,
                .max = slots,
                .owned_only = draining});
}

Progress FetchStep::fetch(const store::ActivityRequest& request) {
  const BootTime asked = settings_.now();
  desk_.expect(request.token);
  auto fetched = settings_.store->fetch_activities(request);
  if (!fetched) {
    desk_.unreserve(request.max);
    standing_.note(fetched.error(), request.worker);
    due_ = trouble_.failed("fetch activities", fetched.error());
    const StoreError::Kind kind = fetched.error().kind;
    // One that drains does not join again: nobody will ever tell it what the fetch has locked.
    const bool never_answered =
        kind == StoreError::Kind::superseded || (kind == StoreError::Kind::not_found && request.owned_only);
    if (never_answered) {
      stop_repeating(request.token);
    } else {
      unanswered_ = request.token;
    }
    return {false, due_};
  }
  trouble_.worked();
  due_ = after(asked, fetched->next_due == Duration::zero() ? kTurnOfOthers : fetched->next_due);
  if (fetched->left_behind) wanted_ = true;
  mind_sessions(*fetched, asked);
  desk_.set_left_behind(fetched->left_behind);
  put_back_suspects(fetched->activities, request.token);
  desk_.unreserve(request.max - fetched->activities.size());
  const bool any = !fetched->activities.empty();
  for (store::LockedActivity& locked : fetched->activities)
    desk_.begin(std::move(locked), request.token, asked);
  stop_repeating(request.token);
  return {any, due_};
}

void FetchStep::stop_repeating(LockToken token) {
  unanswered_.reset();
  desk_.stop_expecting(token);
}

// What was claimed is kept, whatever becomes of the activities that came with it. A session that has waited
// for long enough, and nobody took it, is worth the room of one that is quiet.
void FetchStep::mind_sessions(const store::FetchedActivities& fetched, BootTime asked) {
  for (const store::LockedActivity& locked : fetched.activities) {
    if (locked.session) sessions_.granted(*locked.session, asked);
  }
  sessions_.want_hand_over(fetched.to_hand_over);
  if (!fetched.wants_capacity) return;
  if (*fetched.wants_capacity < store::kWaitsForRoom) {
    due_ = std::min(due_, after(asked, store::kWaitsForRoom - *fetched.wants_capacity));
    return;
  }
  sessions_.want_room(asked);
  waker_.poke(Step::keep);
}

// All but one, before that one is run: what goes back is not lost with this process if that is what it kills.
void FetchStep::put_back_suspects(std::vector<store::LockedActivity>& activities, LockToken token) {
  std::vector<store::ActivityResult> others;
  bool busy = desk_.suspect_since().has_value();
  std::erase_if(activities, [&](const store::LockedActivity& locked) {
    if (!settings_.is_suspect(locked.delivery)) return false;
    if (!std::exchange(busy, true)) {
      log_activity(*settings_.logger, LogLevel::warn, "an activity is run by itself: it may crash its worker",
                   locked, {{"delivery", locked.delivery}});
      return false;
    }
    others.push_back({locked.id, token, store::PutBack{kPause}});
    return true;
  });
  if (!others.empty()) settings_.store->finish_activities(others);  // else their leases end
}

Progress AnswerStep::step() {
  std::vector<store::ActivityResult> answers = outbox_.take_answers();
  std::vector<BackOff> back_offs(answers.size());
  take_due(answers, back_offs);
  if (answers.empty()) return {false, next_due()};
  const auto results = settings_.store->finish_activities(answers);
  std::vector<store::ActivityResult> once_more;
  const StoreError* trouble = nullptr;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const StoreResult<void>& result = results[i];
    if (!result && may_pass(result.error())) {
      trouble = &result.error();
      const bool locked = trouble->kind == StoreError::Kind::busy;
      const Duration pause = back_offs[i].next(locked ? kLockedPause : BackOff::kFirst);
      refused_.push_back({std::move(answers[i]), back_offs[i], after(settings_.now(), pause)});
      continue;
    }
    const bool lost = !result && result.error().kind == StoreError::Kind::lost;
    if (const auto token = lost ? desk_.newer_lock(answers[i]) : std::nullopt) {
      answers[i].token = *token;
      once_more.push_back(std::move(answers[i]));
      continue;
    }
    if (lost && desk_.may_be_locked_again(answers[i].id, answers[i].token)) {
      const Duration pause = back_offs[i].next(kFetchEnds);
      refused_.push_back({std::move(answers[i]), back_offs[i], after(settings_.now(), pause)});
      continue;
    }
    if (lost && requires_save(answers[i])) {
      // Its session is another's by now, so what it changed is lost: it runs again, with the new owner.
      once_more.push_back(
          {answers[i].id, answers[i].token, store::PutBack{}, std::move(answers[i].progress)});
      continue;
    }
    if (!result) {
      settings_.counters.answers_refused.add();
      settings_.note_damage("answer activities", result.error());
      say_refused(settings_, answers[i], desk_.call_of(answers[i]).get(), result.error());
    }
    desk_.answered(answers[i], result.has_value());
  }
  if (trouble != nullptr) trouble_.failed("answer activities", *trouble);
  if (refused_.empty()) trouble_.worked();
  const bool more = !once_more.empty();
  if (more) outbox_.answer_again(std::move(once_more));
  return {more, next_due()};
}

// Adds those whose pause is over.
void AnswerStep::take_due(std::vector<store::ActivityResult>& answers, std::vector<BackOff>& back_offs) {
  const BootTime now = settings_.now();
  std::erase_if(refused_, [&](Refused& one) {
    if (one.due > now) return false;
    answers.push_back(std::move(one.answer));
    back_offs.push_back(one.back_off);
    return true;
  });
}

BootTime AnswerStep::next_due() const {
  BootTime due = BootTime::max();
  for (const Refused& one : refused_) due = std::min(due, one.due);
  return due;
}

}  // namespace holdfast::runtime
