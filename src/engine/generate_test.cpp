#include "engine/generate_test.hpp"

#include <holdfast/random.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace holdfast::engine {

namespace {

using K = NodeKind;
using What = Step::What;

template <class T>
struct Weighted {
  T value;
  unsigned weight;
};

// How often a kind appears; a table for what a theme is about, a common one for the rest.
constexpr Weighted<K> kOperations[] = {{K::activity, 8}, {K::queued_activity, 1}, {K::session_activity, 2},
                                       {K::event, 4},    {K::receive, 4},         {K::child, 3},
                                       {K::detached, 1}};

constexpr Weighted<K> kLeaves[] = {{K::await, 12},
                                   {K::result, 6},
                                   {K::start, 10},
                                   {K::start_and_drop, 2},
                                   {K::start_and_detach, 3},
                                   {K::shielded_op, 2},
                                   {K::stubborn, 1},
                                   {K::undo_with, 3},
                                   {K::timeout, 4},
                                   {K::timeout_borrowed, 3},
                                   {K::race_borrowed, 4},
                                   {K::all_borrowed, 3},
                                   {K::sleep, 3},
                                   {K::try_receive, 3},
                                   {K::drain, 2},
                                   {K::side_effect, 3},
                                   {K::value_of, 1},
                                   {K::ended, 2},
                                   {K::open_session, 2},
                                   {K::close_session, 1},
                                   {K::session_news, 2},
                                   {K::set_value, 2},
                                   {K::clear_value, 1},
                                   {K::get_value, 2},
                                   {K::set_attribute, 2},
                                   {K::clear_attribute, 1},
                                   {K::get_attribute, 2},
                                   {K::send_message, 2},
                                   {K::raise_event, 1},
                                   {K::cancel_other, 1},
                                   {K::terminate_other, 1},
                                   {K::launch, 2},
                                   {K::set_status, 2},
                                   {K::uuid, 1},
                                   {K::random, 1},
                                   {K::now, 1},
                                   {K::history_size, 1},
                                   {K::await_slot, 6},
                                   {K::result_slot, 3},
                                   {K::drop_slot, 3},
                                   {K::detach_slot, 2},
                                   {K::look_at_slot, 2},
                                   {K::race_slots, 3},
                                   {K::share, 3},
                                   {K::await_shared, 4},
                                   {K::join_shared, 3},
                                   {K::drop_shared, 1},
                                   {K::detach_shared, 1},
                                   {K::greedy_effect, 1},
                                   {K::throw_error, 2},
                                   {K::compensate, 2},
                                   {K::guard, 3},
                                   {K::continue_as_new, 1},
                                   {K::finish, 1}};

constexpr Weighted<K> kStructures[] = {{K::block, 3},
                                       {K::loop, 3},
                                       {K::if_last, 3},
                                       {K::shield, 3},
                                       {K::try_error, 4},
                                       {K::try_cancelled, 3},
                                       {K::try_all, 3},
                                       {K::task_result, 2},
                                       {K::saga, 4},
                                       {K::patched, 4},
                                       {K::start_task, 5},
                                       {K::detach_task, 3},
                                       {K::when_all, 4},
                                       {K::when_all_settled, 3},
                                       {K::share_task, 2},
                                       {K::guard_parameter, 2},
                                       {K::race, 5},
                                       {K::all_of_kinds, 2},
                                       {K::settled_of_kinds, 2},
                                       {K::race_of_kinds, 3},
                                       {K::timeout_of_task, 2}};

constexpr Weighted<K> kCancelling[] = {{K::shield, 5},       {K::try_cancelled, 5},
                                       {K::try_all, 4},      {K::shielded_op, 4},
                                       {K::undo_with, 4},    {K::compensate, 3},
                                       {K::stubborn, 2},     {K::await, 6},
                                       {K::task_result, 3},  {K::share, 4},
                                       {K::await_shared, 5}, {K::join_shared, 3},
                                       {K::detach_task, 3},  {K::start_and_detach, 3},
                                       {K::saga, 4}};
constexpr Weighted<K> kReceiving[] = {{K::await, 6},       {K::race_of_kinds, 3},  {K::race_borrowed, 4},
                                      {K::try_receive, 5}, {K::drain, 4},          {K::timeout, 4},
                                      {K::race, 4},        {K::continue_as_new, 2}};
constexpr Weighted<K> kTasks[] = {{K::start_task, 8},    {K::detach_task, 5},     {K::when_all, 5},
                                  {K::race, 5},          {K::await_slot, 5},      {K::drop_slot, 5},
                                  {K::guard, 4},         {K::start, 6},           {K::all_borrowed, 3},
                                  {K::race_borrowed, 3}, {K::share, 5},           {K::share_task, 3},
                                  {K::await_shared, 6},  {K::join_shared, 4},     {K::drop_shared, 2},
                                  {K::detach_shared, 3}, {K::guard_parameter, 3}, {K::saga, 5}};

constexpr Weighted<K> kPatches[] = {
    {K::patched, 10}, {K::loop, 3},          {K::if_last, 2}, {K::start_task, 3}, {K::race, 3},
    {K::saga, 2},     {K::await, 4},         {K::shield, 2},  {K::when_all, 2},   {K::sleep, 2},
    {K::guard, 1},    {K::greedy_effect, 1}, {K::finish, 1},  {K::undo_with, 2}};

constexpr Weighted<What> kSteps[] = {{What::complete, 30},  {What::fail, 8},
                                     {What::raise, 5},      {What::send, 6},
                                     {What::news, 1},       {What::deliver, 10},
                                     {What::cancel, 1},     {What::late, 4},
                                     {What::unknown, 1},    {What::wrong_execution, 1},
                                     {What::start_again, 1}};

class Generator {
 public:
  Generator(std::uint64_t seed, int size, Theme theme) : random_(seed), size_(size), theme_(theme) {
    nodes_ = 4 + size / 2;
  }

