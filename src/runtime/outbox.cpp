#include "runtime/outbox.hpp"

#include "client/bodies.hpp"

#include <iterator>
#include <utility>

namespace holdfast::runtime {

void Outbox::answer(store::ActivityResult answer) {
  {
    const MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  waker_.poke(Step::answers);
}

void Outbox::answer(std::vector<LocalDone>&& done) {
  if (done.empty()) return;
  std::vector<store::ActivityResult> answers;
  answers.reserve(done.size());
  for (LocalDone& one : done) {
    answers.push_back({.id = one.id,
                       .token = one.token,
                       .result = store::Finished{bodies::to_bytes(one.outcome)},
                       .save = std::move(one.save),
                       .abort_session = std::move(one.abort_session)});
  }
  done.clear();
  {
    const MutexLock lock(mutex_);
    answers_.insert(answers_.end(), std::make_move_iterator(answers.begin()),
                    std::make_move_iterator(answers.end()));
  }
  waker_.poke(Step::answers);
}

void Outbox::answer_again(std::vector<store::ActivityResult>&& answers) {
  const MutexLock lock(mutex_);
  answers_.insert(answers_.begin(), std::make_move_iterator(answers.begin()),
                  std::make_move_iterator(answers.end()));
}

void Outbox::lock_again(const store::ActivityId& id, LockToken before, LockToken now) {
  const MutexLock lock(mutex_);
  for (store::ActivityResult& answer : answers_) {
    if (answer.id == id && answer.token == before) answer.token = now;
  }
}

std::vector<store::ActivityResult> Outbox::take_answers() {
  const MutexLock lock(mutex_);
  return std::exchange(answers_, {});
}

void Outbox::acknowledge(std::vector<store::CancelAcknowledgement>&& acknowledgements) {
  if (acknowledgements.empty()) return;
  {
    const MutexLock lock(mutex_);
    acknowledgements_.insert(acknowledgements_.end(), acknowledgements.begin(), acknowledgements.end());
  }
  waker_.poke(Step::keep);
}

std::vector<store::CancelAcknowledgement> Outbox::take_acknowledgements() {
  const MutexLock lock(mutex_);
  return std::exchange(acknowledgements_, {});
}

void Outbox::release(store::TurnRelease release) {
  release_again(std::move(release));
  waker_.poke(Step::keep);
}

void Outbox::release_again(store::TurnRelease release) {
  const MutexLock lock(mutex_);
  releases_.push_back(std::move(release));
}

std::vector<store::TurnRelease> Outbox::take_releases() {
  const MutexLock lock(mutex_);
  return std::exchange(releases_, {});
}

}  // namespace holdfast::runtime
