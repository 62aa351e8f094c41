// Frame: the frames of one execution, which are destroyed where they live.
#pragma once

#include "engine/execution.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace holdfast::runtime {

class FrameHome;

/// Destroys a frame in place, or leaves that to its home.
struct FrameDeleter {
  void operator()(engine::Execution* frame) const noexcept {
    if (home) {
      bury(frame);
    } else {
      delete frame;
    }
  }

  std::shared_ptr<FrameHome> home{};  ///< null: it lives in whichever thread runs its turns

 private:
  void bury(engine::Execution* frame) const noexcept;
};

/// Letting go of one may run code of the user: no mutex is held then.
using Frame = std::unique_ptr<engine::Execution, FrameDeleter>;

/// One that lives in place.
inline Frame make_frame(engine::Identity identity, std::shared_ptr<const detail::OrchestrationCode> code) {
  return Frame(new engine::Execution(std::move(identity), std::move(code)));
}

/// Frames that live elsewhere and are let go of together: their homes are told once each. One thread.
class FrameBurial {
 public:
  FrameBurial() = default;
  ~FrameBurial();
  FrameBurial(const FrameBurial&) = delete;
  FrameBurial& operator=(const FrameBurial&) = delete;

  /// A frame that lives in place stays where it is.
  void take(Frame& frame) {
    if (frame && frame.get_deleter().home) add(std::move(frame));
  }

 private:
  void add(Frame&& frame);

  std::vector<std::pair<std::shared_ptr<FrameHome>, std::vector<engine::Execution*>>> frames_;
};

}  // namespace holdfast::runtime
