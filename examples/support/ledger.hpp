// Ledger: a file that stands for a system outside (a bank, a warehouse, a printer), which knows idempotency
// keys as such systems should.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

/// One effect. Its texts hold neither tabs nor newlines.
struct LedgerEntry {
  std::string key{};      ///< of the request that made it
  std::string action{};   ///< what was done: "charge_card"
  std::string subject{};  ///< to whom: "order-7"
  std::int64_t amount = 0;
  std::string note{};
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

using LedgerEntries = std::vector<LedgerEntry>;

/// The first entry of this action for this subject; null when there is none.
const LedgerEntry* find_entry(const LedgerEntries& entries, std::string_view action,
                              std::string_view subject);

/// Append-only, a line for each entry. Processes and threads may share a file; each call sees all entries
/// before it.
class Ledger {
 public:
  explicit Ledger(std::filesystem::path file) : file_(std::move(file)) {}

  /// The entry of this key. If there is none yet, `decide` makes it from the entries so far, or throws to
  /// refuse the request; it is on the disk when the call returns. A call that was cut off by a crash has
  /// either added its entry or left nothing.
  LedgerEntry add_once(const std::string& key,
                       const std::function<LedgerEntry(const LedgerEntries&)>& decide) const;
  [[nodiscard]] LedgerEntries entries() const;

 private:
  std::filesystem::path file_;
};

}  // namespace support
