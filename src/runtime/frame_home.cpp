#include "runtime/frame_home.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::runtime {

namespace {

// Frames that will never be destroyed stay where a checker of leaks sees that nobody has lost them.
void keep_for_ever(const std::vector<engine::Execution*>& frames) {
  static Mutex mutex;
  static auto* const kept = new std::vector<engine::Execution*>;
  const MutexLock lock(mutex);
  kept->insert(kept->end(), frames.begin(), frames.end());
}

}  // namespace

void FrameDeleter::bury(engine::Execution* frame) const noexcept { home->bury({frame}); }

FrameBurial::~FrameBurial() {
  for (auto& [home, frames] : frames_) home->bury(std::move(frames));
}

void FrameBurial::add(Frame&& frame) {
  const std::shared_ptr<FrameHome> home = frame.get_deleter().home;
  auto found = std::ranges::find_if(frames_, [&](const auto& one) { return one.first == home; });
  if (found == frames_.end()) {
    frames_.push_back({home, {}});
    found = std::prev(frames_.end());
  }
  found->second.push_back(frame.release());
}

FrameHome::~FrameHome() { leave_behind(std::move(doomed_)); }

Frame FrameHome::make(engine::Identity identity, std::shared_ptr<const detail::OrchestrationCode> code) {
  Frame frame(new engine::Execution(std::move(identity), std::move(code)),
              FrameDeleter{.home = shared_from_this()});
  ++frames_;
  return frame;
}

bool FrameHome::post(std::function<void()> work) {
  if (gone_) return false;
  if (executor_.post(std::move(work))) return true;
  gone_ = true;
  return false;
}

void FrameHome::bury(std::vector<engine::Execution*> frames) {
  {
    const MutexLock lock(mutex_);
    doomed_.insert(doomed_.end(), frames.begin(), frames.end());
    if (burials_ > 0) return;
    ++burials_;
  }
  if (post([self = shared_from_this()] { self->bury_all(); })) return;
  std::vector<engine::Execution*> left;
  {
    const MutexLock lock(mutex_);
    --burials_;
    left = std::exchange(doomed_, {});
  }
  leave_behind(std::move(left));
}

FrameHome::Visit::Visit(FrameHome& home) : home_(home) {
  const MutexLock lock(home_.mutex_);
  ++home_.burials_;
}

void FrameHome::bury_all() {
  std::vector<engine::Execution*> frames;
  {
    const MutexLock lock(mutex_);
    --burials_;
    frames = std::exchange(doomed_, {});
  }
  for (const engine::Execution* frame : frames) {
    delete frame;
    --frames_;
  }
}

void FrameHome::leave_behind(std::vector<engine::Execution*>&& frames) {
  keep_for_ever(frames);
  left_behind_ += frames.size();
  frames_ -= frames.size();
}

}  // namespace holdfast::runtime
