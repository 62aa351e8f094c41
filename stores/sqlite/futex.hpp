// Waiting for a word of shared memory to change, also between processes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace holdfast::sqlite_store {

/// Returns when woken, when the word is not `seen` any more, after `at_most`, or for no reason at all.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                       std::chrono::microseconds at_most) {
  timespec timeout{};
  timeout.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(at_most).count();
  timeout.tv_nsec = std::chrono::nanoseconds(at_most % std::chrono::seconds{1}).count();
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace holdfast::sqlite_store
