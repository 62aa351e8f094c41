// Calls about all instances that match a filter.
#include "client/deleting.hpp"
#include "client/slices.hpp"

#include <holdfast/client.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

using Views = std::span<const store::InstanceView>;

const std::set<Status> kOpen{Status::running, Status::suspended, Status::parked};
const std::set<Status> kNotSuspended{Status::running, Status::parked};
const std::set<Status> kEnded{Status::completed, Status::failed, Status::cancelled, Status::terminated};

void note(BulkResult& result, const store::InstanceView& view, const std::optional<std::string>& why_not) {
  if (!why_not) {
    ++result.done;
    return;
  }
  ++result.refused;
  if (result.refusals.size() < BulkResult::kMaxRefusals) result.refusals.push_back({view.instance, *why_not});
}

void note(BulkResult& result, Views views, const client::Slices::Answers& answers) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    note(result, views[i], answers[i] ? std::nullopt : std::optional(answers[i].error().message));
  }
}

/// Passes over what has changed since the page was read, such as children that have ended with their parents:
/// the call can't be for them any more.
void note_if_still_possible(BulkResult& result, Views views, const client::Slices::Answers& answers) {
  using Kind = StoreError::Kind;
  static const std::set<Kind> kChanged{Kind::conflict, Kind::gone, Kind::not_found};
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (answers[i]) {
      note(result, views[i], std::nullopt);
    } else if (!kChanged.contains(answers[i].error().kind)) {
      note(result, views[i], answers[i].error().message);
    }
  }
}

/// Page after page, of instances that are older than `before` when that is set. The filter's statuses are
/// among those that the call can be for.
void for_all(detail::ClientCore& core, const ListFilter& filter, const std::set<Status>& possible,
             const std::function<void(Views)>& act, InstanceKey before = {}) {
  auto wanted = core.wanted(filter);
  if (!wanted) return;
  std::set<Status> statuses = possible;
  if (!wanted->statuses.empty())
    std::erase_if(statuses, [&](Status status) { return !wanted->statuses.contains(status); });
  if (statuses.empty()) return;
  wanted->statuses = std::move(statuses);
  wanted->order = {};
  if (before != InstanceKey{}) wanted->after = before;
  for (bool more = true; more;) {
    const store::InstancePage page = core.call([&] { return core.store().list(*wanted); });
    act(page.instances);
    more = page.next.has_value();
    wanted->after = page.next.value_or(InstanceKey{});
  }
}

client::Slices::Answers without_keys(const std::vector<StoreResult<InstanceKey>>& answers) {
  client::Slices::Answers plain;
  for (const auto& answer : answers)
    plain.push_back(answer ? StoreResult<void>() : Unexpected(answer.error()));
  return plain;
}

// Each item has a request of its own: the store knows what it has done.
bool never_in_doubt(const StoreError& /*refusal*/) { return false; }

using MessageFor = std::function<store::ClientMessage(const store::InstanceView&)>;

BulkResult tell_all(detail::ClientCore& core, const ListFilter& filter, const MessageFor& message_for) {
  BulkResult result;
  client::Slices slices(core);
  for_all(core, filter, kOpen, [&](Views views) {
    std::vector<store::ClientMessage> messages;
    for (const store::InstanceView& view : views) messages.push_back(message_for(view));
    const auto ask = [&](std::size_t first, std::size_t count) {
      return without_keys(core.store().send(std::span(messages).subspan(first, count)));
    };
    note_if_still_possible(result, views, slices.ask(views.size(), ask, never_in_doubt));
  });
  return result;
}

BulkResult set_all_suspended(detail::ClientCore& core, const ListFilter& filter, bool resume) {
  BulkResult result;
  client::Slices slices(core);
  for_all(core, filter, resume ? std::set{Status::suspended} : kNotSuspended, [&](Views views) {
    std::vector<store::Suspension> wishes;
    for (const store::InstanceView& view : views)
      wishes.push_back(core.suspension_of(view.instance, view.key, resume));
    const auto ask = [&](std::size_t first, std::size_t count) {
      return without_keys(core.store().set_suspended(std::span(wishes).subspan(first, count)));
    };
    note_if_still_possible(result, views, slices.ask(views.size(), ask, never_in_doubt));
  });
  return result;
}

/// Instances of one page. `left` gets those that their parents wait for: these may be deleted, too.
class BulkDeletion {
 public:
  BulkDeletion(detail::ClientCore& core, const DeleteOptions& options)
      : deleting_(core, options), options_(options) {}

  void remove(Views views, BulkResult& result) {
    const auto awaited =
        options_.force ? deleting_.awaited(views) : std::vector<std::optional<std::string>>(views.size());
    std::vector<store::InstanceView> free;
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (awaited[i]) {
        note(result, views[i], awaited[i]);
        ++awaited_;
      } else {
        free.push_back(views[i]);
      }
    }
    if (options_.cascade) {
      for (const store::InstanceView& view : free) note(result, view, refusal_of_tree(view));
    } else {
      note(result, free, deleting_.remove(free));
    }
  }
  [[nodiscard]] bool any_awaited() const noexcept { return awaited_ > 0; }

 private:
  std::optional<std::string> refusal_of_tree(const store::InstanceView& root) {
    try {
      deleting_.remove_tree(root);
      return std::nullopt;
    } catch (const ClientError& error) {
      if (error.kind() == ClientError::Kind::unavailable) throw;
      return error.failure().message;
    }
  }

  client::Deleting deleting_;
  DeleteOptions options_;
  std::uint64_t awaited_ = 0;
};

}  // namespace

BulkResult Client::cancel_all(const ListFilter& filter, std::string_view reason) const {
  return tell_all(*core_, filter, [&](const store::InstanceView& view) {
    return core_->cancel_of(view.instance, view.key, {}, reason).front();
  });
}

BulkResult Client::terminate_all(const ListFilter& filter, std::string_view reason) const {
  return tell_all(*core_, filter, [&](const store::InstanceView& view) {
    return core_->terminate_of(view.instance, view.key, reason).front();
  });
}

BulkResult Client::suspend_all(const ListFilter& filter) const {
  return set_all_suspended(*core_, filter, false);
}

BulkResult Client::resume_all(const ListFilter& filter) const {
  return set_all_suspended(*core_, filter, true);
}

// Children are newer than those who wait for them, and so come first: as long as parents go, children that
// nobody waits for any more may be left. What is started meanwhile is newer than the first one of the first
// page, and is left alone: it might be started for ever.
BulkResult Client::delete_all(const ListFilter& filter, DeleteOptions options) const {
  std::set<Status> possible = kEnded;
  if (options.force) possible.insert(kOpen.begin(), kOpen.end());
  std::uint64_t done = 0;
  InstanceKey before{};
  for (;;) {
    BulkResult result;
    BulkDeletion deletion(*core_, options);
    const auto remove = [&](Views views) {
      if (before == InstanceKey{} && !views.empty()) before = {views.front().key.value + 1};
      deletion.remove(views, result);
    };
    for_all(*core_, filter, possible, remove, before);
    const bool went_on = result.done > 0;
    result.done += done;
    done = result.done;
    if (!went_on || !deletion.any_awaited()) return result;
  }
}

}  // namespace holdfast