  Case generate() {
    Case what;
    what.seed = number(1000);
    what.program.code = block(0);
    what.program.continues = static_cast<int>(number(3));
    what.early = chance(5) ? number(3) : 0;
    what.born_cancelled = chance(theme_ == Theme::cancellation ? 8 : 40);
    const unsigned turns = 1 + number(static_cast<unsigned>(4 + size_ / 4));
    for (unsigned i = 0; i < turns; ++i) what.turns.push_back(turn());
    what.more = chance(3) ? 0 : 25;
    what.old_turns = chance(2) ? 0 : number(turns + 1);
    return what;
  }

 private:
  unsigned number(unsigned n) { return static_cast<unsigned>(below(random_, n)); }
  bool chance(unsigned n) { return number(n) == 0; }

  template <class T>
  T pick(std::span<const Weighted<T>> table) {
    unsigned sum = 0;
    for (const auto& entry : table) sum += entry.weight;
    unsigned at = number(sum);
    for (const auto& entry : table) {
      if (at < entry.weight) return entry.value;
      at -= entry.weight;
    }
    return table.front().value;
  }

  K kind(int depth) {
    if (theme_ != Theme::anything && chance(3)) {
      const K picked = theme_ == Theme::cancellation ? pick<K>(kCancelling)
                       : theme_ == Theme::messages   ? pick<K>(kReceiving)
                       : theme_ == Theme::patches    ? pick<K>(kPatches)
                                                     : pick<K>(kTasks);
      if (depth < 5) return picked;
    }
    return depth < 5 && nodes_ > 0 && chance(3) ? pick<K>(kStructures) : pick<K>(kLeaves);
  }

  Node operation() {
    K picked = pick<K>(kOperations);
    if (theme_ == Theme::messages && chance(2)) picked = chance(3) ? K::event : K::receive;
    return {picked, static_cast<int>(number(3)), static_cast<int>(number(6)), {}};
  }

