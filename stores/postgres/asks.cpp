// Questions between processes: all of a namespace are read, and those that have changed are written.
#include "calls.hpp"
#include "contract/rows.hpp"
#include "statements.hpp"

#include <string>
#include <utility>

namespace holdfast::postgres_store {

// A row that can't be read is nobody's question any more.
AskRows::AskRows(WorkingSet& set, Access access) : set_(set) {
  set.ask(access == Access::writes ? sql::kLockedAsks : sql::kAsks, Parameters(set.ns()),
          [this](const Answer& answer) {
            for (int i = 0; i < answer.rows(); ++i) {
              Row row(answer, i);
              const auto id = row.next<store::AskId>();
              rules::Asked asked;
              if (!store::from_bytes(answer.bytes(i, 1), asked)) asked = {};
              in_table_.emplace(id, std::move(asked));
            }
          });
  set.bring();
  rows_ = in_table_;
}

void AskRows::write_back() {
  for (const auto& [id, asked] : rows_) {
    const auto before = in_table_.find(id);
    if (before != in_table_.end() && before->second == asked) continue;
    const std::string bytes = store::to_bytes(asked);
    set_.ask(sql::kWriteAsk, Parameters(set_.ns(), id, Bytes{bytes}));
  }
  for (const auto& [id, asked] : in_table_) {
    if (!rows_.contains(id)) set_.ask(sql::kDeleteAsk, Parameters(set_.ns(), id));
  }
  if (set_.asked()) set_.bring();
  in_table_ = rows_;
}

bool is_anything_asked(WorkingSet& set) {
  bool any = false;
  set.ask(sql::kAnyAsk, Parameters(set.ns()), [&](const Answer& answer) { any = answer.rows() > 0; });
  set.bring_last();
  return any;
}

}  // namespace holdfast::postgres_store
