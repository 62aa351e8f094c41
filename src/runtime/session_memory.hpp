// SessionMemory: the states of one session that this process has in memory.
#pragma once

#include "base/mutex.hpp"
#include "client/saved_states.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/session_state.hpp>
#include <holdfast/store/error.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace holdfast::runtime {

/// The store did not say what is saved. It may the next time.
class NoAnswer final : public Error {
 public:
  using Error::Error;
};

/// Shared by the books of sessions and the activities that run in this one; destroyed with its states when
/// the last of them lets go. Thread-safe. Code of the user and the store are called without a lock held, so
/// what they are given is taken along: an activity may end while another one makes a state.
class SessionMemory {
 public:
  /// Reads what is saved in the store, for the case that nobody here knows.
  using ReadSaved = std::function<StoreResult<std::optional<std::string>>()>;
  /// Lets go of states, where code of the user may run.
  using Dispose = std::function<void(std::shared_ptr<void>)>;
  /// `saved`: what the claim gave; nothing: it has to be read.
  SessionMemory(std::string id, std::optional<std::optional<std::string>> saved, ReadSaved read,
                Dispose dispose);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  /// One activity's use of it, from its first look at a state to its end.
  struct Use {
    bool alone = false;                         ///< it has the states to itself
    bool to_be_recorded = false;                ///< it used a state that is saved with it
    bool unanswered = false;                    ///< a state could not be made, since the store did not answer
    std::shared_ptr<const SavedStates> save{};  ///< what goes with its completion
  };

  /// The state of this kind, made if need be. See SessionState::in().
  void* state(const detail::SessionStateCode& code, Generation generation, Use& use,
              const std::stop_token& stop, bool may_wait);
  /// The same without waiting: null when it is not free, and `when_free` is called once when that may have
  /// changed, without a lock held.
  void* state(const detail::SessionStateCode& code, Generation generation, Use& use,
              std::function<void()> when_free);
  /// The code of an activity has returned, with success or not: what to save with its completion, if
  /// anything. Throws Error (state_not_saved) when the user's function throws.
  std::optional<std::string> end_of_code(Use& use, bool succeeded);
  /// The activity is over, and the store has what it saved, or not.
  void end_of_use(Use& use, bool recorded);

  /// Whether there is anything in memory.
  [[nodiscard]] bool is_empty() const;
  /// Everything that can be saved, for the next owner; nothing when nothing here is to be. `all_or_nothing`:
  /// also nothing when a state is here that can't be saved. Not while an activity uses it. Throws Error
  /// (state_not_saved) when the user's functions throw.
  std::optional<std::string> save_all(bool all_or_nothing);

 private:
  using States = std::map<const detail::SessionStateCode*, std::shared_ptr<void>>;

  [[nodiscard]] bool is_free(const detail::SessionStateCode& code, const Use& use) const
      HOLDFAST_REQUIRES(mutex_);
  // These give the mutex up while they call code of the user or the store, and have it again when they return
  // or throw.
  void* use_state(const detail::SessionStateCode& code, Generation generation, Use& use)
      HOLDFAST_REQUIRES(mutex_);
  void* find_or_make(const detail::SessionStateCode& code, Generation generation, Use& use)
      HOLDFAST_REQUIRES(mutex_);
  std::shared_ptr<void> make(const detail::SessionStateCode& code, Generation generation)
      HOLDFAST_REQUIRES(mutex_);
  void read_again(const std::string& name) HOLDFAST_REQUIRES(mutex_);
  std::shared_ptr<const SavedStates> saved_states() HOLDFAST_REQUIRES(mutex_);
  using Choice = bool (detail::SessionStateCode::*)() const noexcept;
  std::shared_ptr<const SavedStates> save(Choice chosen) HOLDFAST_REQUIRES(mutex_);

  [[nodiscard]] std::optional<std::string> ask_store() const HOLDFAST_EXCLUDES(mutex_);
  [[nodiscard]] Payload save(const detail::SessionStateCode& code, const void* state) const
      HOLDFAST_EXCLUDES(mutex_);
  void tell_changed() HOLDFAST_EXCLUDES(mutex_);
  void set_busy(bool busy) HOLDFAST_EXCLUDES(mutex_);

  const std::string id_;
  const ReadSaved read_;
  const Dispose dispose_;
  mutable Mutex mutex_;
  StoppableCondition changed_;
  bool taken_ HOLDFAST_GUARDED_BY(mutex_) =
      false;  // by an activity that has the states to itself, or by save_all()
  bool making_ HOLDFAST_GUARDED_BY(mutex_) = false;  // a state is being made
  std::vector<std::function<void()>> waiting_
      HOLDFAST_GUARDED_BY(mutex_);  // for `taken_` or `making_` to end, without a thread
  States states_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<std::optional<std::string>> saved_bytes_
      HOLDFAST_GUARDED_BY(mutex_);  // as they came; until they are needed
  std::shared_ptr<const SavedStates> saved_
      HOLDFAST_GUARDED_BY(mutex_);  // what the store has, if that is known
  std::set<std::string> unreadable_
      HOLDFAST_GUARDED_BY(mutex_);  // names of states that could not be made of it
};

}  // namespace holdfast::runtime
