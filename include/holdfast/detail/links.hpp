// Intrusive lists. A link takes itself out of its list when it is destroyed, so a frame that is destroyed
// while it waits leaves nothing behind that could resume it.
#pragma once

namespace holdfast::detail {

class Link {
 public:
  Link() noexcept = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { unlink(); }

  [[nodiscard]] bool linked() const noexcept { return next_ != this; }
  void unlink() noexcept {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }

 private:
  template <class T>
  friend class LinkList;
  Link* previous_ = this;
  Link* next_ = this;
};

/// A list of T, each derived from Link. It owns nothing.
template <class T>
class LinkList {
 public:
  [[nodiscard]] bool empty() const noexcept { return !head_.linked(); }
  [[nodiscard]] T* front() const noexcept { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  template <class Predicate>
  [[nodiscard]] bool any(Predicate holds) const {
    for (const Link* link = head_.next_; link != &head_; link = link->next_) {
      if (holds(static_cast<const T&>(*link))) return true;
    }
    return false;
  }
  void push_back(T& item) noexcept {
    Link& link = item;
    link.unlink();
    link.previous_ = head_.previous_;
    link.next_ = &head_;
    head_.previous_->next_ = &link;
    head_.previous_ = &link;
  }

 private:
  Link head_;
};

}  // namespace holdfast::detail
