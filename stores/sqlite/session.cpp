#include "session.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sqlite_store {

Session* SessionCache::find(std::int64_t number) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return nullptr;
  used_.push_back(number);
  return &found->second;
}

Session* SessionCache::find(std::string_view id) {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? nullptr : find(found->second);
}

Session& SessionCache::put(Session session) {
  const std::int64_t number = session.number;
  used_.push_back(number);
  return sessions_.insert_or_assign(number, std::move(session)).first->second;
}

void SessionCache::remove(std::int64_t number) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;
  // An id may be of another namespace, where it is another number here.
  const auto named = numbers_.find(found->second.id);
  if (named != numbers_.end() && named->second == number) numbers_.erase(named);
  sessions_.erase(found);
}

void SessionCache::remove_unbegun() {
  std::vector<std::int64_t> places;
  for (const auto& [number, session] : sessions_) {
    if (!session.begun) places.push_back(number);
  }
  for (const std::int64_t number : places) remove(number);
}

void SessionCache::tidy() {
  for (const std::int64_t number : used_) {
    const auto found = sessions_.find(number);
    if (found == sessions_.end()) continue;
    const Session& session = found->second;
    const bool worth_it =
        session.begun && !session.ended && (!session.saved || session.saved->size() <= kMaxSaved);
    if (!worth_it || sessions_.size() > kMaxKept) remove(number);
  }
  used_.clear();
}

}  // namespace holdfast::sqlite_store