  Node block(int depth) {
    Node node;
    node.b = chance(3) ? 0 : chance(4) ? 2 : 1;
    const unsigned count = depth == 0 ? 3 + number(static_cast<unsigned>(4 + size_ / 6)) : 1 + number(4);
    for (unsigned i = 0; i < count && (i == 0 || nodes_ > 0); ++i) {
      Node step = this->node(depth + 1);
      if (step.kind == K::compensate) node.parts.push_back(with_operation(K::undo_with));
      if (step.kind == K::shield && chance(3)) {
        node.parts.push_back(with_operation(K::start));
        step.parts[0].parts.insert(step.parts[0].parts.begin(), Node{K::await_slot, 0, 0, {}});
      }
      if (step.kind == K::await_shared && chance(2)) {
        // Somebody else waits for the same, in a shield.
        node.parts.push_back(with_operation(K::share, step.a));
        const Node inside{K::shield, 0, 0, {Node{K::await_shared, step.a, 0, {}}}};
        node.parts.push_back({K::detach_task, 0, 0, {inside}});
      }
      if (step.kind == K::close_session) node.parts.push_back({K::open_session, 0, 0, {}});
      if (step.kind == K::get_value && chance(2)) node.parts.push_back({K::set_value, step.a, 0, {}});
      if (step.kind == K::get_value && chance(2)) node.parts.push_back({K::clear_value, step.a, 0, {}});
      if (step.kind == K::get_attribute && chance(2))
        node.parts.push_back({K::set_attribute, step.a, static_cast<int>(number(2)), {}});
      if (step.kind == K::await_slot && chance(2)) node.parts.push_back(with_operation(K::start, step.a));
      node.parts.push_back(std::move(step));
    }
    return node;
  }

  // A block that often fails.
  Node risky_block(int depth) {
    Node node = block(depth);
    node.b = 0;
    if (chance(2)) node.parts.push_back({K::throw_error, 0, static_cast<int>(number(4)), {}});
    return node;
  }

  Node with_operation(K kind, int a = 0) { return {kind, a, 1, {operation()}}; }

  Node node(int depth) {
    --nodes_;
    Node node{kind(depth), static_cast<int>(number(3)), static_cast<int>(number(4)), {}};
    add_parts(node, depth);
    return node;
  }

  void add_parts(Node& node, int depth) {
    switch (node.kind) {
      case K::await:
      case K::result:
      case K::start:
      case K::start_and_drop:
      case K::start_and_detach:
      case K::shielded_op:
      case K::stubborn:
      case K::undo_with:
      case K::timeout:
      case K::race_borrowed:
      case K::all_borrowed:
      case K::share:
      case K::join_shared:
        node.parts.push_back(operation());
        return;
      case K::block:
        node = block(depth);
        return;
      case K::loop:
      case K::shield:
      case K::task_result:
      case K::patched:
      case K::start_task:
      case K::detach_task:
      case K::share_task:
      case K::guard_parameter:
      case K::timeout_of_task:
        node.parts.push_back(block(depth));
        return;
      case K::if_last:
        node.parts.push_back(block(depth));
        node.parts.push_back(block(depth));
        return;
      case K::saga:
        node.parts.push_back(risky_block(depth));
        return;
      case K::try_error:
      case K::try_cancelled:
      case K::try_all:
        node.parts.push_back(risky_block(depth));
        node.parts.push_back(block(depth));
        return;
      case K::all_of_kinds:
      case K::settled_of_kinds:
      case K::race_of_kinds:
        node.parts.push_back(operation());
        node.parts.push_back(block(depth));
        return;
      case K::when_all:
      case K::when_all_settled:
      case K::race:
        return add_several(node, depth);
      default:
        return;
    }
  }

  void add_several(Node& node, int depth) {
    const unsigned count = number(4);  // also none
    const bool only_operations = chance(2);
    for (unsigned i = 0; i < count; ++i) {
      node.parts.push_back(only_operations || chance(3) ? operation() : block(depth));
    }
  }

  ScriptedTurn turn() {
    ScriptedTurn turn;
    const unsigned count = number(4) + (chance(4) ? number(4) : 0);
    for (unsigned i = 0; i < count; ++i) turn.steps.push_back(step());
    if (chance(4)) turn.then = CheckedExecution::Frames::replayed_and_run;
    if (chance(4)) turn.then = CheckedExecution::Frames::replayed;
    turn.terminate = chance(80);
    return turn;
  }

