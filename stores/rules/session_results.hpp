// What the answer of an activity does to its session: saves its state, or declares it unusable. Only while
// the generation that the activity ran in is the current one.
#pragma once

#include "transaction.hpp"

#include <optional>
#include <string>

namespace holdfast::rules {

/// Made before the activity's row changes, applied afterwards.
class SessionResults {
 public:
  SessionResults(const Activity& activity, const std::optional<SessionSave>& save,
                 const std::optional<std::string>& abort);
  /// Whether the answer counts: not without a save that it requires, unless its session has ended under it.
  [[nodiscard]] bool counts(const Transaction& tx) const;
  void apply(Transaction& tx) const;

 private:
  std::optional<std::string> session_;
  WorkerKey worker_;
  Generation generation_;
  bool session_over_;
  const std::optional<SessionSave>& save_;
  const std::optional<std::string>& abort_;
};

}  // namespace holdfast::rules
