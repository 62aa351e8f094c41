#include "wal_limit.hpp"

#include <utility>

namespace holdfast::sqlite_store {

namespace {

constexpr std::uint64_t kFrameHeader = 24;

}  // namespace

WalLimit::WalLimit(Connection& writer, LogTrust& trust, Options options)
    : writer_(writer),
      trust_(trust),
      frame_bytes_(static_cast<std::uint64_t>(writer.int64_of("PRAGMA page_size")) + kFrameHeader),
      options_(std::move(options)) {
  sqlite3_wal_hook(
      writer.get(),
      [](void* self, sqlite3*, const char*, int frames) {
        static_cast<WalLimit*>(self)->note(frames);
        return SQLITE_OK;
      },
      this);
}

WalLimit::~WalLimit() { sqlite3_wal_hook(writer_.get(), nullptr, nullptr); }

void WalLimit::note(int frames) noexcept {
  if (frames < frames_) tried_at_ = looked_at_ = 0;  // it has begun anew
  frames_ = frames;
  if (frames_ - looked_at_ < kFramesBetweenLooks || !options_.room) return;
  looked_at_ = frames_;
  short_of_room_ = bytes() > options_.room() / kPartOfRoom;
}

bool WalLimit::is_due() const noexcept {
  if (trust_.is_in_doubt()) return false;
  return short_of_room_ || frames_ - tried_at_ >= kFramesBetween || (is_over() && tried_at_ == 0);
}

void WalLimit::after_batch() noexcept {
  if (!is_due()) return;
  tried_at_ = frames_;
  if (std::exchange(short_of_room_, false) || is_over()) {
    empty_log();
  } else {
    move();
  }
}

bool WalLimit::make_room() noexcept { return !trust_.is_in_doubt() && empty_log(); }

int WalLimit::checkpoint(int mode) noexcept {
  const int code = sqlite3_wal_checkpoint_v2(writer_.get(), "main", mode, nullptr, nullptr);
  trust_.note(code);
  return code;
}

void WalLimit::move() noexcept { checkpoint(SQLITE_CHECKPOINT_PASSIVE); }

bool WalLimit::empty_log() noexcept {
  sqlite3_busy_timeout(writer_.get(), static_cast<int>(kWaitForReaders.count()));
  const int code = checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
  sqlite3_busy_timeout(writer_.get(), static_cast<int>(options_.busy_timeout.count()));
  if (code == SQLITE_OK) {
    frames_ = tried_at_ = looked_at_ = 0;
    complained_ = false;
  } else if (is_over()) {
    complain(code);
  }
  return code == SQLITE_OK;
}

void WalLimit::complain(int code) noexcept {
  if (options_.logger == nullptr || std::exchange(complained_, true)) return;
  log(*options_.logger, LogLevel::warn,
      "the write-ahead log is over its limit and can't be emptied; does somebody keep the file open for "
      "reading?",
      {{"bytes", bytes()}, {"limit", options_.limit_bytes}, {"reason", sqlite3_errstr(code)}});
}

}  // namespace holdfast::sqlite_store
