#include "testkit/conformance/model/comparison.hpp"

#include "testkit/conformance/model/invariants.hpp"

#include <algorithm>
#include <variant>

namespace holdfast::testing::model {

namespace {

std::string ns_of(On on) { return on == On::other ? "other" : "default"; }

}  // namespace

Comparison::Side::Side(const StoreSubject& subject, const Clock& clock)
    : open(subject.database(clock)), handles{open("default"), open("default"), open("other")} {}

Comparison::Comparison(const StoreSubject& model, const StoreSubject& subject, bool states)
    : model_(model, world_.clock), subject_(subject, world_.clock), compares_states_(states) {}

Differences Comparison::run(const Step& step) {
  step_ = step.number;
  committed_.clear();
  answer_.clear();
  std::visit([this](const auto& operation) { perform(operation); }, step.operation);
  // Through the handle that did not make the call, where there are two: what one wrote, the other sees.
  if (found_.empty()) compare_states(step_ % 2 == 0 ? On::left : On::right, "");
  if (found_.empty()) compare_states(On::other, "the other namespace: ");
  return found_;
}

void Comparison::compare_states(On on, const std::string& what) {
  const auto state = [](Store& store) { return store.state(); };
  auto model = attempt(true, model_.at(on), state);
  auto subject = compares_states_ ? attempt(false, subject_.at(on), state) : model;
  if (!model || !subject) return;
  const std::size_t before = found_.size();
  compare("", *model, *subject, found_);
  for (std::size_t i = before; i < found_.size(); ++i) found_[i].where = what + "state: " + found_[i].where;
  if (!*model) return;
  Space& space = world_.space(on);
  check_invariants(space.state(), **model);
  space.learn(**std::move(model));
}

void Comparison::check_invariants(const store::StoreState& before, const store::StoreState& after) {
  for (const std::string& problem : contradictions(after)) found_.push_back({problem, "", ""});
  for (const std::string& problem : silently_gone(before, after, committed_)) {
    found_.push_back({problem, "", ""});
  }
}

void Comparison::note_answer(On on, RequestId request, InstanceKey key, bool is_new) {
  const auto problem = answered_.note(ns_of(on), request, key, is_new, world_.clock.boot_now());
  if (problem) found_.push_back({*problem, "", ""});
}

void Comparison::perform(const Doze& op) {
  next_due_model_ = next_due_subject_ = {};
  const LockToken first = token_of(step_);
  const LockToken second = token_of(step_ + 50'000);
  const FetchTurns turns{.on = op.on, .who = op.who, .max = 100, .lease = op.lease};
  const FetchActivities activities{.on = op.on, .who = op.who, .max = 100, .lease = op.lease};
  const Sweep sweeping{
      .on = op.on, .who = op.who, .session_state_retention = 10s, .session_record_retention = 10s};
  switch (op.waiting) {
    case Waiting::turns:
      fetch(turns, first);
      if (!sleep()) return;
      if (const auto fetched = fetch(turns, second); !fetched.turns.empty()) {
        not_after_sleep(words(fetched.turns));
      }
      break;
    case Waiting::activities:
      fetch(activities, first);
      if (!sleep()) return;
      if (const auto fetched = fetch(activities, second); !fetched.activities.empty()) {
        not_after_sleep(words(fetched.activities));
      }
      break;
    case Waiting::sweep: {
      sweep(sweeping);
      if (!sleep()) return;
      store::Swept swept = sweep(sweeping);
      // Nobody waits for these.
      swept.next_due = never;
      swept.remains_removed = 0;
      if (swept != store::Swept{}) not_after_sleep(words(swept));
      break;
    }
  }
}

// Until just before the later of the two times that were told: neither may be too late.
bool Comparison::sleep() {
  constexpr Duration kLong = 3h;
  const Duration time = std::min(std::max(next_due_model_, next_due_subject_), kLong) - Duration(1);
  if (time <= Duration{} || !found_.empty()) return false;
  world_.clock.advance(time);
  told_ = {"next_due is too late: after " + words(time) + " there was ", words(next_due_model_),
           words(next_due_subject_)};
  return true;
}

void Comparison::not_after_sleep(const std::string& what) {
  found_.push_back({told_.where + what, told_.model, told_.subject});
}

void Comparison::perform(const Sweep& op) { sweep(op); }

store::Swept Comparison::sweep(const Sweep& op) {
  const store::SweepRequest request{.worker = world_.space(op.on).worker(op.who).key,
                                    .worker_stale_after = op.worker_stale_after,
                                    .session_state_retention = op.session_state_retention,
                                    .session_record_retention = op.session_record_retention,
                                    .session_log_retention = op.session_log_retention,
                                    .request_retention = op.request_retention};
  const auto level = [this](StoreResult<store::Swept>& model, StoreResult<store::Swept>& subject) {
    if (!model || !subject) return;
    take_next_due(*model, *subject);
    // Stores differ in what they leave behind to be removed later.
    subject->remains_removed = model->remains_removed;
  };
  answered_.forget(ns_of(op.on), world_.clock.boot_now(), op.request_retention);
  const auto swept = ask(op.on, "sweep", [&](Store& store) { return store.sweep(request); }, level);
  return swept && *swept ? **swept : store::Swept{};
}

void Comparison::perform(const Advance& op) { world_.clock.advance(op.by); }
void Comparison::perform(const StepCalendar& op) { world_.clock.step_calendar(op.by); }

void Comparison::perform(const Reopen& op) {
  for (Side* side : {&model_, &subject_}) {
    std::shared_ptr<Store>& handle = side->handles[static_cast<std::size_t>(op.on)];
    handle.reset();
    try {
      handle = side->open(ns_of(op.on));
    } catch (const std::exception& e) {
      const bool is_model = side == &model_;
      found_.push_back({"an exception", is_model ? e.what() : "nothing", is_model ? "nothing" : e.what()});
    }
  }
}

}  // namespace holdfast::testing::model
