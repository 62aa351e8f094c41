// The columns of tables, for statements; made from rows.hpp.
#pragma once

#include "columns.hpp"

#include <string>

namespace holdfast::postgres_store::table {

/// Instances: what never changes, what most turns change, and the rest.
ColumnList births();
ColumnList turns();
ColumnList states();
/// All of it.
ColumnList instances();

/// What rows are found by.
ColumnList instance_keys();
ColumnList versions();

ColumnList messages();
ColumnList delayed();
ColumnList early();

/// Activities: what never changes, and the rest.
ColumnList activity_ids();
ColumnList tasks();
ColumnList progress();
ColumnList deadlines();
/// All that is read of them.
ColumnList activities();
ColumnList cancels();

/// Without the id, and without what was saved.
ColumnList sessions();
ColumnList policy_parts();

ColumnList log();
ColumnList set_aside();
ColumnList workers();

// Each with what comes before its columns, and the letter that `from` has to call the table by.

/// i
std::string select_instances(const std::string& from);
/// The same with the version of the row as its last column: `from` has to name the table itself.
std::string select_versioned_instances(const std::string& from);
/// m
std::string select_messages(const std::string& from);
/// d
std::string select_delayed(const std::string& from);
/// e
std::string select_early(const std::string& from);
/// a
std::string select_activities(const std::string& from);
/// The same with the ids of their instances (i) as the last column.
std::string select_named_activities(const std::string& from);
/// c
std::string select_cancels(const std::string& from);
/// s. What was saved is not among them: it may be long, and is of interest to few.
std::string select_sessions(const std::string& from);
/// w
std::string select_workers(const std::string& from);

/// Of many: their keys are $1, and the columns follow.
std::string update_instances(const Shape& shape, const ColumnList& columns);
/// Many rows that the table numbers: their namespace is $1, and the columns follow.
std::string insert_numbered(const std::string& into, const std::string& number, const ColumnList& columns);

}  // namespace holdfast::postgres_store::table
