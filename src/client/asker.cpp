#include "client/asker.hpp"

#include "base/moments.hpp"
#include "client/core.hpp"
#include "client/seconds_text.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace holdfast::client {

namespace {

using namespace std::chrono_literals;

constexpr Duration kUnansweredPause = 20ms;

std::exception_ptr query_error(const store::Ask& ask, Category category, std::string type,
                               std::string message) {
  return std::make_exception_ptr(QueryError(Failure{.category = category,
                                                    .type = std::move(type),
                                                    .message = std::move(message),
                                                    .source = "query " + ask.name,
                                                    .retryable = false}));
}

}  // namespace

Asker::Asker(std::shared_ptr<Store> store, std::function<void()> poke_asks, std::function<void()> poke_ends)
    : store_(std::move(store)), poke_asks_(std::move(poke_asks)), poke_ends_(std::move(poke_ends)) {}

void Asker::ask(store::Ask ask, std::string instance, Done done) {
  const BootTime until = after(store_->clock().boot_now(), ask.within);
  {
    const MutexLock lock(mutex_);
    if (closed_) refuse_as_closed();
    deadlines_.emplace(until, ask.id);
    waiting_.emplace(
        ask.id,
        Waiting{.ask = ask, .instance = std::move(instance), .done = std::move(done), .until = until});
  }
  poke_ends_();  // it has to know when the time is up
  offer(ask, 0);
}

// Whoever answers may do so after the client is gone.
store::LocalAsks::Done Asker::local_done() {
  return [this, owner = owner_](const store::AskAnswer& answer) {
    if (const auto alive = owner.lock()) heard(answer);
  };
}

// The answer may come while it is offered.
void Asker::offer(const store::Ask& ask, std::uint64_t after) {
  const std::uint64_t taker = store_->local_asks().offer(ask, local_done(), after);
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.find(ask.id);
    if (found == waiting_.end()) return;
    found->second.offered = true;
    if (taker != 0) found->second.taker = taker;
    if (taker != 0 && !std::exchange(found->second.refused, false)) return;
    unserved_.insert(ask.id);
  }
  poke_asks_();
}

void Asker::heard(const store::AskAnswer& answer) {
  using Kind = store::AskAnswer::Kind;
  if (answer.kind == Kind::answered) {
    auto read = bodies::read<bodies::Answer>(answer.body);
    if (read) return end(answer.id, *std::move(read));
  }
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.find(answer.id);
    if (found == waiting_.end()) return;
    Waiting& waiting = found->second;
    if (answer.kind == Kind::busy || answer.kind == Kind::answered) {
      const bool busy = answer.kind == Kind::busy;
      end(found,
          Unexpected(query_error(
              waiting.ask, busy ? Category::limit : Category::decode,
              busy ? "query_busy" : "query_unreadable",
              busy ? "too many queries wait for an answer (RuntimeOptions::queued_queries); ask again later"
                   : "the answer of the worker can't be read")));
    } else {
      waiting.gone = answer.kind == Kind::gone;
      waiting.missing = answer.body;
      waiting.refused = true;
      if (!waiting.offered) return;  // whoever offers it goes on
      unserved_.insert(answer.id);
    }
  }
  poke_asks_();
  poke_ends_();
}

void Asker::give_up(store::AskId id) {
  end(id, Unexpected(std::make_exception_ptr(std::system_error(
              std::make_error_code(std::errc::operation_canceled), "the query was given up"))));
}

void Asker::end(store::AskId id, Said said) {
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    end(found, std::move(said));
  }
  poke_ends_();
}

void Asker::end(ById::iterator it, Said said) {
  deadlines_.erase({it->second.until, it->first});
  unserved_.erase(it->first);
  shared_.erase(it->first);
  ended_.push_back({std::move(it->second.done), std::move(said)});
  waiting_.erase(it);
}

// ---- the thread that asks the store

BootTime Asker::due() const {
  const MutexLock lock(mutex_);
  return unserved_.empty() ? BootTime::max() : again_at_;
}

void Asker::find_answerers() {
  std::vector<Waiting> unserved;
  {
    const MutexLock lock(mutex_);
    if (unserved_.empty() || again_at_ > store_->clock().boot_now()) return;
    for (const store::AskId id : std::exchange(unserved_, {})) {
      Waiting& waiting = waiting_.at(id);
      waiting.refused = false;
      unserved.push_back(Waiting{.ask = waiting.ask,
                                 .instance = waiting.instance,
                                 .until = waiting.until,
                                 .taker = waiting.taker,
                                 .gone = waiting.gone,
                                 .missing = waiting.missing});
    }
  }
  for (const Waiting& waiting : unserved) {
    if (find_answerer(waiting)) continue;
    const MutexLock lock(mutex_);
    again_at_ = after(store_->clock().boot_now(), kUnansweredPause);
    if (waiting_.contains(waiting.ask.id)) unserved_.insert(waiting.ask.id);
  }
}

