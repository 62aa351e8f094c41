#include "turns.hpp"

namespace holdfast::sqlite_store {

StoreResult<std::vector<store::Segment>> read_history(Transaction& tx, InstanceKey key,
                                                      ExecutionNumber execution, EventId after,
                                                      std::size_t max_bytes) {
  if (Cursor row = tx.rows(tx.sql.instance_exists, key, tx.ns); !row.next()) {
    return Unexpected(
        store_error(StoreError::Kind::not_found, "there is no instance with the key " + to_string(key)));
  }
  std::vector<store::Segment> segments;
  std::size_t bytes = 0;
  for (Cursor row = tx.rows(tx.sql.read_history, key, execution, after); row.next();) {
    const std::string_view segment = row->blob(1);
    bytes += segment.size();
    if (!segments.empty() && bytes > max_bytes) break;
    segments.push_back({row->number<EventId>(0), std::string(segment)});
  }
  return segments;
}

}  // namespace holdfast::sqlite_store
