#include "runtime/session_memory.hpp"

#include <holdfast/task.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace holdfast::runtime {

namespace {

Failure unreadable(const std::string& session, const std::string& state, Failure cause) {
  return {
      .category = Category::decode,
      .type = "state_unreadable",
      .message = "what was saved of session '" + session + "'" +
                 (state.empty() ? "" : " as state '" + state + "'") + " can't be read: " + cause.message +
                 "; let the state's `make` read it, or have it discarded: client.discard_session_state(\"" +
                 session + "\")",
      .retryable = false,
      .cause = std::make_shared<const Failure>(std::move(cause))};
}

Failure not_saved(const std::string& session, const std::string& state, Failure cause) {
  return {
      .category = cause.category,
      .type = "state_not_saved",
      .message = "state '" + state + "' of session '" + session + "' could not be saved: " + cause.message,
      .retryable = cause.retryable,
      .cause = std::make_shared<const Failure>(std::move(cause))};
}

const Payload* find(const SavedStates& saved, const std::string& name) {
  const auto found = std::ranges::find(saved.parts, name, &SavedStates::Part::name);
  return found == saved.parts.end() ? nullptr : &found->state;
}

void put(SavedStates& saved, const std::string& name, Payload state) {
  const auto found = std::ranges::find(saved.parts, name, &SavedStates::Part::name);
  if (found != saved.parts.end()) {
    found->state = std::move(state);
  } else {
    saved.parts.push_back({name, std::move(state)});
  }
}

}  // namespace

SessionMemory::SessionMemory(std::string id, std::optional<std::optional<std::string>> saved, ReadSaved read,
                             Dispose dispose)
    : id_(std::move(id)),
      read_(std::move(read)),
      dispose_(std::move(dispose)),
      saved_bytes_(std::move(saved)) {}

SessionMemory::~SessionMemory() {
  if (!states_.empty()) dispose_(std::make_shared<States>(std::move(states_)));
}

// ---- using a state ------------------------------------------------------------------------------

void* SessionMemory::state(const detail::SessionStateCode& code, Generation generation, Use& use,
                           const std::stop_token& stop, bool may_wait) {
  MutexLock lock(mutex_);
  if (!may_wait && !is_free(code, use)) {
    throw ActivityFailure("state_busy", "another activity has the state of session '" + id_ + "'");
  }
  if (!changed_.wait(lock, stop, [&]() HOLDFAST_REQUIRES(mutex_) { return is_free(code, use); })) {
    throw ActivityFailure(
        "stopped", "the activity was asked to stop while it waited for the state of session '" + id_ + "'");
  }
  return use_state(code, generation, use);
}

void* SessionMemory::state(const detail::SessionStateCode& code, Generation generation, Use& use,
                           std::function<void()> when_free) {
  MutexLock lock(mutex_);
  if (is_free(code, use)) return use_state(code, generation, use);
  waiting_.push_back(std::move(when_free));
  return nullptr;
}

bool SessionMemory::is_free(const detail::SessionStateCode& code, const Use& use) const {
  return !making_ && (!taken_ || use.alone || code.is_concurrent());
}

void* SessionMemory::use_state(const detail::SessionStateCode& code, Generation generation, Use& use) {
  if (!code.is_concurrent()) taken_ = use.alone = true;
  if (code.saved_with_each_activity()) use.to_be_recorded = true;
  return find_or_make(code, generation, use);
}

void* SessionMemory::find_or_make(const detail::SessionStateCode& code, Generation generation, Use& use) {
  if (const auto found = states_.find(&code); found != states_.end()) return found->second.get();
  making_ = true;
  std::shared_ptr<void> made;
  std::exception_ptr problem;
  try {
    made = make(code, generation);
  } catch (const NoAnswer&) {
    use.unanswered = true;
    problem = std::current_exception();
  } catch (...) {
    problem = std::current_exception();
  }
  making_ = false;
  void* const state = made.get();
  if (!problem) states_[&code] = std::move(made);
  {
    const MutexUnlock unlocked(mutex_);
    tell_changed();
  }
  if (problem) std::rethrow_exception(problem);
  return state;
}

std::shared_ptr<void> SessionMemory::make(const detail::SessionStateCode& code, Generation generation) {
  if (unreadable_.contains(code.name())) read_again(code.name());
  const std::shared_ptr<const SavedStates> saved = saved_states();
  SessionStart start{.id = id_, .generation = generation};
  if (const Payload* const last = find(*saved, code.name())) start.last_saved = *last;
  try {
    const MutexUnlock unlocked(mutex_);
    return code.make(start);
  } catch (const DecodeError& e) {
    if (!start.last_saved) throw;
    unreadable_.insert(code.name());
    throw DecodeError(unreadable(id_, code.name(), e.failure()));
  }
}

// Somebody may have discarded it since. Of all that is saved only this part is taken over: nobody here has
// that state, and others may just be saving theirs.
void SessionMemory::read_again(const std::string& name) {
  std::optional<std::string> bytes;
  {
    const MutexUnlock unlocked(mutex_);
    bytes = ask_store();
  }
  const SavedStates now = bytes ? read_saved_states(*bytes) : SavedStates{};
  SavedStates known = *saved_states();
  std::erase_if(known.parts, [&](const SavedStates::Part& part) { return part.name == name; });
  if (const Payload* const part = find(now, name)) put(known, name, *part);
  saved_ = std::make_shared<const SavedStates>(std::move(known));
  unreadable_.erase(name);
}

