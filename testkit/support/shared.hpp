// Memory that a test shares with the processes that it starts.
#pragma once

#include <sys/mman.h>

#include <new>

namespace holdfast::support {

/// Made before the processes are started. T consists of atomics.
template <class T>
class Shared {
 public:
  Shared()
      : value_(new(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) T{}) {
  }
  ~Shared() { munmap(value_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

}  // namespace holdfast::support
