#include "journal.hpp"
#include "plans.hpp"
#include "roles.hpp"

#include <holdfast/client.hpp>
#include <holdfast/random.hpp>

#include <signal.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

namespace holdfast::torture {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 60s;  // for what must end, with nobody killing any more

volatile std::sig_atomic_t finishing = 0;

class Caller {
 public:
  Caller(const Place& place, std::uint64_t seed, std::uint64_t number)
      : seed_(seed),
        number_(number),
        tidies_(place.server().has_value()),
        at_once_(tidies_ ? 60 : 150),
        journal_(place.journal(number)),
        random_(mix(mix(seed, number), journal_.lives())),
        client_(place.open(), {.retry_for = kPatience}) {
    journal_.begin_life();
    for (const std::uint64_t plan : journal_.open()) open_.push_back(plan_of(seed, number, plan));
  }

  /// True while nothing is wrong.
  bool run() {
    while (finishing == 0 || !open_.empty()) {
      if (finishing == 0 && open_.size() < at_once_) {
        open_.push_back(plan_of(seed_, number_, next_plan_++));
        call(open_.back());
      }
      const std::size_t chosen = below(random_, open_.size());
      if (journal_.calls_done(open_[chosen].number) < calls_of(open_[chosen])) {
        call(open_[chosen]);
      } else if ((finishing != 0 || open_.size() >= at_once_) && !conclude(chosen)) {
        return false;
      }
    }
    return true;
  }

 private:
  void call(const Plan& plan) {
    const int call = journal_.calls_done(plan.number);
    journal_.will_call(plan.number, call);
    make_call(client_, plan, call, journal_.tries(plan.number, call) > 1);
    journal_.did_call(plan.number, call);
  }

  bool conclude(std::size_t chosen) {
    const Plan plan = open_[chosen];
    const auto run = client_.find(plan.id);
    if (!run) return complain(plan, "is not there, though its start was acknowledged");
    const bool must_end = finishing != 0;
    const auto judge = [&](Duration timeout) {
      return verdict(plan, *run, timeout, [&](int call) { return journal_.tries(plan.number, call); });
    };
    std::string wrong = judge(must_end ? kPatience : Duration(1s));
    if (!has_ended(run->status())) return !must_end || complain(plan, "has not ended");
    if (!wrong.empty()) wrong = judge(Duration::zero());  // it may have ended when the wait was over
    if (!wrong.empty()) return complain(plan, wrong);
    journal_.ended(plan.number);
    if (tidies_) {
      for (const std::string& id : instances_of(plan)) client_.delete_instance(id);
    }
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(chosen));
    return true;
  }

  bool complain(const Plan& plan, const std::string& what) {
    std::cerr << plan.id << " " << what << "\n";
    if (const auto run = client_.find(plan.id)) {
      const RunDetail detail = run->describe();
      std::cerr << "  it is " << to_string(detail.info.status) << ", in execution "
                << to_string(detail.info.execution) << ", held by '" << detail.running_on << "', with "
                << detail.unread_messages << " messages, and waits for:\n";
      for (const RunWait& wait : detail.waits) std::cerr << "    " << wait.name << ": " << wait.state << "\n";
    }
    return false;
  }

  const std::uint64_t seed_;
  const std::uint64_t number_;
  const bool tidies_;
  const std::size_t at_once_;  // plans that are open
  Journal journal_;
  SeededRandom random_;
  Client client_;
  std::uint64_t next_plan_ = journal_.next_plan();
  std::vector<Plan> open_;
};

}  // namespace

int run_client(const Place& place, std::uint64_t seed, std::uint64_t client) {
  struct sigaction finish{};
  finish.sa_handler = [](int) { finishing = 1; };
  sigaction(SIGTERM, &finish, nullptr);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &end, nullptr);
  return Caller(place, seed, client).run() ? 0 : 2;
}

}  // namespace holdfast::torture
