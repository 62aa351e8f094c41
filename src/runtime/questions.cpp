#include "runtime/questions.hpp"

#include "runtime/turn_lines.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace holdfast::runtime {

namespace {

using namespace std::chrono_literals;

// Enough for one look at the store.
constexpr std::size_t kBatch = 256;
constexpr std::size_t kHistoryBytes = 1U << 20U;
// Until an instance that has not begun is looked at again: longer the longer that takes.
constexpr Duration kFirstWaitForTurn = 5ms;
constexpr Duration kLongestWaitForTurn = 500ms;
constexpr Duration kUntilReadAgain = 100ms;
// Longer than most answers take; then another worker may try.
constexpr Duration kAskLease = 3s;

}  // namespace

Questions::Questions(const Settings& settings, const Standing& standing, Waker& waker)
    : settings_(settings),
      standing_(standing),
      waker_(waker),
      trouble_(settings),
      frames_(settings.options.query_frames) {}

Questions::~Questions() { link_->closed = true; }

bool Questions::take(const store::Ask& ask, const store::LocalAsks::Done& done) {
  const std::size_t most = settings_.options.queued_queries;
  if (most == 0 || !standing_.accepts() || settings_.code.orchestrations.empty()) return false;
  const BootTime now = settings_.now();
  {
    const MutexLock lock(mutex_);
    if (closed_) return false;
    if (waiting_.size() < most) {
      waiting_.push_back(
          {.ask = ask, .done = done, .came = now, .until = after(now, ask.within), .not_before = now});
    } else {
      MutexUnlock unlocked(mutex_);
      settings_.counters.queries_refused.add();
      done({.id = ask.id, .kind = Kind::busy});
      return true;
    }
  }
  waker_.poke(Step::questions);
  return true;
}

Progress Questions::step(RunId run) {
  if (again_at_ <= settings_.now()) {
    again_at_ = BootTime::max();
    want_asks();
  }
  send_answers();
  if (asks_wanted_.exchange(false)) fetch_asks();
  ByInstance due = take_due(settings_.now());
  if (due.empty()) return {false, next_due()};
  std::vector<InstanceKey> keys;
  for (const auto& [key, questions] : due) keys.push_back(key);
  const auto views = settings_.store->look(keys);
  if (!views) {
    const BootTime again = trouble_.failed("look at instances", views.error());
    const Duration pause = std::max(left(again, settings_.now()), Duration(1ms));
    for (auto& [key, questions] : due) put_off(std::move(questions), pause);
    return {false, next_due()};
  }
  trouble_.worked();
  auto view = views->begin();
  for (auto it = due.begin(); it != due.end(); ++it, ++view) {
    if (answer(run, std::move(it->second), *view)) continue;
    for (++it; it != due.end(); ++it) put_off(std::move(it->second), Duration::zero());
    waker_.poke(Step::questions);
    return {.came_back = true};
  }
  return {false, next_due()};
}

// No more than there is room for: others may have some.
void Questions::fetch_asks() {
  const std::size_t most = settings_.options.queued_queries;
  if (most == 0 || !standing_.accepts() || settings_.code.orchestrations.empty()) return;
  std::size_t room = 0;
  {
    const MutexLock lock(mutex_);
    room = most - std::min(most, waiting_.size());
  }
  if (room == 0) {
    again_at_ = after(settings_.now(), kUntilReadAgain);
    return;
  }
  const store::AskRequest request{
      .worker = standing_.key(), .code = &settings_.code, .lease = kAskLease, .max = std::min(room, kBatch)};
  auto asks = settings_.store->fetch_asks(request);
  if (!asks) {
    again_at_ = trouble_.failed("fetch queries", asks.error());
    return;
  }
  const BootTime now = settings_.now();
  const MutexLock lock(mutex_);
  for (store::Ask& ask : *asks) {
    const BootTime until = after(now, ask.within);
    waiting_.push_back(
        {.ask = std::move(ask), .done = answer_in_store(), .came = now, .until = until, .not_before = now});
  }
  if (asks->size() == request.max) want_asks();
}

// What this worker can't answer is left to others, when its lease is over.
store::LocalAsks::Done Questions::answer_in_store() {
  return [this](store::AskAnswer answer) {
    if (answer.kind == Kind::no_code) return;
    {
      const MutexLock lock(mutex_);
      answers_.push_back(std::move(answer));
    }
    waker_.poke(Step::questions);
  };
}

void Questions::send_answers() {
  std::vector<store::AskAnswer> answers;
  {
    const MutexLock lock(mutex_);
    answers.swap(answers_);
  }
  if (answers.empty()) return;
  const auto sent = settings_.store->answer(answers);
  std::vector<store::AskAnswer> again;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (sent[i] || !may_pass(sent[i].error())) continue;
    again_at_ = trouble_.failed("answer queries", sent[i].error());
    again.push_back(std::move(answers[i]));
  }
  constexpr std::size_t kMost = 1000;
  const MutexLock lock(mutex_);
  if (answers_.size() + again.size() > kMost) return;  // nobody waits for these any more
  answers_.insert(answers_.end(), std::make_move_iterator(again.begin()),
                  std::make_move_iterator(again.end()));
}

