#include "client/slices.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::client {

Slices::Answers Slices::ask(std::size_t count, const Ask& ask, const WasDone& was_done) {
  Answers answers;
  while (answers.size() < count) {
    const std::size_t end = std::min(answers.size() + size_, count);
    bool in_doubt = false;
    core_.call([&]() -> StoreResult<void> {
      const BootTime begin = core_.store().clock().boot_now();
      // What has an answer keeps it: only the rest is asked again.
      Answers now = ask(answers.size(), end - answers.size());
      note(now.size(), core_.store().clock().boot_now() - begin);
      for (StoreResult<void>& answer : now) {
        if (!answer && may_pass(answer.error())) {
          in_doubt = true;
          return Unexpected(answer.error());
        }
        const bool done = !answer && in_doubt && was_done(answer.error());
        answers.push_back(done ? StoreResult<void>() : std::move(answer));
      }
      return {};
    });
  }
  return answers;
}

void Slices::note(std::size_t count, Duration took) {
  const auto wanted = kWanted.count();
  const auto fits = took <= Duration{}
                        ? 2 * count
                        : count * static_cast<std::size_t>(wanted) / static_cast<std::size_t>(took.count());
  // One slow answer, such as the first on a cold disk, says little of the next.
  size_ = std::clamp<std::size_t>(fits, std::max<std::size_t>(size_ / 4, 1), std::min(2 * size_, kLargest));
}

}  // namespace holdfast::client
