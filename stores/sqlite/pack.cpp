#include "pack.hpp"

#include "codec/bytes.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

constexpr std::size_t kMaxPacked = 16;
constexpr std::size_t kMaxBytes = 2048;
constexpr std::size_t kUsualBytes = 256;

Pack read_pack(const Cursor& row) {
  return {.key = row->number<InstanceKey>(0),
          .ns = row->int64(1),
          .execution = row->number<ExecutionNumber>(2),
          .worker = row->number<WorkerKey>(3),
          .token = row->token<LockToken>(4),
          .until = row->int64(5),
          .session = row->int64(6),
          .generation = row->number<Generation>(7),
          .items = std::string(row->blob(8))};
}

/// False when its bytes are damaged.
bool decode_each(const Pack& pack, std::vector<Activity>& activities) {
  for (history::ByteReader in(pack.items); !in.done();) {
    std::uint64_t event = 0;
    std::uint64_t kind = 0;
    std::string_view body;
    if (!in.varint(event) || !in.varint(kind) || !in.string(body)) return false;
    Activity& activity = activities.emplace_back();
    activity.id = {pack.key, pack.execution, EventId{event}};
    activity.kind = NumberRange(pack.ns).below + static_cast<std::int64_t>(kind);
    activity.worker = pack.worker;
    activity.token = pack.token;
    activity.until = pack.until;
    activity.session = pack.session;
    activity.generation = pack.generation;
    activity.body = body;
    activity.delivery = 1;
    activity.table = ActivityTable::packs;
  }
  return true;
}

/// All of them or none.
bool decode(const Pack& pack, std::vector<Activity>& activities) {
  const std::size_t before = activities.size();
  if (decode_each(pack, activities)) return true;
  activities.resize(before);
  return false;
}

void forget_pack(Transaction& tx, const Pack& pack) {
  tx.run(tx.sql.delete_pack, pack.key);
  if (Instance* known = tx.memo.instances.find(pack.key)) known->running.reset();
}

void set_pack_aside(Transaction& tx, const Pack& pack) {
  set_aside(tx, pack.ns, pack.key, "pack of activities", "can't be decoded", pack.items);
}

/// What is in these rows. One that can't be decoded is set aside; who only reads passes over it.
std::vector<Activity> activities_in(Transaction& tx, Cursor rows) {
  std::vector<Activity> activities;
  std::vector<Pack> damaged;
  while (rows.next()) {
    Pack pack = read_pack(rows);
    if (!decode(pack, activities)) damaged.push_back(std::move(pack));
  }
  if (!tx.writes) return activities;
  for (const Pack& pack : damaged) {
    forget_pack(tx, pack);
    set_pack_aside(tx, pack);
  }
  return activities;
}

}  // namespace

bool Pack::has_room_for(const Activity& activity) const noexcept {
  return size < kMaxPacked && items.size() + activity.body.size() <= kMaxBytes;
}

void Pack::add(const Activity& activity) {
  if (items.empty()) items.reserve(kUsualBytes);
  history::ByteWriter out(items);
  out.varint(activity.id.event.value);
  // The rest of the number is the namespace's.
  out.varint(static_cast<std::uint32_t>(activity.kind));
  out.string(activity.body);
  ++size;
}

void write_pack(Transaction& tx, const Pack& pack) {
  const bool in_session = pack.session != 0;
  tx.run(tx.sql.write_pack, pack.key, pack.ns, pack.execution, pack.worker, pack.token, pack.until,
         in_session ? std::optional(pack.session) : std::nullopt,
         in_session ? std::optional(pack.generation) : std::nullopt, Blob{pack.items});
  LeaseTime& horizon = tx.counters().activity_horizon;
  horizon = std::min(horizon, pack.until);
}

std::vector<Activity> packed_of(Transaction& tx, InstanceKey key) {
  return activities_in(tx, tx.rows(tx.sql.pack_of, key, tx.ns));
}

std::vector<Activity> all_packed(Transaction& tx) {
  return activities_in(tx, tx.rows(tx.sql.all_packs, tx.ns));
}

std::vector<Activity> packed_in_session(Transaction& tx, std::int64_t session) {
  std::vector<Activity> activities = activities_in(tx, tx.rows(tx.sql.packs_in_session, session));
  // A commit that ends the last activities of a pack leaves its row until it knows what takes its place.
  std::erase_if(activities, [&](const Activity& activity) {
    const Instance* known = tx.memo.instances.find(activity.id.instance);
    return known != nullptr && known->running &&
           std::ranges::find(*known->running, activity.id.event, &RunningActivity::event) ==
               known->running->end();
  });
  return activities;
}

void unpack_session(Transaction& tx, std::int64_t session) {
  for (const Activity& activity : packed_in_session(tx, session)) {
    erase_activity(tx, activity);
    insert_running(tx, activity);
  }
}

void take_from_pack(Transaction& tx, InstanceKey key, std::span<const EventId> events) {
  Pack rest;
  for (const Activity& activity : packed_of(tx, key)) {
    if (std::ranges::find(events, activity.id.event) != events.end()) continue;
    rest.key = key;
    rest.ns = tx.ns;
    rest.execution = activity.id.execution;
    rest.worker = activity.worker;
    rest.token = activity.token;
    rest.until = activity.until;
    rest.session = activity.session;
    rest.generation = activity.generation;
    rest.add(activity);
  }
  if (rest.size == 0) {
    tx.run(tx.sql.delete_pack, key);
  } else {
    write_pack(tx, rest);
  }
}

std::vector<Activity> take_lapsed_packs(Transaction& tx) {
  std::vector<Pack> packs;
  for (Cursor row = tx.rows(tx.sql.packs_until, tx.now); row.next();) packs.push_back(read_pack(row));
  std::vector<Activity> activities;
  for (const Pack& pack : packs) {
    forget_pack(tx, pack);
    if (!decode(pack, activities)) set_pack_aside(tx, pack);
  }
  return activities;
}

}  // namespace holdfast::sqlite_store
