// Asker: queries that a client waits for.
#pragma once

#include "base/mutex.hpp"
#include "client/bodies.hpp"
#include "client/callbacks.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::client {

/// A question is offered to the workers of this process by whoever asks. One that none of them takes is
/// looked after by the Notifier's thread that asks the store, which says why nobody can answer it.
/// Thread-safe.
class Asker {
 public:
  using Said = Result<bodies::Answer, std::exception_ptr>;
  /// The callback that follows.
  using Done = std::function<Callback(Said)>;

  /// `poke_asks` wakes who asks the store, `poke_ends` who calls back; by any thread, under no mutex of this.
  Asker(std::shared_ptr<Store> store, std::function<void()> poke_asks, std::function<void()> poke_ends);

  /// Who keeps this alive. Called once, before anything is asked.
  void belong_to(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  /// `instance` is the id, for people. An answer that comes after ask.within is not waited for.
  void ask(store::Ask ask, std::string instance, Done done);
  /// It ends now, unless it has ended.
  void give_up(store::AskId id);

  // ---- for the notifier

  /// When there is something to ask the store.
  [[nodiscard]] BootTime due() const;
  /// Finds somebody who can answer, or says why there is nobody.
  void find_answerers();
  /// Whether an answer may come through the store.
  [[nodiscard]] bool has_shared() const;
  /// Looks for such answers.
  void take_answers();
  /// When the first question ends whose time is up.
  [[nodiscard]] BootTime ends() const;
  /// What follows from answers, and from time that is up. It asks the store nothing.
  void tell(BootTime now, Callbacks& callbacks);
  /// All questions end, and none can be asked any more.
  void abandon();

 private:
  struct Waiting {
    store::Ask ask{};
    std::string instance{};
    Done done{};
    BootTime until{};
    std::uint64_t taker = 0;  ///< the last one here that took it
    bool offered = false;     ///< it has been offered to workers of this process
    bool refused = false;     ///< whoever took it can't answer it
    bool gone = false;        ///< there is no such instance
    bool shared = false;      ///< it waits in the store for another process
    std::string missing{};    ///< what the last worker that was asked lacks
  };
  struct Ended {
    Done done{};
    Said said;
  };
  using ById = std::map<store::AskId, Waiting>;

  store::LocalAsks::Done local_done();
  void offer(const store::Ask& ask, std::uint64_t after);
  void heard(const store::AskAnswer& answer);
  bool find_answerer(const Waiting& waiting);
  bool share(const Waiting& waiting, const store::InstanceView& view);
  [[nodiscard]] std::exception_ptr nobody(const Waiting& waiting, const store::InstanceView& view,
                                          const std::vector<store::WorkerView>& workers) const;
  void end(store::AskId id, Said said);
  void end(ById::iterator it, Said said) HOLDFAST_REQUIRES(mutex_);

  const std::shared_ptr<Store> store_;
  const std::function<void()> poke_asks_;
  const std::function<void()> poke_ends_;
  std::weak_ptr<const void> owner_;
  mutable Mutex mutex_;
  ById waiting_ HOLDFAST_GUARDED_BY(mutex_);
  std::set<std::pair<BootTime, store::AskId>> deadlines_ HOLDFAST_GUARDED_BY(mutex_);
  std::set<store::AskId> unserved_ HOLDFAST_GUARDED_BY(mutex_);
  std::set<store::AskId> shared_ HOLDFAST_GUARDED_BY(mutex_);
  BootTime again_at_ HOLDFAST_GUARDED_BY(mutex_) = BootTime::min();  // the store did not answer
  std::vector<Ended> ended_ HOLDFAST_GUARDED_BY(mutex_);
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::client
