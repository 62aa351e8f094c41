#include "runtime/session_memory.hpp"

#include "client/bodies.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::runtime {

std::string to_bytes(const SavedStates& saved) { return bodies::to_bytes(saved); }

SavedStates read_saved_states(const std::string& bytes) {
  auto saved = bodies::read<SavedStates>(bytes);
  if (!saved) {
    throw DecodeError(Failure{.category = Category::decode,
                              .type = "state_unreadable",
                              .message = "the saved state of the session can't be read"});
  }
  return *std::move(saved);
}

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
  std::unique_lock lock(mutex_);
  if (!code.is_concurrent() && !use.alone) {
    wait_until_free(lock, stop, may_wait);
    taken_ = use.alone = true;
  }
  if (code.saved_with_each_activity()) use.to_be_recorded = true;
  changed_.wait(lock, [this] { return !making_; });
  return find_or_make(lock, code, generation);
}

void* SessionMemory::state(const detail::SessionStateCode& code, Generation generation, Use& use,
                           std::function<void()> when_free) {
  std::unique_lock lock(mutex_);
  const bool needs_it_alone = !code.is_concurrent() && !use.alone;
  if (making_ || (needs_it_alone && taken_)) {
    waiting_.push_back(std::move(when_free));
    return nullptr;
  }
  if (needs_it_alone) taken_ = use.alone = true;
  if (code.saved_with_each_activity()) use.to_be_recorded = true;
  return find_or_make(lock, code, generation);
}

// Nobody else makes one.
void* SessionMemory::find_or_make(std::unique_lock<std::mutex>& lock, const detail::SessionStateCode& code,
                                  Generation generation) {
  if (const auto found = states_.find(&code); found != states_.end()) return found->second.get();

  making_ = true;
  lock.unlock();
  std::shared_ptr<void> made;
  try {
    SessionStart start{.id = id_, .generation = generation};
    for (const SavedStates::Part& part : saved_states().parts) {
      if (part.name == code.name()) start.last_saved = part.state;
    }
    made = code.make(start);
  } catch (...) {
    lock.lock();
    making_ = false;
    lock.unlock();
    tell_changed();
    throw;
  }
  lock.lock();
  making_ = false;
  void* const state = (states_[&code] = std::move(made)).get();
  lock.unlock();
  tell_changed();
  return state;
}

// Without the mutex.
void SessionMemory::tell_changed() {
  changed_.notify_all();
  std::vector<std::function<void()>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = std::exchange(waiting_, {});
  }
  for (const auto& one : waiting) one();
}

void SessionMemory::wait_until_free(std::unique_lock<std::mutex>& lock, const std::stop_token& stop,
                                    bool may_wait) {
  if (!may_wait && taken_) {
    throw ActivityFailure("state_busy", "another activity has the state of session '" + id_ + "'");
  }
  if (changed_.wait(lock, stop, [this] { return !taken_; })) return;
  throw ActivityFailure(
      "stopped", "the activity was asked to stop while it waited for the state of session '" + id_ + "'");
}

// Only whoever is alone, makes a state or saves all of them calls this: one thread at a time.
SavedStates& SessionMemory::saved_states() {
  if (saved_) return *saved_;
  if (!saved_bytes_) saved_bytes_ = read_();
  saved_ = *saved_bytes_ ? read_saved_states(**saved_bytes_) : SavedStates{};
  saved_bytes_.reset();
  return *saved_;
}

void SessionMemory::put(SavedStates& saved, const std::string& name, Payload state) {
  const auto found = std::ranges::find(saved.parts, name, &SavedStates::Part::name);
  if (found != saved.parts.end()) {
    found->state = std::move(state);
  } else {
    saved.parts.push_back({name, std::move(state)});
  }
}

// ---- the end of an activity ---------------------------------------------------------------------

std::optional<std::string> SessionMemory::end_of_code(Use& use, bool succeeded) {
  if (!use.to_be_recorded) {
    end_of_use(use, true);  // others may go on while the store is told
    return std::nullopt;
  }
  if (!succeeded) return std::nullopt;
  // It is alone: states that are saved with activities are not concurrent.
  SavedStates saved = saved_states();
  for (const auto& [code, state] : states_) {
    if (code->saved_with_each_activity()) put(saved, code->name(), code->save(state.get()));
  }
  use.save = to_bytes(saved);
  return use.save;
}

void SessionMemory::end_of_use(Use& use, bool recorded) {
  if (!std::exchange(use.alone, false)) return;
  States undone;
  {
    const std::lock_guard lock(mutex_);
    if (use.to_be_recorded && recorded && use.save) {
      saved_.reset();
      saved_bytes_ = std::optional(std::move(*use.save));
    } else if (use.to_be_recorded) {
      // What it changed never happened; or did, and nobody told: the store knows.
      for (auto it = states_.begin(); it != states_.end();) {
        const auto next = std::next(it);
        if (it->first->saved_with_each_activity()) undone.insert(states_.extract(it));
        it = next;
      }
      saved_.reset();
      saved_bytes_.reset();
    }
    taken_ = false;
  }
  tell_changed();
  if (!undone.empty()) dispose_(std::make_shared<States>(std::move(undone)));
}

// ---- leaving ------------------------------------------------------------------------------------

bool SessionMemory::is_empty() const {
  const std::lock_guard lock(mutex_);
  return states_.empty();
}

void SessionMemory::set_busy(bool busy) {
  {
    std::unique_lock lock(mutex_);
    if (busy) changed_.wait(lock, [this] { return !taken_ && !making_; });
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
  const auto is_saved = [](const auto& entry) { return entry.first->is_saved(); };
  if (std::ranges::none_of(states_, is_saved)) return std::nullopt;
  if (all_or_nothing && !std::ranges::all_of(states_, is_saved)) return std::nullopt;
  SavedStates saved = saved_states();
  for (const auto& [code, state] : states_) {
    if (code->is_saved()) put(saved, code->name(), code->save(state.get()));
  }
  return to_bytes(saved);
}

}  // namespace holdfast::runtime
