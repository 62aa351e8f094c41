#include "requests.hpp"

#include <holdfast/store/instances.hpp>

namespace holdfast::sqlite_store {
namespace {

void is_remembered(Transaction& tx) {
  tx.memo.nothing_requested = false;
  tx.sweep_by(later(tx.now, store::SweepRequest{}.request_retention));
}

}  // namespace

// Programs that only start instances have none, and look once.
std::optional<InstanceKey> answer_of(Transaction& tx, RequestId request) {
  if (request.empty()) return std::nullopt;
  if (!tx.memo.nothing_requested) {
    Cursor row = tx.rows(tx.sql.any_request);
    tx.memo.nothing_requested = !row.next();
  }
  if (*tx.memo.nothing_requested) return std::nullopt;
  Cursor row = tx.rows(tx.sql.request, tx.ns, request);
  if (!row.next()) return std::nullopt;
  return row->number<InstanceKey>(0);
}

void remember_request(Transaction& tx, RequestId request, InstanceKey answer) {
  if (request.empty()) return;
  tx.run(tx.sql.remember_request, tx.ns, request, tx.now, answer);
  is_remembered(tx);
}

void remember_start(Transaction& tx, InstanceKey key) {
  if (tx.change(tx.sql.remember_start, key, tx.now) > 0) is_remembered(tx);
}

}  // namespace holdfast::sqlite_store
