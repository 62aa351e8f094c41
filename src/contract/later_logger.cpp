#include "contract/later_logger.hpp"

#include <string_view>
#include <utility>
#include <variant>

namespace holdfast::store {

// What there is no memory for is lost, as with every logger.
void LaterLogger::write(const LogRecord& record) noexcept try {
  if (to_ == nullptr) return;
  Kept kept{.level = record.level, .time = record.time};
  kept.texts.reserve(1 + 2 * record.fields.size());  // so that nothing of it moves
  const auto keep = [&](std::string_view text) -> std::string_view { return kept.texts.emplace_back(text); };
  keep(record.message);
  for (const LogField& field : record.fields) {
    const std::string_view key = keep(field.key);
    const auto* const text = std::get_if<std::string_view>(&field.value.variant());
    kept.fields.push_back({key, text != nullptr ? LogValue(keep(*text)) : field.value});
  }
  const MutexLock lock(mutex_);
  kept_.push_back(std::move(kept));
  any_.store(true, std::memory_order_release);
} catch (...) {
}

void LaterLogger::say_kept() noexcept {
  std::vector<Kept> kept;
  {
    const MutexLock lock(mutex_);
    kept.swap(kept_);
    any_.store(false, std::memory_order_relaxed);
  }
  for (const Kept& one : kept) {
    if (to_->enabled(one.level)) to_->write({one.level, one.time, one.texts.front(), one.fields});
  }
}

}  // namespace holdfast::store
