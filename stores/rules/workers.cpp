// Workers join, say that they live, and leave.
#include "calls.hpp"
#include "sessions.hpp"
#include "views.hpp"

namespace holdfast::rules {

namespace {

Unexpected<StoreError> not_registered(WorkerKey worker) {
  return refuse(StoreError::Kind::not_found,
                "worker " + to_string(worker) + " is not registered: join again");
}

/// What older incarnations of the node owned; a draining one keeps its sessions until it gives them up.
void take_from_older(Transaction& tx, const Worker& joined) {
  for (const auto& [id, session] : tx.space.sessions) {
    if (session.ended || session.worker == WorkerKey{} || session.owner != joined.info.node) continue;
    const Worker* const owner = look_at(tx, session.worker);
    if (owner != nullptr && owner->draining) continue;
    owner_restarted(tx, tx.space.sessions.at(id), joined);
  }
}

}  // namespace

WorkerKey join(Transaction& tx, const NewWorker& info) {
  tx.rows.node(info.node);
  for (const auto& [key, worker] : tx.space.workers) {
    if (worker.info.node == info.node) tx.space.workers.at(key).superseded = true;
  }
  const WorkerKey key = tx.numbers.next_worker();
  const Worker& joined = tx.space.workers.insert_or_assign(
      key, Worker{.key = key, .info = info, .joined_at = tx.calendar, .seen = tx.now});
  take_from_older(tx, joined);
  tx.news.work |= kActivities;  // it may have the handler for work that its owner lacks
  return key;
}

StoreResult<void> refresh(Transaction& tx, WorkerKey worker, bool draining) {
  if (auto refused = refusal(tx, worker, Call::keeps_what_it_has)) return Unexpected(*refused);
  Worker& row = *find_worker(tx, worker);
  row.draining = draining;
  row.seen = tx.now;
  return {};
}

StoreResult<void> leave(Transaction& tx, WorkerKey worker) {
  if (look_at(tx, worker) == nullptr) return not_registered(worker);
  tx.space.workers.erase(worker);
  return {};
}

std::vector<WorkerView> workers(Transaction& tx) {
  std::vector<WorkerView> views;
  for (const auto& [key, worker] : tx.space.workers) views.push_back(view(tx, worker));
  return views;
}

}  // namespace holdfast::rules
