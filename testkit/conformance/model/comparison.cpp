#include "testkit/conformance/model/comparison.hpp"

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
  if (*model) world_.space(on).learn(**std::move(model));
}

// How long until something is due may be too short, never too long. The model tells it exactly.
void Comparison::not_later(const std::string& what, Duration model, Duration subject) {
  if (subject > model) found_.push_back({what + ", later than it is", words(model), words(subject)});
}

void Comparison::perform(const Doze& op) {
  const LockToken again = token_of(step_ + 50'000);
  if (op.activities) {
    FetchActivities fetching{.on = op.on, .who = op.who, .max = 100, .lease = op.lease};
    doze(fetch(fetching, token_of(step_)).next_due);
    const auto activities = fetch(fetching, again).activities;
    if (!activities.empty()) found_.push_back({"doze: activities came too early", words(activities), "any"});
  } else {
    FetchTurns fetching{.on = op.on, .who = op.who, .max = 100, .lease = op.lease};
    doze(fetch(fetching, token_of(step_)).next_due);
    const auto turns = fetch(fetching, again).turns;
    if (!turns.empty()) found_.push_back({"doze: turns came too early", words(turns), "any"});
  }
}

void Comparison::doze(Duration next_due) {
  constexpr Duration kLong = 3h;
  if (next_due > Duration{}) world_.clock.advance(std::min(next_due, kLong) - Duration(1));
}

void Comparison::perform(const Sweep& op) {
  const store::SweepRequest request{.worker = world_.space(op.on).worker(op.who).key,
                                    .worker_stale_after = op.worker_stale_after,
                                    .session_state_retention = op.session_state_retention,
                                    .session_record_retention = op.session_record_retention};
  const auto level = [this](StoreResult<store::Swept>& model, StoreResult<store::Swept>& subject) {
    if (!model || !subject) return;
    not_later("sweep, next_due", model->next_due, subject->next_due);
    subject->next_due = model->next_due;
    // Stores differ in what they leave behind to be removed later.
    subject->remains_removed = model->remains_removed;
  };
  ask(op.on, "sweep", [&](Store& store) { return store.sweep(request); }, level);
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