// What the store has, as one that nobody changes any more. It is read by whoever makes a state or saves all
// of them, so by one at a time; and nobody saves meanwhile, since who has a state to save knows what it was
// made from.
std::shared_ptr<const SavedStates> SessionMemory::saved_states() {
  if (saved_) return saved_;
  if (!saved_bytes_) {
    std::optional<std::string> bytes;
    {
      const MutexUnlock unlocked(mutex_);
      bytes = ask_store();
    }
    saved_bytes_ = std::move(bytes);
  }
  const std::optional<std::string> bytes = *std::exchange(saved_bytes_, std::nullopt);
  try {
    saved_ = std::make_shared<const SavedStates>(bytes ? read_saved_states(*bytes) : SavedStates{});
  } catch (const DecodeError& e) {
    throw DecodeError(unreadable(id_, "", e.failure()));  // and read again the next time
  }
  return saved_;
}

std::optional<std::string> SessionMemory::ask_store() const {
  auto bytes = read_();
  if (bytes) return *std::move(bytes);
  const StoreError& error = bytes.error();
  Failure failure{.category = Category::store,
                  .type = "store_" + std::string(to_string(error.kind)),
                  .message = "the saved state of session '" + id_ + "' could not be read: " + error.message};
  if (may_pass(error)) throw NoAnswer(std::move(failure));
  throw Error(std::move(failure));
}

void SessionMemory::tell_changed() {
  changed_.notify_all();
  std::vector<std::function<void()>> waiting;
  {
    const MutexLock lock(mutex_);
    waiting = std::exchange(waiting_, {});
  }
  for (const auto& one : waiting) one();
}

// ---- the end of an activity ---------------------------------------------------------------------

std::optional<std::string> SessionMemory::end_of_code(Use& use, bool succeeded) {
  if (!use.to_be_recorded) {
    end_of_use(use, true);  // others may go on while the store is told
    return std::nullopt;
  }
  if (!succeeded) return std::nullopt;
  // It is alone: states that are saved with activities are not concurrent. Others may be made meanwhile.
  MutexLock lock(mutex_);
  use.save = save(&detail::SessionStateCode::saved_with_each_activity);
  return to_bytes(*use.save);
}

// What the store has, with these states as they are now.
std::shared_ptr<const SavedStates> SessionMemory::save(Choice chosen) {
  SavedStates saved = *saved_states();
  std::vector<States::value_type> states;
  std::ranges::copy_if(states_, std::back_inserter(states),
                       [&](const auto& entry) { return (entry.first->*chosen)(); });
  const MutexUnlock unlocked(mutex_);
  for (const auto& [code, state] : states) put(saved, code->name(), save(*code, state.get()));
  return std::make_shared<const SavedStates>(std::move(saved));
}

Payload SessionMemory::save(const detail::SessionStateCode& code, const void* state) const {
  try {
    return code.save(state);
  } catch (...) {
    throw Error(not_saved(id_, code.name(), detail::failure_of(std::current_exception())));
  }
}

void SessionMemory::end_of_use(Use& use, bool recorded) {
  if (!std::exchange(use.alone, false)) return;
  States undone;
  {
    const MutexLock lock(mutex_);
    if (use.to_be_recorded && !(recorded && use.save)) {
      // What it changed never happened; or did, and nobody told.
      for (auto it = states_.begin(); it != states_.end();) {
        const auto next = std::next(it);
        if (it->first->saved_with_each_activity()) undone.insert(states_.extract(it));
        it = next;
      }
    }
    if (use.save) {
      saved_ = recorded ? std::move(use.save) : nullptr;  // else the store knows
      saved_bytes_.reset();
    }
    taken_ = false;
  }
  tell_changed();
  if (!undone.empty()) dispose_(std::make_shared<States>(std::move(undone)));
}

// ---- leaving ------------------------------------------------------------------------------------

bool SessionMemory::is_empty() const {
  const MutexLock lock(mutex_);
  return states_.empty();
}

void SessionMemory::set_busy(bool busy) {
  {
    MutexLock lock(mutex_);
    if (busy) changed_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return !taken_ && !making_; });
    taken_ = making_ = busy;
  }
  if (!busy) tell_changed();
}

std::optional<std::string> SessionMemory::save_all(bool all_or_nothing) {
  set_busy(true);
  struct Free {
    SessionMemory& memory;
    ~Free() { memory.set_busy(false); }
  };
  const Free free{*this};
  MutexLock lock(mutex_);
  const auto is_saved = [](const auto& entry) { return entry.first->is_saved(); };
  if (std::ranges::none_of(states_, is_saved)) return std::nullopt;
  if (all_or_nothing && !std::ranges::all_of(states_, is_saved)) return std::nullopt;
  return to_bytes(*save(&detail::SessionStateCode::is_saved));
}

}  // namespace holdfast::runtime
