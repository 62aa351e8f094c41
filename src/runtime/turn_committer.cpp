#include "runtime/turn_committer.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace holdfast::runtime {

void TurnCommitter::commit(TurnBatch& batch) {
  const std::span<store::TurnCommit> commits = batch.made();
  if (commits.empty()) return;
  const store::CommitRequest request{standing_.key(), &settings_.abilities, settings_.options.activity_lease};
  for (const store::TurnCommit& commit : commits) {
    if (!commit.activities.empty()) desk_.expect(commit.activity_token);
  }
  const BootTime asked = settings_.now();  // leases of what is handed off begin with the commit
  auto answers = settings_.store->commit_turns(request, commits);
  for (std::size_t i = 0; i < answers.size(); ++i)
    settling_.settle(batch.prepared[i], commits[i], std::move(answers[i]), asked);
  batch.prepared.clear();
}

}  // namespace holdfast::runtime
