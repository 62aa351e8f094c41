#include "store.hpp"

namespace holdfast::sqlite_store {
namespace {
StoreError unfinished() { return store_error(StoreError::Kind::unavailable, "unfinished"); }
}  // namespace
StoreResult<void> SqliteStore::refresh(WorkerKey, bool) { return Unexpected(unfinished()); }
StoreResult<void> SqliteStore::leave(WorkerKey) { return Unexpected(unfinished()); }
StoreResult<std::vector<store::WorkerView>> SqliteStore::workers() { return Unexpected(unfinished()); }
StoreResult<std::uint64_t> SqliteStore::wake_parked(const store::Code&) { return Unexpected(unfinished()); }
StoreResult<std::vector<store::CancelRecord>> SqliteStore::cancel_records(WorkerKey) {
  return Unexpected(unfinished());
}
StoreResult<void> SqliteStore::acknowledge_cancels(std::span<const store::CancelAcknowledgement>) {
  return Unexpected(unfinished());
}
StoreResult<std::vector<store::QueueDepth>> SqliteStore::queue_depths() { return Unexpected(unfinished()); }
StoreResult<store::Acquired> SqliteStore::acquire_session(WorkerKey, const store::Abilities&,
                                                          std::string_view, const store::SessionPolicy&) {
  return Unexpected(unfinished());
}
std::vector<StoreResult<void>> SqliteStore::renew_sessions(WorkerKey,
                                                           std::span<const store::SessionRenewal> holds) {
  std::vector<StoreResult<void>> all;
  for (std::size_t i = 0; i < holds.size(); ++i) all.push_back(Unexpected(unfinished()));
  return all;
}
std::vector<StoreResult<void>> SqliteStore::release_sessions(
    WorkerKey, std::span<const store::SessionRelease> releases) {
  std::vector<StoreResult<void>> all;
  for (std::size_t i = 0; i < releases.size(); ++i) all.push_back(Unexpected(unfinished()));
  return all;
}
StoreResult<bool> SqliteStore::close_session(std::string_view, store::SessionReason) {
  return Unexpected(unfinished());
}
StoreResult<void> SqliteStore::fail_session(WorkerKey, const store::SessionHold&, store::SessionReason) {
  return Unexpected(unfinished());
}
StoreResult<store::SessionView> SqliteStore::session(std::string_view) { return Unexpected(unfinished()); }
StoreResult<std::vector<store::SessionView>> SqliteStore::sessions(std::string_view, std::size_t) {
  return Unexpected(unfinished());
}
StoreResult<std::vector<store::SessionLogEntry>> SqliteStore::session_log(std::string_view, std::uint64_t,
                                                                          std::size_t) {
  return Unexpected(unfinished());
}
std::vector<StoreResult<InstanceKey>> SqliteStore::send(std::span<const store::ClientMessage> messages) {
  std::vector<StoreResult<InstanceKey>> all;
  for (std::size_t i = 0; i < messages.size(); ++i) all.push_back(Unexpected(unfinished()));
  return all;
}
StoreResult<store::InstanceView> SqliteStore::find(std::string_view) { return Unexpected(unfinished()); }
StoreResult<std::vector<std::optional<store::InstanceView>>> SqliteStore::look(std::span<const InstanceKey>) {
  return Unexpected(unfinished());
}
StoreResult<store::InstanceDetail> SqliteStore::describe(std::string_view) {
  return Unexpected(unfinished());
}
StoreResult<store::InstancePage> SqliteStore::list(const store::InstanceFilter&) {
  return Unexpected(unfinished());
}
StoreResult<std::vector<store::ExecutionView>> SqliteStore::executions(InstanceKey) {
  return Unexpected(unfinished());
}
StoreResult<std::optional<std::string>> SqliteStore::value(std::string_view, std::string_view) {
  return Unexpected(unfinished());
}
StoreResult<void> SqliteStore::delete_instance(std::string_view, bool) { return Unexpected(unfinished()); }
StoreResult<std::uint64_t> SqliteStore::prune_executions(std::string_view, std::uint64_t) {
  return Unexpected(unfinished());
}
StoreResult<std::vector<store::SetAsideRow>> SqliteStore::set_aside(std::uint64_t, std::size_t) {
  return Unexpected(unfinished());
}
StoreResult<store::Swept> SqliteStore::sweep(const store::SweepRequest&) { return Unexpected(unfinished()); }
StoreResult<store::StoreState> SqliteStore::state() { return Unexpected(unfinished()); }
}  // namespace holdfast::sqlite_store