// All who wait for an instance are answered together. Those who have given up are forgotten.
Questions::ByInstance Questions::take_due(BootTime now) {
  ByInstance due;
  std::list<Question> over;
  const MutexLock lock(mutex_);
  std::size_t taken = 0;
  for (auto it = waiting_.begin(); it != waiting_.end() && taken < kBatch;) {
    const auto next = std::next(it);
    const bool away =
        std::ranges::any_of(running_, [&](const Running& one) { return one.work->key == it->ask.key; });
    if (it->until <= now) {
      over.splice(over.end(), waiting_, it);
    } else if (!away && it->not_before <= now) {
      due[it->ask.key].push_back(std::move(*it));
      waiting_.erase(it);
      ++taken;
    }
    it = next;
  }
  return due;
}

BootTime Questions::next_due() const {
  const MutexLock lock(mutex_);
  BootTime due = BootTime::max();
  due = again_at_;
  for (const Question& question : waiting_) {
    const bool away =
        std::ranges::any_of(running_, [&](const Running& one) { return one.work->key == question.ask.key; });
    due = std::min(due, away ? question.until : std::min(question.until, question.not_before));
  }
  return due;
}

void Questions::refuse(const std::vector<Question>& questions, Kind kind, const std::string& why) const {
  for (const Question& question : questions) {
    if (question.done) question.done({.id = question.ask.id, .kind = kind, .body = why});
  }
}

void Questions::put_off(std::vector<Question>&& questions, Duration pause) {
  const BootTime until = after(settings_.now(), pause);
  bool closed = false;
  {
    const MutexLock lock(mutex_);
    closed = closed_;
    for (Question& question : questions) {
      question.not_before = until;
      if (!closed && question.done) waiting_.push_back(std::move(question));
    }
  }
  if (closed) refuse(questions, Kind::no_code, "the worker has stopped");
}

std::shared_ptr<const detail::OrchestrationCode> Questions::code_of(const store::InstanceView& view,
                                                                    std::string& missing) const {
  const std::string version = settings_.registry.decided_version(view.code.name, view.code.version);
  auto code = settings_.registry.orchestration(view.code.name, version);
  if (code && view.build <= settings_.options.build) return code;
  missing = code ? "a worker of build " + std::to_string(view.build) + " or newer"
                 : "orchestration '" + view.code.name + "'" +
                       (view.code.version.empty() ? "" : ", version " + view.code.version);
  return nullptr;
}

bool Questions::answer(RunId run, std::vector<Question>&& questions,
                       const std::optional<store::InstanceView>& view) {
  if (!view) {
    refuse(questions, Kind::gone, "");
    return true;
  }
  std::string missing;
  const auto work = std::make_shared<Answering>();
  work->code = code_of(*view, missing);
  if (!work->code) {
    refuse(questions, Kind::no_code, missing);
    return true;
  }
  work->key = view->key;
  work->identity = {.instance = view->instance,
                    .execution = view->execution,
                    .build = std::to_string(settings_.options.build)};
  work->home = settings_.homes.of(*work->code);
  work->frame = frames_.take(view->key, view->execution);
  work->replay_limit = settings_.options.turn_time_limit;
  work->handler_limit = settings_.options.query_time_limit;
  const std::optional<bool> read = read_history(*work);
  if (!read) {
    refuse(questions, Kind::gone, "");
    return true;
  }
  if (!*read) {
    put_off(std::move(questions), kUntilReadAgain);
    return true;
  }
  for (const Question& question : questions) work->asks.push_back(question.ask);
  {
    const MutexLock lock(mutex_);
    running_.push_back({.work = work, .questions = std::move(questions)});
  }
  if (work->home) {
    send(work);
    return true;
  }
  work->run = run;
  return this->run(work);
}

std::optional<bool> Questions::read_history(Answering& work) {
  EventId after = work.frame ? EventId{work.frame->next_event().value - 1} : EventId{};
  for (;;) {
    auto segments = settings_.store->read_history(work.key, work.identity.execution, after, kHistoryBytes);
    if (!segments) {
      if (segments.error().kind == StoreError::Kind::not_found) return std::nullopt;
      trouble_.failed("read history", segments.error());
      return false;
    }
    if (segments->empty()) return true;
    after = segments->back().first_event;
    for (store::Segment& segment : *segments) work.history.push_back(std::move(segment));
  }
}

// False when its code was given up: then another thread has taken this one's place.
bool Questions::run(const std::shared_ptr<Answering>& work) {
  work_on(*work, *this);
  if (work->came == Answering::Came::given_up) {
    log(*settings_.logger, LogLevel::info, "a query that was given up has come back; what it did is dropped");
    return false;
  }
  settle(*work);
  return true;
}

