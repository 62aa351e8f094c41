// SessionWitness: hears who was given which session, and says when it was not allowed.
#pragma once

#include "base/moments.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::simulator {

/// Like Witness, which it is a part of: it hears of calls after they were made, with the store's own answers.
/// Who has a session until when is what the store said when it gave it away; a session that somebody else
/// gets before that must have left its holder in between, and the session log has to know how; or its holder
/// is not registered any more.
class SessionWitness {
 public:
  using ReadLog = std::function<std::vector<store::SessionLogEntry>(std::string_view id)>;
  using IsRegistered = std::function<bool(WorkerKey worker)>;
  using ReadSessions = std::function<std::vector<store::SessionView>()>;
  SessionWitness(const Clock& clock, std::function<void(std::string)> broken, ReadLog read_log,
                 IsRegistered is_registered, ReadSessions read_sessions)
      : clock_(clock),
        broken_(std::move(broken)),
        read_log_(std::move(read_log)),
        is_registered_(std::move(is_registered)),
        read_sessions_(std::move(read_sessions)) {}

  void joined(const store::NewWorker& info, WorkerKey key);
  /// All workers refresh often enough for each other. From now on, one that has tried to without a pause must
  /// still be registered: others may have been out of reach of the store just as it was.
  void workers_agree_on(Duration stale_after) { stale_after_ = stale_after; }
  void refreshing(WorkerKey worker);
  void refreshed(WorkerKey worker, const StoreResult<void>& answer);
  void left(WorkerKey worker) { signs_of_life_.erase(worker); }
  /// An activity of a session was locked for this worker.
  void granted(WorkerKey worker, const store::SessionGrant& grant);
  void acquired(WorkerKey worker, const store::Acquired& answer);
  void renewed(WorkerKey worker, const store::SessionRenewal& renewal, const StoreResult<void>& answer);
  void released(WorkerKey worker, const store::SessionRelease& release, const StoreResult<void>& answer);
  /// An operator wants it to leave whoever holds it: then nothing of it is kept for that one.
  void asked_for(const std::string& id) { holders_[id].is_asked_for = true; }
  /// A worker was told that it holds the session. `asked` is when it asked for that; from then on the session
  /// is not idle, for the time that is the worker's own: those with another are none of these.
  void promised(WorkerKey worker, std::string_view id, BootTime asked, Duration idle_timeout);
  /// Whether its holder has renewed it: one whose claim was answered in vain does not know of it.
  [[nodiscard]] bool was_renewed(const std::string& id, Generation generation) const;
  void inspect(const store::StoreState& state);

 private:
  struct Holder {
    WorkerKey worker{};
    Generation generation{};
    BootTime until = kLongAgo;
    bool was_renewed = false;
    bool is_asked_for = false;
    BootTime not_idle_until = kLongAgo;    ///< as its holder was told
    BootTime released_as_idle = kLongAgo;  ///< when it was, last
  };
  /// Since a worker joined or was last refreshed.
  struct SignsOfLife {
    BootTime last_try{};
    bool had_pause = false;
  };
  void claim(WorkerKey worker, const store::SessionHold& hold, Duration lease);
  /// Whether the log says that the session left its holder of this generation.
  [[nodiscard]] bool has_left(std::string_view id, Generation generation) const;
  void judge_sweeps(const store::StoreState& state);
  [[nodiscard]] bool is_kept_for_its_node(std::string_view id, const Holder& holder);
  [[nodiscard]] bool makes_room(WorkerKey worker, std::string_view displaced);
  void complain_of_broken_promise(std::string_view id, WorkerKey worker);
  [[nodiscard]] const std::string& node_of(WorkerKey worker) { return nodes_[worker]; }

  const Clock& clock_;
  std::function<void(std::string)> broken_;
  ReadLog read_log_;
  IsRegistered is_registered_;
  ReadSessions read_sessions_;
  std::map<WorkerKey, std::string> nodes_;
  std::map<std::string, WorkerKey> newest_;  // incarnation of each node
  std::map<WorkerKey, BootTime> returns_;    // until when what its node held before is kept for it
  std::map<WorkerKey, SignsOfLife> signs_of_life_;
  Duration stale_after_ = never;
  std::map<std::string, Holder> holders_;
  std::map<Generation, WorkerKey> owners_;
  Generation newest_generation_{};
  std::uint64_t last_log_entry_ = 0;  // that was looked at
};

}  // namespace holdfast::simulator
