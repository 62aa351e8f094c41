#include "wal_limit.hpp"

namespace holdfast::sqlite_store {

namespace {

constexpr std::uint64_t kFrameHeader = 24;

}  // namespace

WalLimit::WalLimit(Connection& writer, std::uint64_t limit_bytes, std::chrono::milliseconds busy_timeout,
                   Logger* logger)
    : writer_(writer),
      frame_bytes_(static_cast<std::uint64_t>(writer.int64_of("PRAGMA page_size")) + kFrameHeader),
      limit_bytes_(limit_bytes),
      busy_timeout_(busy_timeout),
      logger_(logger) {
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
  if (frames < tried_at_) tried_at_ = 0;  // it has begun anew
  frames_ = frames;
}

bool WalLimit::is_over() const noexcept {
  return static_cast<std::uint64_t>(frames_) * frame_bytes_ > limit_bytes_;
}

bool WalLimit::is_due() const noexcept {
  return frames_ - tried_at_ >= kFramesBetween || (is_over() && tried_at_ == 0);
}

void WalLimit::after_batch() noexcept {
  if (!is_due()) return;
  tried_at_ = frames_;
  if (is_over()) {
    empty();
  } else {
    move();
  }
}

void WalLimit::move() noexcept {
  sqlite3_wal_checkpoint_v2(writer_.get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void WalLimit::empty() noexcept {
  sqlite3_busy_timeout(writer_.get(), static_cast<int>(kWaitForReaders.count()));
  const int result =
      sqlite3_wal_checkpoint_v2(writer_.get(), "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  sqlite3_busy_timeout(writer_.get(), static_cast<int>(busy_timeout_.count()));
  if (result == SQLITE_OK) {
    frames_ = tried_at_ = 0;
    complained_ = false;
  } else if (!complained_ && logger_ != nullptr) {
    complained_ = true;
    log(*logger_, LogLevel::warn,
        "the write-ahead log is over its limit and can't be emptied; does somebody keep the file open for "
        "reading?",
        {{"bytes", static_cast<std::uint64_t>(frames_) * frame_bytes_},
         {"limit", limit_bytes_},
         {"reason", sqlite3_errstr(result)}});
  }
}

}  // namespace holdfast::sqlite_store
