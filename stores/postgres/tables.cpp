#include "tables.hpp"

#include "kept.hpp"
#include "rows.hpp"

#include <string>

namespace holdfast::postgres_store {

namespace {

/// One text for each column, with commas between them.
template <class Columns, class TextOf>
std::string listed(const Columns& columns, TextOf text_of) {
  std::string text;
  for (const auto& column : columns) {
    if (!text.empty()) text += ", ";
    text += text_of(column);
  }
  return text;
}

}  // namespace

std::string ColumnList::names() const {
  return listed(columns_, [](const auto& column) { return std::string(column.first); });
}

std::string ColumnList::of(std::string_view table) const {
  return listed(columns_,
                [table](const auto& column) { return std::string(table).append(".").append(column.first); });
}

std::string ColumnList::places(int first) const {
  return listed(columns_, [first](const auto& column) mutable {
    return "$" + std::to_string(first++) + "::" + std::string(column.second);
  });
}

std::string ColumnList::arrays(int first) const {
  return listed(columns_, [first](const auto& column) mutable {
    return "$" + std::to_string(first++) + "::" + std::string(column.second) + "[]";
  });
}

std::string ColumnList::taken_from(std::string_view table) const {
  return listed(columns_, [table](const auto& column) {
    return std::string(column.first).append(" = ").append(table).append(".").append(column.first);
  });
}

std::string ColumnList::in_shape(const Shape& shape, int first) const {
  return listed(columns_, [&, i = std::size_t{0}, first](const auto& column) mutable {
    const std::string place = "$" + std::to_string(first++) + "::" + std::string(column.second);
    return shape[i++] ? place : "n." + std::string(column.first);
  });
}

std::string ColumnList::set_in_shape(const Shape& shape, int first, std::size_t from) const {
  std::string text;
  for (std::size_t i = from; i < columns_.size(); ++i) {
    const auto& [name, type] = columns_[i];
    if (!text.empty()) text += ", ";
    text.append(name).append(" = ");
    if (shape[i]) {
      text.append("$" + std::to_string(first + static_cast<int>(i)) + "::").append(type);
    } else {
      text.append("n.").append(name);
    }
  }
  return text;
}

std::string ColumnList::rows_in_shape(const Shape& shape, int first) const {
  std::string arrays;
  std::string names;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (shape[i]) continue;
    const auto& [name, type] = columns_[i];
    if (!names.empty()) {
      arrays += ", ";
      names += ", ";
    }
    arrays.append("$" + std::to_string(first + static_cast<int>(i)) + "::").append(type).append("[]");
    names += name;
  }
  return "unnest(" + arrays + ") AS n (" + names + ")";
}

std::string ColumnList::set_to(int first) const {
  return listed(columns_, [first](const auto& column) mutable {
    return std::string(column.first) + " = $" + std::to_string(first++) + "::" + std::string(column.second);
  });
}

namespace table {

namespace {

template <class Visit, class... Parts>
ColumnList list(Visit visit, const Parts&... parts) {
  ColumnList columns;
  visit(parts..., columns);
  return columns;
}

}  // namespace

ColumnList births() {
  return list([](auto&... row) { birth_columns(row...); }, rules::Instance{});
}
ColumnList turns() {
  return list([](auto&... row) { turn_columns(row...); }, rules::Instance{}, InstanceCodes{});
}
ColumnList states() {
  return list([](auto&... row) { state_columns(row...); }, rules::Instance{}, InstanceCodes{});
}
ColumnList instances() { return births() + turns() + states(); }

ColumnList messages() {
  return list([](auto&... row) { message_columns(row...); }, store::NewMessage{}, std::string());
}
ColumnList delayed() {
  return list([](auto&... row) { delayed_columns(row...); }, rules::DelayedMessage{}, BootTime{});
}
ColumnList early() {
  return list([](auto&... row) { early_columns(row...); }, std::string(), rules::Early{});
}

ColumnList activity_ids() {
  return list([](auto&... row) { id_columns(row...); }, store::ActivityId{});
}
ColumnList tasks() {
  return list([](auto&... row) { task_columns(row...); }, rules::Activity{}, ActivityCodes{});
}
ColumnList progress() {
  return list([](auto&... row) { progress_columns(row...); }, rules::Activity{}, ActivityCodes{});
}
ColumnList deadlines() {
  return list([](auto&... row) { deadline_columns(row...); }, ActivityCodes{});
}
ColumnList activities() { return activity_ids() + tasks() + progress(); }
ColumnList cancels() {
  return list([](auto&... row) { cancelled_columns(row...); }, store::CancelRecord{}) +
         list([](auto&... row) { rules::cancel_columns(row...); }, rules::Cancel{});
}

ColumnList sessions() {
  return list([](auto&... row) { policy_columns(row...); }, PolicyCodes{}) +
         list([](auto&... row) { rules::session_columns(row...); }, rules::Session{});
}
ColumnList policy_parts() {
  return list([](auto&... row) { policy_part_columns(row...); }, PolicyCodes{});
}

ColumnList log() {
  return list([](auto&... row) { rules::log_columns(row...); }, store::SessionLogEntry{});
}
ColumnList set_aside() {
  return list([](auto&... row) { aside_columns(row...); }, store::SetAsideRow{});
}
ColumnList workers() {
  return list([](auto&... row) { rules::worker_columns(row...); }, rules::Worker{});
}

std::string select_instances(const std::string& from) { return "SELECT " + instances().of("i") + " " + from; }
std::string select_versioned_instances(const std::string& from) {
  return "SELECT " + instances().of("i") + ", i.xmin " + from;
}
std::string select_messages(const std::string& from) {
  return "SELECT m.key, m.id, " + messages().of("m") + " " + from;
}
std::string select_delayed(const std::string& from) {
  return "SELECT d.number, " + delayed().of("d") + " " + from;
}
std::string select_early(const std::string& from) { return "SELECT " + early().of("e") + " " + from; }
std::string select_activities(const std::string& from) {
  return "SELECT " + activities().of("a") + " " + from;
}
std::string select_named_activities(const std::string& from) {
  return "SELECT " + activities().of("a") + ", i.name " + from;
}
std::string select_cancels(const std::string& from) { return "SELECT " + cancels().of("c") + " " + from; }
std::string select_sessions(const std::string& from) {
  return "SELECT s.id, octet_length(s.saved), " + sessions().of("s") + " " + from;
}
std::string select_workers(const std::string& from) {
  return "SELECT w.key, w.info, " + workers().of("w") + " " + from;
}

ColumnList versions() {
  ColumnList columns;
  columns("version", RowVersion{});
  return columns;
}
ColumnList instance_keys() {
  ColumnList columns;
  columns("key", InstanceKey{});
  return columns;
}

std::string update_instances(const Shape& shape, const ColumnList& columns) {
  const ColumnList all = instance_keys() + columns;
  return "UPDATE instances AS i SET " + all.set_in_shape(shape, 1, 1) + " FROM " +
         all.rows_in_shape(shape, 1) + " WHERE i.key = n.key";
}
std::string insert_numbered(const std::string& into, const std::string& number, const ColumnList& columns) {
  return "INSERT INTO " + into + " (ns, number, " + columns.names() + ") SELECT $1, " + number +
         ", * FROM unnest(" + columns.arrays(2) + ")";
}

}  // namespace table

}  // namespace holdfast::postgres_store
