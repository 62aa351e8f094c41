#include "testkit/conformance/model/world.hpp"

#include "testkit/conformance/model/words.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::testing::model {

namespace {

constexpr std::uint64_t kNever = 99'999;
constexpr LockToken kMadeUpToken{kTokenMark, kNever};

// Appends what differs from the last one.
template <class T>
void note(std::vector<T>& seen, T value) {
  if (seen.empty() || seen.back() != value) seen.push_back(value);
}

template <class T>
T choose(const std::vector<T>& seen, Which which, T made_up) {
  switch (which) {
    case Which::last:
      return seen.empty() ? made_up : seen.back();
    case Which::stale:
      return seen.size() < 2 ? made_up : seen[seen.size() - 2];
    case Which::made_up:
      return made_up;
    case Which::empty:
      break;
  }
  return T{};
}

template <class Key, class Value>
const Value& at_or_empty(const std::map<Key, Value>& map, const Key& key) {
  static const Value kEmpty{};
  const auto found = map.find(key);
  return found == map.end() ? kEmpty : found->second;
}

}  // namespace

void Space::learn(store::StoreState state) {
  state_ = std::move(state);
  for (const store::InstanceRow& row : state_.instances) {
    note(lives_[row.view.instance], row.view.key);
    InstanceMemory& memory = instances_[row.view.key];
    note(memory.stamps, row.stamp);
    if (!row.token.empty()) note(memory.tokens, row.token);
  }
  for (const store::ActivityRow& row : state_.activities) {
    if (!row.token.empty()) note(activity_tokens_[row.view.id], row.token);
  }
  for (const store::SessionView& session : state_.sessions) {
    if (session.generation.value != 0) note(generations_[session.id], session.generation);
  }
}

void Space::given(const store::LockedTurn& turn) {
  std::vector<MessageId>& given = instances_[turn.key].given;
  if (!turn.held) given.clear();
  for (const store::Message& message : turn.messages) given.push_back(message.id);
}

Worker Space::worker(Who who) const {
  Worker nobody{WorkerKey{kNever}, worker_info(Node::cyd, Profile::wide)};
  const auto incarnation = [&](Node node, std::size_t back) {
    const std::vector<Worker>& all = at_or_empty(workers_, node);
    return all.size() > back ? all[all.size() - 1 - back] : nobody;
  };
  switch (who) {
    case Who::ada:
      return incarnation(Node::ada, 0);
    case Who::bob:
      return incarnation(Node::bob, 0);
    case Who::cyd:
      return incarnation(Node::cyd, 0);
    case Who::former_ada:
      return incarnation(Node::ada, 1);
    case Who::former_bob:
      return incarnation(Node::bob, 1);
    case Who::stranger:
      break;
  }
  return nobody;
}

InstanceKey Space::key(Id id, Life life) const {
  const std::vector<InstanceKey>& lives = at_or_empty(lives_, name(id));
  const std::size_t back = life == Life::now ? 1 : 2;
  return lives.size() < back ? InstanceKey{kNever} : lives[lives.size() - back];
}

const store::InstanceRow* Space::row(InstanceKey key) const {
  const auto found = std::find_if(state_.instances.begin(), state_.instances.end(),
                                  [&](const store::InstanceRow& row) { return row.view.key == key; });
  return found == state_.instances.end() ? nullptr : &*found;
}

const store::ActivityRow* Space::row(const store::ActivityId& id) const {
  const auto found = std::find_if(state_.activities.begin(), state_.activities.end(),
                                  [&](const store::ActivityRow& row) { return row.view.id == id; });
  return found == state_.activities.end() ? nullptr : &*found;
}

const store::SessionView* Space::session(Sid id) const {
  const auto found = std::find_if(state_.sessions.begin(), state_.sessions.end(),
                                  [&](const store::SessionView& session) { return session.id == name(id); });
  return found == state_.sessions.end() ? nullptr : &*found;
}

const InstanceMemory& Space::memory(InstanceKey key) const { return at_or_empty(instances_, key); }

store::ActivityId Space::activity(Made made) const {
  const auto found = activities_.find(made);
  if (found != activities_.end()) return found->second;
  return {InstanceKey{kNever}, ExecutionNumber{1}, activity_event_of(made)};
}

LockToken Space::token(InstanceKey key, Which which) const {
  return choose(memory(key).tokens, which, kMadeUpToken);
}

