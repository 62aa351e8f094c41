// The life of an instance: its beginning, its end, and its removal.
#pragma once

#include "transaction.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::rules {

struct Birth {
  const std::string& id;
  const CodeVersion& code;
  InstanceKey parent{};
  RequestId request{};
  Fingerprint fingerprint{};
  std::vector<Attribute> attributes{};
};

/// Makes the row. The start message comes next, then deliver_early().
Instance& create(Transaction& tx, const Birth& birth);
/// What was sent to the id before it existed.
void deliver_early(Transaction& tx, Instance& instance);

/// Takes the activities and timers of its execution away.
void end_execution(Transaction& tx, Instance& instance, CancelReason reason);
/// Ends it. The row is not placed by this.
void end(Transaction& tx, Instance& instance, const InstanceEnd& how);
/// Begins its next execution. The row is not placed by this.
void continue_as_new(Transaction& tx, Instance& instance, const NextExecution& next);
/// Removes it and all that belongs to it.
void remove(Transaction& tx, Instance& instance);

/// The request took effect: whoever repeats it is answered the same. Does nothing for no request.
void remember(Transaction& tx, RequestId request, InstanceKey answer);
/// What the request was answered when it took effect, if it did. Asked by those who have locked what it is
/// about: the same request in another transaction has either taken effect, or has to wait.
std::optional<InstanceKey> answer_of(const Transaction& tx, RequestId request);
/// Why a client can't tell it anything: this is another life of its id than is meant, or has ended.
std::optional<StoreError> refusal(const Instance& instance, InstanceKey life);

/// Takes note of it: instances are counted by status.
void set_status(Transaction& tx, Instance& instance, InstanceStatus status);
/// What people see of its status has changed.
void touch(Transaction& tx, Instance& instance);

}  // namespace holdfast::rules
