// Execution, the part that tells the code which patches to take. In a new turn it takes each that it asks
// for, and history says so; on replay it takes those that history has where it asks.
#include "engine/execution.hpp"

#include <holdfast/detail/names.hpp>

#include <utility>

namespace holdfast::engine {

namespace {

/// More are ids that are made of data, each an event of history.
constexpr std::size_t kMaxPatches = 1000;

}  // namespace

bool Execution::patched(std::string_view id) {
  refuse_in_read_only("ctx.patched() was called");
  return ask_for_patch(id);
}

void Execution::deprecate_patch(std::string_view id) {
  refuse_in_read_only("ctx.deprecate_patch() was called");
  if (ask_for_patch(id) || stopped() || !patches_->missed.empty()) return;
  patches_->missed = id;
}

bool Execution::ask_for_patch(std::string_view id) {
  if (patches_) {
    const auto asked = patches_->answers.find(id);
    if (asked != patches_->answers.end()) return asked->second;
  }
  if (stopped()) return false;
  std::string name = detail::checked_name("a patch", id);
  if (patches_ && patches_->taken == kMaxPatches) {
    throw LimitError(Failure{
        .category = Category::limit,
        .type = "too_many_patches",
        .message = "an execution may take " + std::to_string(kMaxPatches) + " patches, and asks for '" +
                   name + "' as well; name a patch after the change of the code, not after data",
        .retryable = false});
  }
  bool taken = true;
  if (replaying()) {
    taken = match_patch(name);
    if (stopped()) return false;
  } else {
    live_->writer.add(history::Patched{name});
    live_->outcome.patches.push_back(name);
  }
  Patches& patches = patches_.ensure();
  if (taken) ++patches.taken;
  patches.answers.emplace(std::move(name), taken);
  return taken;
}

// History has it where the code did not ask for it.
std::string Execution::hint_about_patch(const std::string& id) const {
  const std::string call = "(\"" + id + "\")";
  if (patches_ && patches_->answers.contains(id)) {
    return "The code asks for this patch at another place than it did then: call patched" + call +
           " where it was first called.";
  }
  return "The code no longer asks for this patch: call deprecate_patch" + call + " where it called patched" +
         call + ", for as long as a running instance has the patch in its history.";
}

// Code may have lost the way that this execution went.
std::string Execution::hint_about_patches() const {
  if (!patches_ || patches_->missed.empty()) return {};
  return " This execution did not take the patch '" + patches_->missed +
         "', which the code has deprecated: call patched(\"" + patches_->missed +
         "\") and keep the way without it, for as long as such an instance runs.";
}

}  // namespace holdfast::engine
