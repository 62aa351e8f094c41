// Workers as clients see them.
#include "client/core.hpp"

#include <holdfast/client.hpp>
#include <holdfast/detail/enum_names.hpp>

#include <utility>

namespace holdfast {

std::string_view to_string(WorkerStatus status) noexcept { return detail::enum_name(status); }

namespace {

WorkerStatus status_of(const store::WorkerView& view) {
  if (view.superseded) return WorkerStatus::replaced;
  if (!view.is_alive()) return WorkerStatus::dead;
  return view.draining ? WorkerStatus::draining : WorkerStatus::alive;
}

std::vector<std::string> list_of(const store::NameSet& names) { return {names.begin(), names.end()}; }

WorkerInfo to_info(const store::WorkerView& view) {
  const store::Abilities& abilities = view.info.abilities;
  WorkerInfo info{.node = view.info.node,
                  .worker = view.key,
                  .status = status_of(view),
                  .host = view.info.host,
                  .pid = view.info.pid,
                  .build = view.info.build,
                  .started_at = view.joined_at,
                  .last_seen = view.last_seen,
                  .any_queue = abilities.queues.any,
                  .queues = list_of(abilities.queues.names),
                  .activities = list_of(abilities.handlers),
                  .capabilities = list_of(abilities.capabilities),
                  .slots = view.info.slots,
                  .sessions = view.sessions_owned,
                  .session_limit = abilities.session_limit};
  for (const store::CodeVersion& code : view.info.code.orchestrations) {
    // It also takes instances whose version is not decided yet, which stand under an empty one.
    if (code.version.empty()) continue;
    info.orchestrations.push_back({.name = code.name, .version = code.version});
  }
  return info;
}

}  // namespace

std::vector<WorkerInfo> Client::workers() const {
  std::vector<WorkerInfo> all;
  for (const store::WorkerView& view : core_->call([&] { return core_->store().workers(); })) {
    all.push_back(to_info(view));
  }
  return all;
}

}  // namespace holdfast
