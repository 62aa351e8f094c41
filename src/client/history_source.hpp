// What a HistoryReader reads from.
#pragma once

#include <holdfast/history_file.hpp>

#include <optional>
#include <string>

namespace holdfast::history {

/// The history of one execution as segments, which a reader has checked; for one thread at a time. Throws as
/// HistoryReader does.
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual const HistoryHeader& header() const noexcept = 0;
  /// Nothing behind the last one.
  virtual std::optional<std::string> next_segment() = 0;
  virtual bool next_history() = 0;
  /// Throws what is thrown for a segment whose events can't be decoded.
  [[noreturn]] virtual void refuse(const std::string& problem) const = 0;
};

}  // namespace holdfast::history