// False when the store did not say.
bool Asker::find_answerer(const Waiting& waiting) {
  if (!waiting.gone && waiting.taker != 0 &&
      store_->local_asks().offer(waiting.ask, local_done(), waiting.taker) != 0) {
    return true;
  }
  const auto views = store_->look({&waiting.ask.key, 1});
  if (!views) return !may_pass(views.error());
  if (!views->front()) {
    end(waiting.ask.id,
        Unexpected(detail::answer_of([&] { detail::refuse_as_gone(*store_, waiting.instance); }).error()));
    return true;
  }
  const auto detail = store_->describe(waiting.instance);
  if (!detail && detail.error().kind != StoreError::Kind::not_found) return !may_pass(detail.error());
  if (detail && detail->view.key == waiting.ask.key && detail->workers > 0)
    return share(waiting, detail->view);
  const auto workers = store_->workers();
  if (!workers) return !may_pass(workers.error());
  end(waiting.ask.id, Unexpected(nobody(waiting, *views->front(), *workers)));
  return true;
}

// Workers of other processes have the code.
bool Asker::share(const Waiting& waiting, const store::InstanceView& view) {
  store::Ask ask = waiting.ask;
  ask.within = left(waiting.until, store_->clock().boot_now());
  ask.code = view.code;
  ask.build = view.build;
  const auto asked = store_->ask({&ask, 1}).front();
  if (!asked && asked.error().kind == StoreError::Kind::unavailable) return false;
  if (!asked) {
    end(ask.id,
        Unexpected(query_error(ask, Category::limit, "query_busy",
                               "too many queries wait for workers of other processes; ask again later")));
    return true;
  }
  const MutexLock lock(mutex_);
  if (waiting_.contains(ask.id)) shared_.insert(ask.id);
  return true;
}

bool Asker::has_shared() const {
  const MutexLock lock(mutex_);
  return !shared_.empty();
}

void Asker::take_answers() {
  std::vector<store::AskId> ids;
  {
    const MutexLock lock(mutex_);
    ids.assign(shared_.begin(), shared_.end());
  }
  if (ids.empty()) return;
  const auto answers = store_->take_answers(ids);
  if (!answers) return;  // the next look comes soon
  for (const store::AskAnswer& answer : *answers) heard(answer);
}

std::exception_ptr Asker::nobody(const Waiting& waiting, const store::InstanceView& view,
                                 const std::vector<store::WorkerView>& workers) const {
  std::string there;
  for (const store::WorkerView& worker : workers) {
    if (!worker.is_alive()) continue;
    there += (there.empty() ? "" : "; ") + worker.info.node + ": ";
    std::string names;
    for (const store::CodeVersion& code : worker.info.code.orchestrations) {
      if (code.version.empty()) continue;
      names += (names.empty() ? "" : ", ") + code.name + " " + code.version;
    }
    there += names.empty() ? "no orchestrations" : names;
  }
  const std::string missing = !waiting.missing.empty()
                                  ? waiting.missing
                                  : "orchestration '" + view.code.name + "'" +
                                        (view.code.version.empty() ? "" : ", version " + view.code.version);
  return query_error(waiting.ask, Category::application, "query_no_worker",
                     "nobody can answer for instance '" + waiting.instance + "': no live worker has " +
                         missing + (there.empty() ? "; no worker is alive" : "; live workers are " + there));
}

// ---- the thread that calls back

BootTime Asker::ends() const {
  const MutexLock lock(mutex_);
  if (!ended_.empty()) return kLongAgo;
  return deadlines_.empty() ? BootTime::max() : deadlines_.begin()->first;
}

void Asker::tell(BootTime now, Callbacks& callbacks) {
  std::vector<Ended> ended;
  {
    const MutexLock lock(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const auto it = waiting_.find(deadlines_.begin()->second);
      const store::Ask& ask = it->second.ask;
      std::exception_ptr error = query_error(
          ask, Category::timeout, "query_timeout",
          "instance '" + it->second.instance + "' has not answered the query '" + ask.name + "' within " +
              seconds_text(ask.within) + "; it may not have had its first turn, or its worker hangs");
      end(it, Unexpected(std::move(error)));
    }
    ended.swap(ended_);
  }
  for (Ended& one : ended) callbacks.add(one.done(std::move(one.said)));
}

void Asker::abandon() {
  const MutexLock lock(mutex_);
  closed_ = true;
  while (!waiting_.empty()) {
    const auto it = waiting_.begin();
    std::exception_ptr error = std::make_exception_ptr(
        ClientError(ClientError::Kind::unavailable, "the client was closed while it waited for the query '" +
                                                        it->second.ask.name + "' of instance '" +
                                                        it->second.instance + "'"));
    end(it, Unexpected(std::move(error)));
  }
}

}  // namespace holdfast::client
