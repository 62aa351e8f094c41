// Questions between processes: all of a namespace are read, and those that have changed are written.
#include "calls.hpp"
#include "contract/rows.hpp"

#include <utility>

namespace holdfast::sqlite_store {

// A row that can't be read is nobody's question any more.
AskRows::AskRows(WorkingSet& set) : set_(set) {
  for (Cursor row = set.link().rows(set.sql().asks, set.ns()); row.next();) {
    RowReader reader(row);
    const auto id = reader.next<store::AskId>();
    rules::Asked asked;
    if (!store::from_bytes(row->blob(1), asked)) asked = {};
    in_table_.emplace(id, std::move(asked));
  }
  rows_ = in_table_;
}

void AskRows::write_back() {
  for (const auto& [id, asked] : rows_) {
    const auto before = in_table_.find(id);
    if (before != in_table_.end() && before->second == asked) continue;
    const std::string bytes = store::to_bytes(asked);
    set_.link().run(set_.sql().write_ask, set_.ns(), id, Blob{bytes});
  }
  for (const auto& [id, asked] : in_table_) {
    if (!rows_.contains(id)) set_.link().run(set_.sql().delete_ask, set_.ns(), id);
  }
  in_table_ = rows_;
}

bool is_anything_asked(WorkingSet& set) { return set.link().rows(set.sql().any_ask, set.ns()).next(); }

}  // namespace holdfast::sqlite_store
