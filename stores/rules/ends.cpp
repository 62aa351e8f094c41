#include "ends.hpp"

#include "messages.hpp"

#include <utility>

namespace holdfast::rules {

namespace {

EndAnswer answer_about(const Instance& instance, EndAnswer::Kind kind) {
  if (kind != EndAnswer::Kind::ended) return {.kind = kind};
  return {.kind = kind, .status = instance.view.status, .output = instance.view.output};
}

void answer(Transaction& tx, Instance& asker, const EndWatcher& watcher, EndAnswer answer) {
  deliver(tx, asker,
          Message{.kind = MessageKind::ended,
                  .execution = watcher.execution,
                  .source = watcher.source,
                  .body = std::move(answer)});
}

}  // namespace

void ask_for_end(Transaction& tx, Instance& asker, const EndRequest& request) {
  const EndWatcher watcher{asker.view.key, asker.view.execution, request.source};
  Instance* const target = find_instance(tx, request.instance);
  if (target == nullptr) return answer(tx, asker, watcher, {.kind = EndAnswer::Kind::not_found});
  if (target == &asker) return answer(tx, asker, watcher, {.kind = EndAnswer::Kind::itself});
  if (has_ended(target->view.status))
    return answer(tx, asker, watcher, answer_about(*target, EndAnswer::Kind::ended));
  std::erase_if(target->end_watchers, [&](const EndWatcher& other) {
    return other.key == watcher.key && other.execution < watcher.execution;
  });
  if (target->end_watchers.size() >= kMaxEndRequests)
    return answer(tx, asker, watcher, {.kind = EndAnswer::Kind::too_many});
  target->end_watchers.push_back(watcher);
}

void forget_end_request(Transaction& tx, const Instance& asker, const EndRequest& request) {
  Instance* const target = find_instance(tx, request.instance);
  if (target == nullptr) return;
  std::erase(target->end_watchers, EndWatcher{asker.view.key, asker.view.execution, request.source});
}

void answer_end_watchers(Transaction& tx, Instance& instance, EndAnswer::Kind kind) {
  for (const EndWatcher& watcher : std::exchange(instance.end_watchers, {})) {
    Instance* const asker = find_instance(tx, watcher.key);
    if (asker != nullptr) answer(tx, *asker, watcher, answer_about(instance, kind));
  }
}

}  // namespace holdfast::rules