  Step step() {
    Step step{pick<What>(kSteps), number(8), number(24)};
    if (theme_ == Theme::cancellation && chance(8)) step.what = What::cancel;
    if (theme_ == Theme::messages && chance(3)) step.what = chance(2) ? What::send : What::raise;
    return step;
  }

  SeededRandom random_;
  int size_;
  Theme theme_;
  int nodes_;
};

// ---- simpler cases ------------------------------------------------------------------------------

// How many parts of a node may be left out without it losing its meaning.
bool has_any_number_of_parts(K kind) {
  return kind == K::block || kind == K::when_all || kind == K::when_all_settled || kind == K::race;
}

// Every program in which one node of `root` is simpler.
std::vector<Node> simpler_nodes(const Node& root) {
  std::vector<Node> all;
  if (!is_operation(root.kind)) {
    for (const Node& part : root.parts) {
      if (!is_operation(part.kind)) all.push_back(part);
    }
  }
  if (has_any_number_of_parts(root.kind)) {
    for (std::size_t i = 0; i < root.parts.size(); ++i) {
      Node less = root;
      less.parts.erase(less.parts.begin() + static_cast<std::ptrdiff_t>(i));
      all.push_back(std::move(less));
    }
  }
  for (std::size_t i = 0; i < root.parts.size(); ++i) {
    for (Node& part : simpler_nodes(root.parts[i])) {
      Node changed = root;
      changed.parts[i] = std::move(part);
      all.push_back(std::move(changed));
    }
  }
  if (is_operation(root.kind) && root.kind != K::activity) {
    all.push_back({.kind = K::activity, .a = root.a});
  }
  if (root.b > 0) all.push_back({.kind = root.kind, .a = root.a, .b = root.b - 1, .parts = root.parts});
  if (root.a > 0) all.push_back({.kind = root.kind, .a = 0, .b = root.b, .parts = root.parts});
  return all;
}

template <class Change>
void add_changed(std::vector<Case>& all, const Case& what, Change change) {
  Case changed = what;
  change(changed);
  if (changed != what) all.push_back(std::move(changed));
}

void add_simpler_turns(std::vector<Case>& all, const Case& what) {
  for (std::size_t i = 0; i < what.turns.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    add_changed(all, what, [&](Case& c) { c.turns.erase(c.turns.begin() + at); });
  }
  for (std::size_t i = 0; i < what.turns.size(); ++i) {
    add_changed(all, what, [&](Case& c) { c.turns[i].then = CheckedExecution::Frames::kept; });
    add_changed(all, what, [&](Case& c) { c.turns[i].terminate = false; });
    for (std::size_t j = 0; j < what.turns[i].steps.size(); ++j) {
      const auto at = static_cast<std::ptrdiff_t>(j);
      add_changed(all, what, [&](Case& c) { c.turns[i].steps.erase(c.turns[i].steps.begin() + at); });
      add_changed(all, what, [&](Case& c) { c.turns[i].steps[j].pick = 0; });
      add_changed(all, what, [&](Case& c) { c.turns[i].steps[j].variant = 7; });
    }
  }
}

}  // namespace

Case generate(std::uint64_t seed, int size, Theme theme) { return Generator(seed, size, theme).generate(); }

std::vector<Case> simpler(const Case& what) {
  std::vector<Case> all;
  add_changed(all, what, [](Case& c) { c.more = 0; });
  if (what.turns.size() > 1) {
    add_changed(all, what, [](Case& c) { c.turns.resize(c.turns.size() / 2); });
  }
  add_changed(all, what, [](Case& c) { c.early = 0; });
  add_changed(all, what, [](Case& c) { c.born_cancelled = false; });
  add_changed(all, what, [](Case& c) { c.old_turns = 0; });
  add_changed(all, what, [](Case& c) { c.program.continues = 0; });
  for (Node& code : simpler_nodes(what.program.code)) {
    add_changed(all, what, [&](Case& c) { c.program.code = std::move(code); });
  }
  add_simpler_turns(all, what);
  add_changed(all, what, [](Case& c) { c.seed = 0; });
  return all;
}

}  // namespace holdfast::engine
