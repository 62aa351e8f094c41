#include "pack.hpp"

#include "codec/bytes.hpp"

#include <algorithm>

namespace holdfast::sqlite_store {
namespace {

constexpr std::size_t kMaxBytes = 2048;
constexpr std::size_t kUsualBytes = 256;

}  // namespace

bool Pack::is_plain(const rules::Activity& a) {
  return a.lock.live && a.priority == 0 && a.attempt == 1 && a.delivery == 1 && a.start_within == never &&
         a.total_until == rules::kNever && a.last_failure.empty() && a.progress.empty() && !a.session_over;
}

Pack::Pack(const rules::Activity& activity, std::string&& memory)
    : execution(activity.id.execution),
      worker(activity.lock.worker),
      token(activity.lock.token),
      until(activity.lock.until),
      session(activity.session),
      generation(activity.generation),
      bytes_(std::move(memory)) {
  bytes_.clear();
}

bool Pack::describes(const rules::Activity& a) const {
  return is_plain(a) && a.id.execution == execution && a.lock.worker == worker && a.lock.token == token &&
         a.lock.until == until && a.session == session && a.generation == generation;
}

bool Pack::has_room_for(const rules::Activity& activity) const {
  return count_ < kMaxPacked && bytes_.size() + activity.body.size() <= kMaxBytes;
}

void Pack::add(const rules::Activity& activity, std::int64_t kind) {
  if (count_ == 0) bytes_.reserve(kUsualBytes);
  history::ByteWriter out(bytes_);
  out.varint(activity.id.event.value);
  // The rest of the number is the namespace's.
  out.varint(static_cast<std::uint32_t>(kind));
  out.string(activity.body);
  note(activity.id.event);
}

bool Pack::contains(const store::ActivityId& id) const {
  return id.execution == execution && std::ranges::find(events(), id.event) != events().end();
}

std::optional<std::vector<Pack::Item>> Pack::decode(std::string_view bytes) {
  std::vector<Item> items;
  for (history::ByteReader in(bytes); !in.done();) {
    if (items.size() == kMaxPacked) return std::nullopt;
    std::uint64_t kind = 0;
    Item& item = items.emplace_back();
    if (!in.varint(item.event.value) || !in.varint(kind) || !in.string(item.body)) return std::nullopt;
    item.kind = static_cast<std::int64_t>(kind);
  }
  return items;
}

rules::Activity Pack::activity(InstanceKey key, const Item& item) const {
  return {.id = {key, execution, item.event},
          .session = session,
          .body = std::string(item.body),
          .delivery = 1,
          .lock = {.worker = worker, .token = token, .until = until, .live = true},
          .generation = generation};
}

}  // namespace holdfast::sqlite_store
