// What a random turn does: each turn a few things of the many that a commit can hold.
#include "testkit/conformance/model/chooser.hpp"

namespace holdfast::testing::model {

namespace {

using store::MessageKind;

class TurnMaker {
 public:
  TurnMaker(Chooser& choose, Id id) : choose_(choose), dice_(choose.dice), row_(choose.space.row(id)) {
    turn_.id = id;
  }

  TurnSpec make() {
    turn_.life = choose_.life();
    turn_.token = choose_.which();
    turn_.expected = choose_.which();
    take_messages();
    if (dice_.chance(60)) schedule_activities();
    if (dice_.chance(45)) settle_activities();
    if (dice_.chance(25)) set_timers();
    if (dice_.chance(35)) send();
    if (choose_.sessions && dice_.chance(25)) use_sessions();
    set_status();
    return std::move(turn_);
  }

 private:
  void take_messages() {
    turn_.consumed = dice_.weighted<Consumed>({{55, Consumed::given},
                                               {20, Consumed::unread_kept},
                                               {6, Consumed::first},
                                               {4, Consumed::last},
                                               {6, Consumed::every_other},
                                               {6, Consumed::none},
                                               {3, Consumed::all_there}});
    turn_.seen = dice_.weighted<Seen>({{92, Seen::given}, {4, Seen::none}, {4, Seen::all_there}});
    turn_.first_set_aside = dice_.chance(4);
    turn_.strange_messages = dice_.chance(3);
    if (dice_.chance(60)) turn_.segment = dice_.pick<std::size_t>({3, 20, 100});
    if (!dice_.chance(45)) return;
    turn_.waits.emplace();
    for (const At at : {At::event_x, At::event_y, At::mailbox_x, At::session_s, At::session_t}) {
      if (dice_.chance(40)) turn_.waits->push_back(at);
    }
  }

  void schedule_activities() {
    for (std::size_t n = 1 + dice_.below(3); n > 0; --n) {
      ActivitySpec spec;
      spec.job = dice_.weighted<Job>({{5, Job::x}, {4, Job::y}, {2, Job::z}});
      if (dice_.chance(15)) spec.queue = dice_.pick({"gpu", "far"});
      if (dice_.chance(30)) spec.priority = dice_.pick({-1, 1, 5});
      if (dice_.chance(20)) spec.start_within = dice_.pick<Duration>({2s, 8s, 15s});
      if (dice_.chance(20)) spec.total = dice_.pick<Duration>({3s, 12s, 25s});
      if (choose_.sessions && dice_.chance(45)) {
        spec.session = choose_.session();
        spec.policy = choose_.policy();
      }
      spec.hand_off = dice_.chance(45);
      turn_.activities.push_back(std::move(spec));
    }
  }

  [[nodiscard]] bool is_mine(const store::ActivityId& id) const {
    return row_ != nullptr && id.instance == row_->view.key && id.execution == row_->view.execution;
  }

  void settle_activities() {
    const auto locked = [&](const store::ActivityId& id, const store::ActivityRow* row) {
      return is_mine(id) && row != nullptr && !row->token.empty();
    };
    if (dice_.chance(choose_.activities(locked).empty() ? 3 : 60)) {
      for (std::size_t n = 1 + dice_.below(2); n > 0; --n) {
        turn_.completed.push_back({.activity = choose_.activity(locked),
                                   .token = choose_.which(),
                                   .save = dice_.chance(20),
                                   .required = dice_.chance(40),
                                   .abort = dice_.chance(6)});
      }
    }
    if (dice_.chance(60)) {
      const auto there = [&](const store::ActivityId& id, const store::ActivityRow* row) {
        return is_mine(id) && row != nullptr;
      };
      turn_.cancelled.push_back(
          {.activity = choose_.activity(there),
           .reason = dice_.pick({CancelReason::dropped, CancelReason::cancel_requested})});
    }
  }