void Questions::send(const std::shared_ptr<Answering>& work) {
  begin(*work, work->replay_limit);  // the executor has as long to begin
  const bool posted = work->home->post([this, work, link = link_, owner = owner_.lock()] {
    if (link->closed) return;
    const FrameHome::Visit visit(*work->home);
    if (!came_back(*work)) return;
    work_on(*work, *this);
    if (work->came != Answering::Came::given_up) settle(*work);
  });
  if (posted) return;
  std::vector<Question> questions;
  {
    const MutexLock lock(mutex_);
    if (const auto it = find(*work); it != running_.end()) {
      questions = std::move(it->questions);
      running_.erase(it);
    }
  }
  refuse(questions, Kind::no_code, "an executor that takes work");
}

// Its code has ended in time; what has no answer yet is asked again.
void Questions::settle(Answering& work) {
  std::vector<Question> rest;
  bool closed = false;
  {
    const MutexLock lock(mutex_);
    closed = closed_;
    const auto it = find(work);
    if (it == running_.end()) return;
    rest = std::move(it->questions);
    running_.erase(it);
  }
  std::erase_if(rest, [](const Question& question) { return !question.done; });
  if (work.came == Answering::Came::answered && work.frame && !closed)
    frames_.put(work.key, work.identity.execution, std::move(work.frame));
  if (!rest.empty()) {
    const Duration waited = settings_.now() - rest.front().came;
    const bool at_once = work.came == Answering::Came::answered || work.came == Answering::Came::differs;
    put_off(std::move(rest),
            at_once ? Duration::zero() : std::clamp(waited / 2, kFirstWaitForTurn, kLongestWaitForTurn));
  }
  waker_.poke(Step::questions);
}

// ---- what code may take ---------------------------------------------------------------------------

std::vector<Questions::Running>::iterator Questions::find(const Answering& work) {
  return std::ranges::find_if(running_, [&](const Running& one) { return one.work.get() == &work; });
}

void Questions::begin(Answering& work, Duration limit) {
  const BootTime until = after(settings_.now(), limit);
  {
    const MutexLock lock(mutex_);
    if (const auto it = find(work); it != running_.end()) it->until = until;
  }
  waker_.limit_by(until);
}

bool Questions::came_back(Answering& work) {
  const MutexLock lock(mutex_);
  const auto it = find(work);
  if (it == running_.end()) return false;
  it->until = BootTime::max();
  return true;
}

bool Questions::answered(Answering& work, const bodies::Answer& answer) {
  Question question;
  {
    const MutexLock lock(mutex_);
    const auto it = find(work);
    if (it == running_.end()) return false;
    question = std::move(it->questions[it->answered]);
    it->questions[it->answered].done = nullptr;
    ++it->answered;
  }
  settings_.counters.queries.add();
  if (answer.failure) settings_.counters.queries_failed.add();
  question.done({.id = question.ask.id, .kind = Kind::answered, .body = bodies::to_bytes(answer)});
  return true;
}

std::vector<RunId> Questions::give_up_overdue() {
  const BootTime now = settings_.now();
  std::vector<Running> overdue;
  {
    const MutexLock lock(mutex_);
    std::erase_if(running_, [&](Running& one) {
      if (one.until > now) return false;
      overdue.push_back(std::move(one));
      return true;
    });
  }
  std::vector<RunId> stuck;
  for (Running& one : overdue) {
    settings_.counters.queries_slow.add();
    const std::string& instance = one.work->identity.instance;
    log(*settings_.logger, LogLevel::error,
        "a query took too long; its frame is dropped, and its instance goes on",
        {{"instance", instance}, {"query", one.questions[one.answered].ask.name}});
    const Question slow = std::move(one.questions[one.answered]);
    one.questions[one.answered].done = nullptr;
    const bodies::Answer answer{
        .failure = Failure{.category = Category::timeout,
                           .type = "query_slow",
                           .message = "the code of instance '" + instance +
                                      "' took too long to answer: a handler has query_time_limit for it",
                           .source = "query " + slow.ask.name,
                           .retryable = false}};
    slow.done({.id = slow.ask.id, .kind = Kind::answered, .body = bodies::to_bytes(answer)});
    put_off(std::move(one.questions), Duration::zero());
    if (!one.work->home) stuck.push_back(one.work->run);
  }
  if (!overdue.empty()) waker_.poke(Step::questions);
  return stuck;
}

BootTime Questions::next_overdue() const {
  const MutexLock lock(mutex_);
  BootTime due = BootTime::max();
  for (const Running& one : running_) due = std::min(due, one.until);
  return due;
}

void Questions::close() {
  std::list<Question> waiting;
  std::vector<Running> running;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    waiting.swap(waiting_);
    running.swap(running_);
  }
  frames_.clear();
  const std::string why = "the worker has stopped";
  for (const Question& question : waiting)
    question.done({.id = question.ask.id, .kind = Kind::no_code, .body = why});
  for (const Running& one : running) refuse(one.questions, Kind::no_code, why);
}

}  // namespace holdfast::runtime
