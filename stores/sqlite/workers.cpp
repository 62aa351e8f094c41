#include "workers.hpp"

#include "contract/rows.hpp"

namespace holdfast::sqlite_store {

StoreResult<WorkerKey> join(Transaction& tx, const store::WorkerInfo& info) {
  const WorkerKey key{++tx.counters().workers};
  tx.run(tx.sql.supersede, tx.ns, info.node);
  const std::string bytes = store::to_bytes(info);
  tx.run(tx.sql.insert_worker, key, tx.ns, info.node, Blob{bytes}, to_row(tx.calendar_now), tx.now);
  tx.memo.workers.clear();
  return key;
}

}  // namespace holdfast::sqlite_store
