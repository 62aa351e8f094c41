// Execution, the part that answers questions from outside. Nothing of it is in history: replay registers the
// same handlers again.
#include "engine/handlers.hpp"

#include "base/failure_text.hpp"
#include "engine/execution.hpp"
#include "engine/matching.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/handlers.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace holdfast::engine {

namespace {

constexpr std::string_view kOwnPrefix = "holdfast.";
constexpr detail::ReadOnly kInQuery{"the handler of a query", "which may only read"};
/// Frames of a stack that are shown: tasks may await each other much deeper.
constexpr std::size_t kMaxFrames = 100;

Failure query_failure(std::string type, std::string message) {
  return {.type = std::move(type), .message = std::move(message), .retryable = false};
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// "Task<> orders::sell(Context &)" and "void orders::sell(orders::sell(Context&)::_Z4sell.Frame*)" are
// "orders::sell".
std::string name_of_function(std::string_view pretty) {
  std::string text(pretty);
  replace_all(text, "(anonymous namespace)::", "");
  replace_all(text, "{anonymous}::", "");
  replace_all(text, "(anonymous class)", "lambda");
  replace_all(text, "operator()", "operator");
  text.resize(std::min(text.size(), text.find('(')));
  const std::size_t space = text.rfind(' ');
  return space == std::string::npos ? text : text.substr(space + 1);
}

QueryWait wait_of(const detail::OpState& state) {
  return {.event = state.id.value, .what = in_words(state.kind, state.label)};
}

QueryFrame frame_of(const detail::PromiseBase& promise) {
  return {.function = name_of_function(promise.where.function_name()),
          .file = promise.where.file_name(),
          .line = promise.where.line()};
}

// From a frame that waits to the outermost one.
std::vector<QueryFrame> frames_from(const detail::FrameWaiter* waiter) {
  std::vector<QueryFrame> frames;
  while (waiter != nullptr && frames.size() < kMaxFrames) {
    frames.push_back(frame_of(*waiter->promise));
    waiter = static_cast<const detail::FrameWaiter*>(waiter->promise->awaiting);
  }
  return frames;
}

}  // namespace

// ---- what the code registers ----------------------------------------------------------------------

// False when nothing of the code runs any more.
bool Execution::register_query(std::string_view name, std::unique_ptr<const detail::QueryCode> code,
                               const void* state, std::uint64_t number) {
  refuse_in_read_only("a query handler was registered");
  if (stopped()) return false;
  std::string checked = detail::checked_name("a query", name);
  if (checked.starts_with(kOwnPrefix)) {
    throw std::logic_error("holdfast: the query '" + checked +
                           "' can't be the code's: names that begin with 'holdfast.' are Holdfast's own");
  }
  if (!handlers_) handlers_ = std::make_unique<Handlers>();
  if (!handlers_->queries.contains(checked) && handlers_->queries.size() == kMaxHandlers) {
    throw LimitError(Failure{.category = Category::limit,
                             .type = "too_many_handlers",
                             .message = "an execution may have " + std::to_string(kMaxHandlers) +
                                        " query handlers, and registers '" + checked +
                                        "' as well; name a query after what it tells, and pass data as its "
                                        "arguments",
                             .retryable = false});
  }
  Handlers::Query& query = handlers_->queries[checked];
  if (query.code) {
    throw std::logic_error("holdfast: there is a handler of the query '" + checked +
                           "' already; its guard has to go first");
  }
  query = {.guard = number, .code = std::move(code), .state = state};
  return true;
}

std::uint64_t Execution::add_query(std::string_view name, std::unique_ptr<const detail::QueryCode> code) {
  const std::uint64_t number = handlers_ ? handlers_->last_guard + 1 : 1;
  if (!register_query(name, std::move(code), nullptr, number)) return 0;
  return handlers_->last_guard = number;
}

void Execution::add_query(std::string_view name, std::unique_ptr<const detail::QueryCode> code,
                          const void* state) {
  if (stopped()) return;
  const bool own = handlers_ && std::ranges::any_of(handlers_->states, [state](const auto& one) {
                     return one->owned.object == state;
                   });
  if (!own) {
    throw std::logic_error("holdfast: the handler of the query '" + std::string(name) +
                           "' reads something that is no state of this execution; pass what "
                           "ctx.state<S>() returns");
  }
  register_query(name, std::move(code), state, 0);
}

// What the handler holds is the code's, and may do anything when it is destroyed.
void Execution::remove_handler(std::uint64_t number) noexcept {
  if (!handlers_) return;
  for (auto& [name, query] : handlers_->queries) {
    if (query.guard != number) continue;
    query.guard = 0;
    const auto gone = std::move(query.code);
    return;
  }
}

void* Execution::state(const std::type_info& type, detail::OwnedState (*make)()) {
  refuse_in_read_only("a state was asked for, which could be changed");
  if (!handlers_) handlers_ = std::make_unique<Handlers>();
  for (const auto& one : handlers_->states) {
    if (*one->type == type) return one->owned.object;
  }
  handlers_->states.push_back(std::make_unique<Handlers::State>(type, make()));
  return handlers_->states.back()->owned.object;
}

// ---- answers ----------------------------------------------------------------------------------------

Asked Execution::ask(std::string_view name, const Payload& arguments) {
  if (!begun_) {
    return {Unexpected(query_failure("query_not_started",
                                     "instance '" + identity_.instance + "' has not had its first turn"))};
  }
  if (name.starts_with(kOwnPrefix)) {
    if (std::optional<Payload> answer = built_in(name)) return {*std::move(answer)};
  }
  if (!handlers_) return {Unexpected(no_handler(name))};
  const auto found = handlers_->queries.find(name);
  if (found == handlers_->queries.end()) return {Unexpected(no_handler(name))};
  const Handlers::Query& query = found->second;
  if (!query.code || (end_ && query.state == nullptr)) {
    return {Unexpected(query_failure(
        "query_handler_gone", "the handler of the query '" + std::string(name) +
                                  "' is gone: its guard was destroyed, or the code has ended; a handler over "
                                  "ctx.state<S>() answers after the end too"))};
  }
  return call_handler(*query.code, query.state, name, arguments);
}

Asked Execution::call_handler(const detail::QueryCode& code, const void* state, std::string_view name,
                              const Payload& arguments) {
  read_only_ = &kInQuery;
  Asked asked{[&]() -> Result<Payload> {
    try {
      return code.ask(state, arguments);
    } catch (...) {
      return Unexpected(detail::failure_of(std::current_exception()));
    }
  }()};
  read_only_ = nullptr;
  if (auto dropped = take_drop_in_read_only(kInQuery.where)) {
    asked.answer = Unexpected(query_failure("read_only", dropped->what()));
    asked.spoiled = true;
  }
  const std::uint64_t limit = limits_ ? limits_->payload_bytes : 0;
  if (asked.answer && limit != 0 && asked.answer->bytes.size() > limit) {
    asked.answer =
        Unexpected(Failure{.category = Category::limit,
                           .type = "query_too_large",
                           .message = "the answer has " + std::to_string(asked.answer->bytes.size()) +
                                      " bytes, and may have " + std::to_string(limit),
                           .retryable = false});
  }
  if (!asked.answer) {
    asked.answer.error().source = "query " + std::string(name);
    detail::limit_details(asked.answer.error(), limit);
  }
  return asked;
}

std::optional<Payload> Execution::built_in(std::string_view name) const {
  if (name == "holdfast.status") return status_ ? *status_ : Payload{kJsonEncoding, "null"};
  const std::vector<detail::OpState*> open = end_ ? std::vector<detail::OpState*>() : open_.list();
  if (name == "holdfast.waits") {
    std::vector<QueryWait> waits;
    for (const detail::OpState* state : open) waits.push_back(wait_of(*state));
    return encode(waits);
  }
  if (name == "holdfast.queries") return encode(queries());
  if (name == "holdfast.stack") {
    std::vector<QueryStack> stacks;
    for (const detail::OpState* state : open) {
      const detail::Waiter* const waiter = state->waiters.front();
      const bool is_frame = waiter != nullptr && waiter->resume == &detail::FrameWaiter::resume_frame;
      stacks.push_back(
          {.wait = wait_of(*state),
           .frames = frames_from(is_frame ? static_cast<const detail::FrameWaiter*>(waiter) : nullptr)});
    }
    return encode(stacks);
  }
  return std::nullopt;
}

std::vector<std::string> Execution::queries() const {
  std::vector<std::string> names;
  if (!handlers_) return names;
  for (const auto& [name, query] : handlers_->queries) {
    if (query.code && (!end_ || query.state != nullptr)) names.push_back(name);
  }
  return names;
}

Failure Execution::no_handler(std::string_view name) const {
  constexpr std::size_t kShown = 20;
  std::string known = "holdfast.queries, holdfast.stack, holdfast.status, holdfast.waits";
  const std::vector<std::string> names = queries();
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) known += ", " + names[i];
  if (names.size() > kShown) known += " and " + std::to_string(names.size() - kShown) + " more";
  return query_failure("query_not_found", "'" + identity_.instance + "' answers no query '" +
                                              detail::failure_text(name) + "'; it answers: " + known);
}

}  // namespace holdfast::engine
