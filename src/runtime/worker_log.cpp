#include "runtime/worker_log.hpp"

#include "base/moments.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::runtime {

void cut_texts(std::span<LogField> fields) noexcept {
  for (LogField& field : fields) {
    const auto* const text = std::get_if<std::string_view>(&field.value.variant());
    if (text != nullptr && text->size() > kMaxLogText) field.value = text->substr(0, kMaxLogText);
  }
}

WorkerLog::WorkerLog(std::shared_ptr<Logger> to, std::string worker, const Clock& clock)
    : Logger(to->clock()), to_(std::move(to)), worker_(std::move(worker)), clock_(clock) {}

// A record for which there is no memory is lost, as the interface says.
void WorkerLog::write(const LogRecord& record) noexcept try {
  std::optional<LeftOut> before;
  const bool admitted = admit(record, before);
  if (before) write(*before);
  if (admitted) write_named(record);
} catch (...) {
  return;
}

bool WorkerLog::admit(const LogRecord& record, std::optional<LeftOut>& before) {
  if (record.level == LogLevel::debug) return true;
  const MutexLock lock(mutex_);
  auto found = kinds_.find(record.message);
  if (found == kinds_.end()) found = kinds_.emplace(record.message, Kind{}).first;
  Kind& kind = found->second;
  const BootTime now = clock_.boot_now();
  if (kind.written == 0 || now >= after(kind.since, kWindow)) {
    if (kind.left_out > 0) before = LeftOut{kind.level, found->first, kind.left_out};
    kind = {.since = now};
  }
  kind.level = record.level;
  if (kind.written == kBurst) {
    ++kind.left_out;
    return false;
  }
  ++kind.written;
  return true;
}

void WorkerLog::tell_left_out() noexcept try { tell_left_out(false); } catch (...) {
  return;
}

void WorkerLog::close() noexcept try { tell_left_out(true); } catch (...) {
  return;
}

void WorkerLog::tell_left_out(bool all) {
  std::vector<LeftOut> left_out;
  {
    const MutexLock lock(mutex_);
    const BootTime now = clock_.boot_now();
    for (auto& [message, kind] : kinds_) {
      if (kind.left_out == 0 || (!all && now < after(kind.since, kWindow))) continue;
      left_out.push_back({kind.level, message, std::exchange(kind.left_out, 0)});
    }
  }
  for (const LeftOut& one : left_out) write(one);
}

void WorkerLog::write(const LeftOut& left_out) {
  if (!to_->enabled(left_out.level)) return;
  const std::array<LogField, 2> fields{{{"count", left_out.count}, {"message", left_out.message}}};
  write_named({left_out.level, clock().calendar_now(), "more lines of one kind were left out", fields});
}

void WorkerLog::write_named(const LogRecord& record) {
  std::vector<LogField> fields;
  fields.reserve(record.fields.size() + 1);
  fields.assign(record.fields.begin(), record.fields.end());
  cut_texts(fields);
  fields.push_back({"worker", worker_});
  to_->write({record.level, record.time, record.message, fields});
}

}  // namespace holdfast::runtime
