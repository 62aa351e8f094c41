// Lives of instances: how they begin.
#include "clients.hpp"
#include "requests.hpp"

#include <utility>

namespace holdfast::sqlite_store {
namespace {

template <class TokenType>
std::optional<TokenType> or_null(TokenType token) {
  return token.empty() ? std::nullopt : std::optional(token);
}

void deliver_early(Transaction& tx, Instance& instance) {
  struct Early {
    LeaseTime visible = 0;
    LeaseTime until = 0;
    store::NewMessage message{};
  };
  if (!tx.memo.nothing_early) {
    Cursor row = tx.rows(tx.sql.any_early);
    tx.memo.nothing_early = !row.next();
  }
  if (*tx.memo.nothing_early) return;
  std::vector<Early> early;
  for (Cursor row = tx.rows(tx.sql.early_of, tx.ns, instance.name); row.next();) {
    early.push_back({row->int64(0), row->int64(1), read_new_message(row, 2)});
  }
  if (early.empty()) return;
  tx.run(tx.sql.drop_early, tx.ns, instance.name);
  for (const auto& [visible, until, message] : early) {
    if (until <= tx.now) continue;
    if (visible > tx.now) {
      deliver_at(tx, instance.key, visible, letter(message));
    } else {
      deliver(tx, instance, letter(message));
    }
  }
}

}  // namespace

std::optional<InstanceKey> create_instance(Transaction& tx, const Birth& birth) {
  const std::int64_t route = tx.route_number(*birth.code, 0);
  const InstanceKey key{tx.counters().instances + 1};
  const bool ready = birth.delay <= Duration::zero();
  const auto place = ready ? std::optional(tx.now) : std::nullopt;
  const bool in_row = ready && fits_row(birth.body);
  const auto start_id = in_row ? std::optional(tx.counters().messages + 1) : std::nullopt;
  const auto start_body = in_row ? std::optional(Blob{birth.body}) : std::nullopt;
  const auto parent = birth.parent == InstanceKey{} ? std::nullopt : std::optional(birth.parent);
  if (tx.change(tx.sql.insert_instance, key, tx.ns, birth.name, route, place, to_row(tx.calendar_now),
                or_null(birth.request), or_null(birth.fingerprint), parent, start_id, start_body) == 0) {
    return std::nullopt;
  }
  tx.counters().instances = key.value;
  Instance& instance = tx.memo.instances.put({.key = key,
                                              .ns = tx.ns,
                                              .name = std::string(birth.name),
                                              .route = route,
                                              .execution = {1},
                                              .ready_at = place,
                                              .updated_at = tx.calendar_now,
                                              .last_stamp = TurnStamp{},
                                              .messages = std::vector<store::Message>{},
                                              .running = std::vector<RunningActivity>{},
                                              .bare = true});
  if (ready) {
    // The instance's row was written with its place already.
    tx.run(tx.sql.insert_ready, route, tx.now, key);
    deliver_start(tx, instance, tx.next_message(), birth.body);
  } else {
    deliver_at(tx, key, later(tx.now, birth.delay),
               {.kind = store::MessageKind::start, .execution = ExecutionNumber{1}, .body = birth.body});
  }
  deliver_early(tx, instance);
  return key;
}

namespace {

struct FormerLife {
  InstanceKey key{};
  store::InstanceStatus status{};
  RequestId request{};
  Fingerprint fingerprint{};
};

std::optional<FormerLife> former_life(Transaction& tx, std::string_view name) {
  Cursor row = tx.rows(tx.sql.former_life, tx.ns, name);
  if (!row.next()) return std::nullopt;
  return FormerLife{.key = row->number<InstanceKey>(0),
                    .status = static_cast<store::InstanceStatus>(row->integer(1)),
                    .request = row->token<RequestId>(2),
                    .fingerprint = row->token<Fingerprint>(3)};
}

bool may_begin_anew(store::InstanceStatus former, Reuse reuse) {
  if (reuse == Reuse::never || !has_ended(former)) return false;
  return reuse == Reuse::after_end || former != store::InstanceStatus::completed;
}

}  // namespace

StoreResult<store::StartAnswer> start(Transaction& tx, const store::StartRequest& request) {
  const Birth birth{.name = request.instance,
                    .code = &request.code,
                    .body = request.body,
                    .request = request.request,
                    .fingerprint = request.fingerprint,
                    .delay = request.delay};
  if (const auto key = answer_of(tx, request.request)) return store::StartAnswer{*key, false};
  if (const auto key = create_instance(tx, birth)) return store::StartAnswer{*key, true};
  const std::optional<FormerLife> former = former_life(tx, request.instance);
  const store::StartAnswer there{former->key, false};
  if (!request.request.empty() && request.request == former->request) return there;
  if (may_begin_anew(former->status, request.reuse)) {
    remove_instance(tx, former->key);
    return store::StartAnswer{*create_instance(tx, birth), true};
  }
  if (request.fingerprint == former->fingerprint) {
    remember_request(tx, request.request, there.key);
    return there;
  }
  return Unexpected(
      store_error(StoreError::Kind::conflict,
                  "instance '" + request.instance +
                      "' exists, and was started with another orchestration, version or input"));
}

}  // namespace holdfast::sqlite_store
