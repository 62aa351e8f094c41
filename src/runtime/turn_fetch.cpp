#include "runtime/turn_fetch.hpp"

#include "runtime/turn_lines.hpp"

#include <chrono>
#include <utility>

namespace holdfast::runtime {

namespace {

using namespace std::chrono_literals;

// Longer than a turn takes.
constexpr Duration kSoon = 200ms;
// What may kill its worker waits so long for another one, while this one runs such an instance.
constexpr Duration kSuspectPause = 250ms;

}  // namespace

// One thread fetches; the others go on with what is there.
TurnFetch::Fetched TurnFetch::fetch() {
  if (!standing_.accepts() || (!wanted_ && settings_.now() < due_.load())) return Fetched::nothing;
  // What is fetched now would be lost with this process, if that is what the suspect kills.
  if (const InstanceKey suspect = suspect_.current(); suspect.value != 0 && cache_.holds(suspect))
    return Fetched::elsewhere;
  if (!fetching_.try_lock()) return Fetched::elsewhere;
  MutexLock lock(fetching_, std::adopt_lock);
  const bool any = fetch_alone();
  lock.unlock();
  // This thread will be busy; whoever left the fetch to it has to know when the next one is due.
  if (wanted_ || due_.load() < after(settings_.now(), kSoon)) waker_.poke(Step::turns);
  return any ? Fetched::some : Fetched::nothing;
}

bool TurnFetch::fetch_alone() {
  wanted_ = false;
  const std::vector<store::HeldInstance> held = cache_.held();
  const std::optional<store::Code> narrowed = settings_.homes.narrowed(settings_.code, settings_.registry);
  const store::TurnRequest request{.worker = standing_.key(),
                                   .code = narrowed ? &*narrowed : &settings_.code,
                                   .token = unanswered_ ? *unanswered_ : chance_.token<LockToken>(),
                                   .repeated = unanswered_.has_value(),
                                   .lease = settings_.options.instance_lease,
                                   .max = kBatch,
                                   .held = held};
  const BootTime asked = settings_.now();
  auto fetched = settings_.store->fetch_turns(request);
  if (!fetched) {
    standing_.note(fetched.error(), request.worker);
    due_ = trouble_.failed("fetch turns", fetched.error());
    unanswered_ = request.token;
    return false;
  }
  unanswered_.reset();
  trouble_.worked();
  calendar_.read(fetched->now, settings_.now());
  due_ = after(asked, fetched->next_due);
  if (fetched->left_behind) wanted_ = true;
  const bool any = !fetched->turns.empty();
  keep_one_suspect(fetched->turns);
  for (store::LockedTurn& turn : fetched->turns) {
    say_taken_over(settings_, turn);
    cache_.add(std::move(turn));
  }
  if (any) waker_.keep_by(after(asked, settings_.options.instance_lease / 3));
  return any;
}

// The others go back before it is run, and this delivery does not count for them.
void TurnFetch::keep_one_suspect(std::vector<store::LockedTurn>& turns) {
  std::vector<store::TurnRelease> others;
  std::erase_if(turns, [&](const store::LockedTurn& turn) {
    if (turn.held || !settings_.is_suspect(turn.delivery)) return false;
    const InstanceKey current = suspect_.current();
    if (current.value == 0 || current == turn.key || !cache_.holds(current)) {
      suspect_.set(turn.key);
      say_suspect(settings_, turn);
      return false;
    }
    others.push_back({.key = turn.key,
                      .token = turn.token,
                      .delay = kSuspectPause,
                      .seen = turn.messages.empty() ? MessageId{} : turn.messages.back().id});
    return true;
  });
  if (others.empty()) return;
  const auto answers = settings_.store->release_turns(others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (!answers[i] && may_pass(answers[i].error())) outbox_.release_again(others[i]);
  }
}

void TurnFetch::clear_suspect(InstanceKey key) {
  if (!suspect_.clear(key)) return;
  want();
  waker_.poke(Step::turns);
}

}  // namespace holdfast::runtime
