#include "asks.hpp"

#include "base/moments.hpp"
#include "readiness.hpp"
#include "transaction.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::rules {

namespace {

// Nobody waits for these any more.
void drop_late(Asks& asks, BootTime now) {
  std::erase_if(asks, [now](const auto& entry) { return entry.second.until <= now; });
}

bool is_free(const Asked& asked, BootTime now) {
  return asked.answered == 0 && (asked.taken_by == WorkerKey{} || asked.taken_until <= now);
}

}  // namespace

StoreResult<void> ask(Asks& asks, BootTime now, const store::Ask& item, store::News& news) {
  drop_late(asks, now);
  if (asks.contains(item.id)) return {};
  if (asks.size() >= store::kMaxAsks)
    return refuse(StoreError::Kind::busy, "too many questions wait for an answer");
  std::uint64_t number = 1;
  for (const auto& [id, other] : asks) number = std::max(number, other.number + 1);
  asks.emplace(item.id, Asked{.ask = item, .number = number, .until = after(now, item.within)});
  news.work |= store::kAsks;
  return {};
}

std::vector<store::Ask> fetch_asks(Asks& asks, BootTime now, const store::AskRequest& request) {
  drop_late(asks, now);
  std::vector<Asked*> free;
  for (auto& [id, asked] : asks) {
    if (is_free(asked, now) && suits(*request.code, {.code = asked.ask.code, .build = asked.ask.build}))
      free.push_back(&asked);
  }
  std::ranges::sort(free, {}, &Asked::number);
  if (free.size() > request.max) free.resize(request.max);
  std::vector<store::Ask> fetched;
  for (Asked* const asked : free) {
    asked->taken_by = request.worker;
    asked->taken_until = after(now, request.lease);
    fetched.push_back(asked->ask);
    fetched.back().within = left(asked->until, now);
  }
  return fetched;
}

StoreResult<void> answer(Asks& asks, BootTime now, const store::AskAnswer& item, store::News& news) {
  drop_late(asks, now);
  const auto found = asks.find(item.id);
  if (found == asks.end()) return refuse(StoreError::Kind::not_found, "nobody waits for this answer");
  Asked& asked = found->second;
  if (asked.answered != 0) return {};
  asked.answered = 1;
  asked.answer = item;
  news.work |= store::kAnswers;
  return {};
}

std::vector<store::AskAnswer> take_answers(Asks& asks, BootTime now, std::span<const store::AskId> ids) {
  drop_late(asks, now);
  std::vector<store::AskAnswer> answers;
  for (const store::AskId id : ids) {
    const auto found = asks.find(id);
    if (found == asks.end() || found->second.answered == 0) continue;
    answers.push_back(std::move(found->second.answer));
    asks.erase(found);
  }
  return answers;
}

std::vector<store::AskRow> view(const Asks& asks, BootTime now) {
  std::vector<store::AskRow> rows;
  for (const auto& [id, asked] : asks) {
    if (asked.until <= now) continue;
    rows.push_back({.ask = asked.ask,
                    .left = left(asked.until, now),
                    .taken_by = asked.taken_by,
                    .taken_for = left(asked.taken_until, now),
                    .answered = asked.answered != 0,
                    .answer = asked.answer});
  }
  return rows;
}

}  // namespace holdfast::rules
