// Queries of a scenario: asked through the store, as by another process. A call that fails is not repeated:
// the loss of a question is a time-out.
#include "client/bodies.hpp"
#include "testkit/simulator/world.hpp"

#include <chrono>
#include <utility>

namespace holdfast::simulator {

namespace {

using namespace std::chrono_literals;

Result<QueryAnswer> to_result(bodies::Answer&& said) {
  if (said.failure) return Unexpected(*std::move(said.failure));
  return QueryAnswer{.value = std::move(said.value),
                     .execution = said.execution,
                     .event = said.event,
                     .behind = said.behind};
}

}  // namespace

void World::query(Duration when, Query query) {
  const std::string what = "ask " + query.instance + " for " + query.name;
  at(when, what, [this, query = std::move(query)](Client&) { ask(query); });
}

void World::ask(const Query& query) {
  const auto view = client_store_->find(query.instance);
  if (!view) return;
  const store::Ask question{.id = random_token<store::AskId>(client_random_),
                            .key = view->key,
                            .name = query.name,
                            .arguments = bodies::to_bytes(Payload{kJsonEncoding, "null"}),
                            .within = query.timeout,
                            .code = view->code,
                            .build = view->build};
  if (client_store_->ask({&question, 1}).front()) look_for_answer(question.id, now() + query.timeout, query);
}

void World::look_for_answer(store::AskId id, BootTime until, const Query& query) {
  at(age() + 50ms, "look for the answer to " + query.name, [this, id, until, query](Client&) {
    const auto answers = client_store_->take_answers({&id, 1});
    if (!answers || answers->empty()) {
      if (now() < until) look_for_answer(id, until, query);
      return;
    }
    if (answers->front().kind != store::AskAnswer::Kind::answered) return;
    auto said = bodies::read<bodies::Answer>(answers->front().body);
    if (!said) return fail("the answer to the query '" + query.name + "' can't be read");
    query.check(to_result(*std::move(said)));
  });
}

}  // namespace holdfast::simulator
