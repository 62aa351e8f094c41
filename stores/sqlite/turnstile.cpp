#include "turnstile.hpp"

#include "futex.hpp"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>

namespace holdfast::sqlite_store {

namespace {

// Behind all bytes that are read or written; locks need no bytes to be there.
constexpr off_t kFirstTicket = 1 << 20;

struct flock byte_of(std::uint32_t ticket, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = kFirstTicket + off_t{ticket};
  lock.l_len = 1;
  return lock;
}

bool set_lock(int file, std::uint32_t ticket, short type) {
  struct flock lock = byte_of(ticket, type);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

bool is_free(int file, std::uint32_t ticket) {
  struct flock lock = byte_of(ticket, F_WRLCK);
  return ::fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK;
}

/// Locks the byte of the next ticket, and only then draws that ticket: who comes next looks for a byte that
/// is locked already. Empty when the file can't be locked.
std::optional<std::uint32_t> draw_ticket(SharedPage& page) {
  std::atomic<std::uint32_t>& tickets = page.words().tickets;
  for (;;) {
    const std::uint32_t next = tickets.load();
    const bool locked = set_lock(page.file(), next, F_WRLCK);
    if (!locked && errno != EAGAIN && errno != EACCES) return std::nullopt;
    // Where another one has the lock, its ticket is drawn for it: it may have been stopped in between. It
    // then sees that, and queues again.
    std::uint32_t expected = next;
    const bool drawn = tickets.compare_exchange_strong(expected, next + 1);
    if (locked && drawn) return next;
    if (locked) set_lock(page.file(), next, F_UNLCK);
  }
}

}  // namespace

void Turnstile::enter(std::chrono::milliseconds at_most) {
  side_file_.look_after();
  auto page = side_file_.page();
  if (page->file() < 0) return;
  const std::optional<std::uint32_t> drawn = draw_ticket(*page);
  if (!drawn) return;
  ticket_ = *drawn;
  page_ = std::move(page);
  if (!is_free(page_->file(), ticket_ - 1)) wait_for(ticket_ - 1, at_most);
}

void Turnstile::wait_for(std::uint32_t ticket, std::chrono::milliseconds at_most) {
  using Time = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kLongestSleep{10'000};  // whoever crashes wakes nobody
  SharedWords& words = page_->words();
  const auto end = Time::now() + at_most;
  auto progress = Time::now();
  std::chrono::microseconds sleep{500};
  words.turn_waiters.fetch_add(1);
  std::uint32_t turns = words.turns.load();
  while (!is_free(page_->file(), ticket)) {
    futex_wait(words.turns, turns, sleep);
    sleep = std::min(sleep * 2, kLongestSleep);
    const auto now = Time::now();
    if (const std::uint32_t seen = words.turns.load(); seen != turns) {
      turns = seen;
      progress = now;
    }
    if (now >= end || now - progress >= patience_) break;
  }
  words.turn_waiters.fetch_sub(1);
}

void Turnstile::leave() noexcept {
  if (page_ == nullptr) return;
  set_lock(page_->file(), ticket_, F_UNLCK);
  SharedWords& words = page_->words();
  words.turns.fetch_add(1);
  if (words.turn_waiters.load() != 0) futex_wake_all(words.turns);
  page_.reset();
}

}  // namespace holdfast::sqlite_store
