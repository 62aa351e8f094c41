// Waiting for a word of memory to change, for threads of one process.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace holdfast::store {

/// Returns when woken, when the word is not `seen` any more, or for no reason at all.
inline void futex_wait_here(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

/// For one thread. The word itself is not looked at: it may be gone.
inline void futex_wake_here(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace holdfast::store
