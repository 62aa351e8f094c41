#include "transaction.hpp"

#include "damaged_row.hpp"

namespace holdfast::sqlite_store {

Counters& Transaction::counters() {
  if (!memo.counters) {
    Cursor row = rows(sql.counters);
    if (!row.next()) throw DamagedRow("counters", 1);
    memo.counters = Counters{.instances = row->uint64(0),
                             .messages = row->uint64(1),
                             .workers = row->uint64(2),
                             .generations = row->uint64(3),
                             .session_log = row->uint64(4),
                             .set_aside = row->uint64(5),
                             .turn_horizon = row->int64(6),
                             .activity_horizon = row->int64(7),
                             .session_horizon = row->int64(8)};
  }
  if (!counters_read_) {
    counters_as_read_ = *memo.counters;
    counters_read_ = true;
  }
  return *memo.counters;
}

void Transaction::finish() {
  memo.instances.tidy();
  memo.sessions.tidy();
  if (!counters_read_ || *memo.counters == counters_as_read_) return;
  const Counters& c = *memo.counters;
  run(sql.save_counters, c.instances, c.messages, c.workers, c.generations, c.session_log, c.set_aside,
      c.turn_horizon, c.activity_horizon, c.session_horizon);
}

const Memo::Worker* Transaction::find_worker(WorkerKey worker) {
  auto known = memo.workers.find(worker.value);
  if (known == memo.workers.end()) {
    Cursor row = rows(sql.worker_state, worker, ns);
    if (!row.next()) return nullptr;
    known = memo.workers
                .emplace(worker.value, Memo::Worker{.superseded = row->truth(0),
                                                    .draining = row->truth(1),
                                                    .node = std::string(row->text(2))})
                .first;
  }
  return &known->second;
}

std::optional<StoreError> Transaction::refuse_worker(WorkerKey worker, WorkerCall call) {
  const Memo::Worker* known = find_worker(worker);
  if (known == nullptr) {
    return store_error(StoreError::Kind::not_found,
                       "worker " + to_string(worker) + " is not registered: join again");
  }
  if (!known->superseded || (known->draining && call == WorkerCall::keeps_what_it_has)) return std::nullopt;
  return store_error(StoreError::Kind::superseded,
                     "a newer incarnation of node '" + known->node + "' has joined");
}

bool Transaction::is_draining(WorkerKey worker) {
  const Memo::Worker* known = find_worker(worker);
  return known != nullptr && known->draining;
}

std::string Transaction::node_of(WorkerKey worker) {
  const Memo::Worker* known = find_worker(worker);
  return known == nullptr ? std::string() : known->node;
}

}  // namespace holdfast::sqlite_store