TurnStamp Space::stamp(InstanceKey key, Which which) const {
  return choose(memory(key).stamps, which, TurnStamp{kTokenMark, kNever});
}

LockToken Space::token(const store::ActivityId& id, Which which) const {
  return choose(at_or_empty(activity_tokens_, id), which, kMadeUpToken);
}

Generation Space::generation(Sid id, Which which) const {
  return choose(at_or_empty(generations_, name(id)), which, Generation{kNever});
}

Address address(At at) {
  switch (at) {
    case At::event_x:
      return {Address::Kind::event, "x"};
    case At::event_y:
      return {Address::Kind::event, "y"};
    case At::mailbox_x:
      return {Address::Kind::mailbox, "x"};
    case At::session_s:
      return {Address::Kind::session, "s"};
    case At::session_t:
      return {Address::Kind::session, "t"};
  }
  return {};
}

store::NewWorker worker_info(Node node, Profile profile) {
  store::NewWorker info{
      .node = name(node), .build = 3, .host = "host of " + name(node), .pid = 7, .slots = 4};
  switch (profile) {
    case Profile::wide:
      info.abilities.handlers = {"x", "y", "z"};
      info.abilities.queues = {.any = true};
      info.abilities.capabilities = {"gpu", "ssd"};
      info.code.orchestrations = {{"flow", ""}, {"flow", "1"}, {"flow", "2"}, {"loop", ""}, {"loop", "1"}};
      break;
    case Profile::plain:
      info.take_back_within = 1min;
      info.abilities.handlers = {"x", "y"};
      info.abilities.session_limit = 1;
      info.code.orchestrations = {{"flow", ""}, {"flow", "1"}, {"loop", ""}};
      info.code.newest_build = 2;
      break;
    case Profile::gpu:
      info.stale_after = 20s;
      info.take_back_within = 3s;
      info.abilities.handlers = {"y", "z"};
      info.abilities.queues.names = {"", "gpu"};
      info.abilities.capabilities = {"gpu"};
      info.abilities.session_limit = 2;
      info.abilities.session_lease = 10s;
      info.abilities.session_idle = never;
      info.code.orchestrations = {{"flow", "2"}, {"loop", ""}, {"loop", "1"}};
      info.code.oldest_build = 2;
      break;
    case Profile::client:
      info.abilities.queues.names = {};
      info.abilities.session_limit = 0;
      break;
  }
  return info;
}

LockToken token_of(std::uint32_t step) { return {kTokenMark, step}; }
std::uint32_t step_of(LockToken token) { return static_cast<std::uint32_t>(token.low); }
TurnStamp stamp_of(std::uint32_t step) { return {kTokenMark, step}; }

AttributeValue attribute_value(AttributeType type, std::uint32_t nth) {
  const std::uint32_t which = nth % 3;
  switch (type) {
    case AttributeType::text:
      return std::string(which == 0 ? "" : which == 1 ? "a" : "ab");
    case AttributeType::keywords:
      return which == 0 ? Keywords{} : which == 1 ? Keywords{"a", "b"} : Keywords{"b"};
    case AttributeType::integer:
      return std::int64_t{which} - 1;
    case AttributeType::real:
      return 2.5 * which - 2.5;
    case AttributeType::boolean:
      return which == 1;
    case AttributeType::time:
      return ManualClock::kCalendarStart + Duration(which);
  }
  return {};
}

std::vector<Attribute> attributes_of(const std::vector<AttributeSpec>& specs) {
  std::vector<Attribute> attributes;
  for (const AttributeSpec& spec : specs)
    holdfast::detail::change_attribute(attributes, spec.name, spec.type,
                                       attribute_value(spec.type, spec.nth));
  return attributes;
}

std::string body_of(std::uint32_t step, std::size_t nth) {
  std::string body = std::to_string(step) + "." + std::to_string(nth);
  // Bodies are bytes: every third one is no text.
  if ((step + nth) % 3 == 0) body.append("\0\xff", 2);
  return body;
}

EventId first_event_of(std::uint32_t step) { return {step * 100ULL}; }
EventId activity_event_of(Made made) { return {(made.step * 100ULL) + 1 + made.nth}; }
EventId timer_event_of(Made made) { return {(made.step * 100ULL) + 50 + made.nth}; }
EventId other_event_of(Made made) { return {(made.step * 100ULL) + 70 + made.nth}; }

}  // namespace holdfast::testing::model