  void set_timers() {
    if (dice_.chance(75)) {
      for (std::size_t n = 1 + dice_.below(2); n > 0; --n) {
        turn_.timers.push_back(dice_.pick<Duration>({Duration(-1s), 0s, 1s, 3s, 10s, 30s, 2h}));
      }
    }
    std::vector<Made> mine;
    for (const auto& [made, id] : choose_.space.timers()) {
      if (is_mine(id)) mine.push_back(made);
    }
    if (!mine.empty() && dice_.chance(40)) turn_.cancelled_timers.push_back(dice_.pick(mine));
  }

  void send() {
    if (dice_.chance(50)) {
      turn_.messages.push_back({.to = choose_.any_instance(),
                                .life = choose_.life(),
                                .by_key = dice_.chance(50),
                                .kind = dice_.weighted<MessageKind>({{4, MessageKind::outcome},
                                                                     {1, MessageKind::control},
                                                                     {1, MessageKind::cancel},
                                                                     {3, MessageKind::delivery}}),
                                .at = any_address(),
                                .keep_early = dice_.pick<Duration>({0s, 5s, 24h}),
                                .cancels = dice_.chance(20),
                                .before_starts = dice_.chance(50)});
    }
    if (dice_.chance(35)) {
      turn_.starts.push_back({.id = choose_.any_instance(),
                              .code = {dice_.pick({"flow", "loop"}), dice_.pick({"", "1", "2", "^1"})},
                              .detached = dice_.chance(30)});
      if (dice_.chance(30)) turn_.starts.back().attributes.push_back(choose_.attribute());
    }
    if (dice_.chance(35)) {
      turn_.values.push_back({.key = dice_.pick({"k", "l"}), .remove = dice_.chance(30)});
    }
    while (dice_.chance(35)) {
      turn_.attributes.push_back(choose_.attribute());
      turn_.attributes.back().clear = dice_.chance(25);
    }
    if (dice_.chance(25)) {
      turn_.value_reads.push_back({.id = choose_.any_instance(), .key = dice_.pick({"k", "l"})});
    }
    while (dice_.chance(25)) turn_.end_requests.push_back(choose_.any_instance());
    if (dice_.chance(15))
      turn_.cancelled_end_requests.push_back({.id = choose_.any_instance(), .nth = dice_.below(2)});
  }

  At any_address() { return dice_.pick({At::event_x, At::event_y, At::mailbox_x}); }

  void use_sessions() {
    if (dice_.chance(50)) {
      turn_.open_sessions.push_back(
          {.id = choose_.session(), .policy = choose_.policy(), .silent = dice_.chance(20)});
      turn_.open_sessions.back().policy.on_record = true;
    }
    if (dice_.chance(30)) {
      turn_.close_sessions.push_back({.id = choose_.session(), .silent = dice_.chance(30)});
    }
    if (dice_.chance(40)) turn_.watch_sessions.push_back(choose_.session());
  }

  void set_status() {
    turn_.custom_status = dice_.chance(12);
    const bool decided =
        row_ != nullptr && (row_->view.code.version == "1" || row_->view.code.version == "2");
    if (row_ != nullptr && !decided && dice_.chance(50)) {
      turn_.version = dice_.pick({"1", "2"});
    }
    if (dice_.chance(12)) turn_.build = dice_.pick({1ULL, 2ULL, 3ULL});
    turn_.end = dice_.weighted<End>({{86, End::none},
                                     {4, End::completed},
                                     {2, End::failed},
                                     {1, End::cancelled},
                                     {1, End::terminated},
                                     {6, End::next_execution}});
    if (turn_.end == End::next_execution && dice_.chance(30))
      turn_.next_version = dice_.pick({"2", "^1", "^3"});
    turn_.keep_lock = dice_.chance(55);
  }

  Chooser& choose_;
  Dice& dice_;
  const store::InstanceRow* row_;
  TurnSpec turn_{};
};

}  // namespace

TurnSpec make_turn(Chooser& choose, Id id) { return TurnMaker(choose, id).make(); }

}  // namespace holdfast::testing::model
