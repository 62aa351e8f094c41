// What calls that come often will ask for, so that it comes in one go.
#include "calls.hpp"

namespace holdfast::postgres_store {

void want_for_commit(WorkingSet& set, const store::CommitRequest& request, const store::TurnCommit& commit) {
  set.need().workers.insert(request.worker);
  std::vector<InstanceKey> keys{commit.key};
  std::vector<std::string> names;
  std::vector<std::string> started;
  for (const store::NewInstance& start : commit.starts) started.push_back(start.instance);
  for (const store::Outgoing& message : commit.messages) {
    if (message.key != InstanceKey{}) {
      keys.push_back(message.key);
    } else if (message.keep_early > Duration::zero()) {
      set.need().reserved.insert(message.instance);  // names are locked before instances
    } else {
      names.push_back(message.instance);
    }
  }
  for (const store::ValueRequest& read : commit.value_reads) names.push_back(read.instance);
  for (const auto* requests : {&commit.end_requests, &commit.cancelled_end_requests}) {
    for (const store::EndRequest& asked : *requests) names.push_back(asked.instance);
  }
  set.need().instances.insert(keys.begin(), keys.end());
  set.need().names.insert(names.begin(), names.end());
  set.need().reserved.insert(started.begin(), started.end());
  set.need().early.insert(started.begin(), started.end());
  set.need().unread.emplace(commit.key, commit.seen);
  for (const store::LocalCompletion& completion : commit.completed) {
    set.need().activities.insert({commit.key, commit.execution, completion.event});
  }
  for (const store::CancelledActivity& cancelled : commit.cancelled) {
    set.need().activities.insert({commit.key, commit.execution, cancelled.event});
  }
  if (!std::holds_alternative<std::monostate>(commit.end)) set.need().ending.insert(commit.key);
  if (!commit.timers.empty() || !commit.cancelled_timers.empty()) set.need().timers.insert(commit.key);
  for (const store::NewActivity& activity : commit.activities) {
    if (activity.session) set.need().sessions.insert(activity.session->id);
    if (activity.hand_off) set.need().urgent = true;
  }
  for (const store::SessionOpen& open : commit.open_sessions) set.need().sessions.insert(open.id);
  for (const store::SessionClose& close : commit.close_sessions) set.need().sessions.insert(close.id);
  for (const std::string& watched : commit.watch_sessions) set.need().sessions.insert(watched);
}

void want_for_start(WorkingSet& set, const store::StartRequest& request) {
  set.need().reserved.insert(request.instance);
  set.need().early.insert(request.instance);
  set.need().started.insert(request.instance);
  if (!request.request.empty()) set.need().requests.insert(request.request);
}

void want_for_send(WorkingSet& set, const store::ClientMessage& message) {
  set.need().names.insert(message.instance);
  if (!message.request.empty()) set.need().requests.insert(message.request);
}

void want_for_finish(WorkingSet& set, const store::ActivityResult& result) {
  set.need().instances.insert(result.id.instance);
  set.need().activities.insert(result.id);
}

}  // namespace holdfast::postgres_store
