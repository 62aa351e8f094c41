#include "runtime/turns_away.hpp"

#include "runtime/drain.hpp"
#include "runtime/take_out.hpp"
#include "runtime/turn_lines.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>
#include <variant>

namespace holdfast::runtime {

namespace {

using namespace std::chrono_literals;

// History that is read for one batch: what is beyond it crosses with the next.
constexpr std::size_t kHistoryInHand = 16U << 20U;

std::size_t size_of(const std::vector<store::Segment>& history) {
  std::size_t bytes = 0;
  for (const store::Segment& segment : history) bytes += segment.bytes.size();
  return bytes;
}

}  // namespace

TurnsAway::TurnsAway(const Settings& settings, Waker& waker, TurnFetch& fetch, TurnRunner& runner,
                     CommitBuilder& builder, TurnSettling& settling, TurnCommitter& committer)
    : settings_(settings),
      waker_(waker),
      fetch_(fetch),
      runner_(runner),
      builder_(builder),
      settling_(settling),
      committer_(committer) {
  for (const auto& home : settings_.homes.all()) crossings_.emplace_back(home);
}

TurnsAway::~TurnsAway() { link_->closed = true; }

// A frame stays where it was made; one that is not there yet goes where its code says, unless none is needed.
std::shared_ptr<FrameHome> TurnsAway::home_of(const InstanceCache::Taken& taken) const {
  const CachedInstance& instance = *taken.instance;
  if (instance.frame) return instance.frame.get_deleter().home;
  if (asks_to_terminate(taken.messages)) return nullptr;
  const std::string& version = instance.code.version;
  const auto code = settings_.registry.orchestration(
      instance.code.name, version.empty() ? settings_.registry.newest_version(instance.code.name) : version);
  return code ? settings_.homes.of(*code) : nullptr;
}

Crossing& TurnsAway::crossing_to(const FrameHome& home) {
  return *std::ranges::find_if(crossings_, [&](const Crossing& one) { return one.home().get() == &home; });
}

void TurnsAway::take(std::vector<InstanceCache::Taken>& taken) {
  if (crossings_.empty()) return;
  for (Crossing& crossing : crossings_) {
    std::vector<InstanceCache::Taken> there =
        take_out(taken, [&](const InstanceCache::Taken& one) { return home_of(one) == crossing.home(); });
    if (there.empty()) continue;
    in_hand_ += there.size();
    if (!crossing.wait(there)) release(std::move(there));
  }
}

bool TurnsAway::step() {
  bool any = false;
  for (Crossing& crossing : crossings_) {
    any = send_next(crossing) || any;  // first: the executor is busy while the others are committed
    const std::vector<std::shared_ptr<TurnBatch>> back = crossing.take_back();
    for (const std::shared_ptr<TurnBatch>& batch : back) {
      settle(*batch);
      crossing.settle();
    }
    if (!back.empty()) send_next(crossing);  // a suspect may have waited for that
    any = any || !back.empty();
  }
  return any;
}

bool TurnsAway::send_next(Crossing& crossing) {
  std::vector<InstanceCache::Taken> next = crossing.begin(
      TurnFetch::kBatch, [&](const auto& one) { return settings_.is_suspect(one.instance->delivery); });
  if (next.empty()) return false;
  const auto batch = std::make_shared<TurnBatch>(crossing.home(), std::move(next));
  batch->begun = settings_.now();
  prepare(*batch);
  const auto rest = batch->waiting.begin() + static_cast<std::ptrdiff_t>(batch->next);
  crossing.wait_longer({std::make_move_iterator(rest), std::make_move_iterator(batch->waiting.end())});
  batch->waiting.clear();
  batch->next = 0;
  if (batch->sent.empty()) {
    crossing.end();
  } else {
    send(crossing, batch);
  }
  return true;
}

// Those that need no code are committed at once: they need not wait for it.
void TurnsAway::prepare(TurnBatch& batch) {
  std::size_t bytes = 0;
  while (batch.next < batch.waiting.size() && bytes < kHistoryInHand) {
    SentTurn sent{.turn = {.taken = std::move(batch.waiting[batch.next++])}};
    const CommitBuilder::Next next = builder_.prepare(sent);
    if (next == CommitBuilder::Next::code) {
      bytes += size_of(sent.history);
      batch.sent.push_back(std::move(sent));
      continue;
    }
    if (next == CommitBuilder::Next::commit) {
      batch.next_commit() = std::move(sent.commit);
      batch.prepared.push_back(std::move(sent.turn));
    }
  }
  committer_.commit(batch);
  in_hand_ -= batch.next - batch.sent.size();
}

void TurnsAway::send(Crossing& crossing, const std::shared_ptr<TurnBatch>& batch) {
  crossing.send(batch);
  runner_.send(*batch);
  const bool posted = crossing.home()->post([this, &crossing, batch, link = link_, owner = owner_.lock()] {
    if (!link->closed) run(crossing, *batch);
  });
  if (posted || !runner_.begin(*batch)) return;
  std::vector<InstanceCache::Taken> waiting = crossing.be_refused();
  say_gone(settings_, *crossing.home());
  in_hand_ -= batch->sent.size();
  settling_.give_back(*batch);
  release(std::move(waiting));
}

// On the executor. A frame that is of no use after this turn, however its commit ends, goes at once.
void TurnsAway::run(Crossing& crossing, TurnBatch& batch) {
  const FrameHome::Visit visit(*crossing.home());
  if (!runner_.begin(batch)) return come_back_late(crossing, batch);
  try {
    for (SentTurn& sent : batch.sent) {
      batch.current = std::exchange(sent.turn, {});
      builder_.run(batch, sent);
      sent.turn = std::exchange(batch.current, {});
      const bool ends = !std::holds_alternative<std::monostate>(sent.commit.end) || sent.turn.forget;
      if (ends) sent.turn.taken.instance->frame.reset();
    }
  } catch (const GivenUp&) {
    return come_back_late(crossing, batch);
  }
  crossing.come_back();
  waker_.poke(Step::turns);
}

void TurnsAway::come_back_late(Crossing& crossing, const TurnBatch& batch) {
  crossing.come_back_late(batch);
  say_back(settings_, *crossing.home());
  fetch_.want();
  waker_.poke(Step::turns);
}

void TurnsAway::settle(TurnBatch& batch) {
  const std::size_t count = batch.sent.size();
  for (SentTurn& sent : batch.sent) {
    if (!builder_.finish(sent)) continue;
    batch.next_commit() = std::move(sent.commit);
    batch.prepared.push_back(std::move(sent.turn));
  }
  batch.sent.clear();
  committer_.commit(batch);
  settings_.counters.turn_seconds.observe(
      std::chrono::duration<double>(settings_.now() - batch.begun).count());
  in_hand_ -= count;
}

void TurnsAway::give_up(TurnBatch& batch) {
  Crossing& crossing = crossing_to(*batch.home);
  std::vector<InstanceCache::Taken> waiting = crossing.give_up(batch);
  if (batch.current.taken.instance == nullptr) say_away(settings_, *batch.home);
  const std::size_t count = batch.sent.size();
  settling_.give_up(batch, runner_.stuck());
  release(std::move(waiting));
  in_hand_ -= count;
}

void TurnsAway::release(std::vector<InstanceCache::Taken>&& taken) {
  const std::size_t count = taken.size();
  for (InstanceCache::Taken& one : taken) settling_.release(std::move(one));
  in_hand_ -= count;
}

// Nobody steps any more, but executors run: a batch that is between two turns there can be given up in a
// moment, when it has come to the next one or to its end.
void TurnsAway::close() {
  for (Crossing& crossing : crossings_) release(crossing.close());
  const auto until = std::chrono::steady_clock::now() + Drain::kMomentToEnd;
  for (;;) {
    for (const std::shared_ptr<TurnBatch>& batch : runner_.give_up_elsewhere()) {
      crossing_to(*batch->home).give_up(*batch);
      in_hand_ -= batch->sent.size();
      settling_.give_back(*batch);
    }
    for (Crossing& crossing : crossings_) {
      for (const std::shared_ptr<TurnBatch>& batch : crossing.take_back()) {
        in_hand_ -= batch->sent.size();
        settling_.give_back(*batch);
      }
    }
    if (in_hand_ == 0 || std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(1ms);
  }
  link_->closed = true;
}

}  // namespace holdfast::runtime
