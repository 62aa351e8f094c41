#include "runtime/turn_committer.hpp"

#include <cstddef>
#include <utility>

namespace holdfast::runtime {

void TurnCommitter::commit(TurnBatch& batch) {
  if (batch.commits.empty()) return;
  const store::CommitRequest request{standing_.key(), &settings_.abilities, settings_.options.activity_lease};
  for (const store::TurnCommit& commit : batch.commits) {
    if (!commit.activities.empty()) desk_.expect(commit.activity_token);
  }
  const BootTime asked = settings_.now();  // leases of what is handed off begin with the commit
  auto answers = settings_.store->commit_turns(request, batch.commits);
  for (std::size_t i = 0; i < answers.size(); ++i)
    settling_.settle(batch.prepared[i], batch.commits[i], std::move(answers[i]), asked);
  batch.prepared.clear();
  batch.commits.clear();
}

}  // namespace holdfast::runtime
