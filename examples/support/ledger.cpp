#include "ledger.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace support {

namespace {

/// The open file, locked against all others.
class LockedFile {
 public:
  explicit LockedFile(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (fd_ < 0) fail("can't open the ledger " + path.string());
    while (flock(fd_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      close(fd_);
      throw std::system_error(error, std::generic_category(), "can't lock the ledger " + path.string());
    }
  }
  ~LockedFile() { close(fd_); }  // and so the lock is gone
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  [[nodiscard]] std::string read_all() const {
    std::string text;
    std::array<char, 16384> part{};
    for (;;) {
      const ssize_t got = pread(fd_, part.data(), part.size(), static_cast<off_t>(text.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("can't read the ledger");
      if (got == 0) return text;
      text.append(part.data(), static_cast<std::size_t>(got));
    }
  }
  void cut_at(std::size_t size) const {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) fail("can't repair the ledger");
  }
  void append(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = write(fd_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("can't write to the ledger");
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (fdatasync(fd_) != 0) fail("can't write to the ledger");
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
  }
  int fd_;
};

std::string to_line(const LedgerEntry& entry) {
  for (const std::string* text : {&entry.key, &entry.action, &entry.subject, &entry.note}) {
    if (text->find_first_of("\t\n") != std::string::npos) {
      throw std::invalid_argument("an entry of a ledger holds neither tabs nor newlines");
    }
  }
  return entry.key + "\t" + entry.action + "\t" + entry.subject + "\t" + std::to_string(entry.amount) + "\t" +
         entry.note + "\n";
}

LedgerEntry from_line(std::string_view line) {
  std::array<std::string_view, 5> fields;
  for (std::size_t i = 0; i + 1 < fields.size(); ++i) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) throw std::runtime_error("the ledger has a line that is no entry");
    fields[i] = line.substr(0, tab);
    line.remove_prefix(tab + 1);
  }
  fields.back() = line;
  LedgerEntry entry{.key = std::string(fields[0]),
                    .action = std::string(fields[1]),
                    .subject = std::string(fields[2]),
                    .amount = 0,
                    .note = std::string(fields[4])};
  std::from_chars(fields[3].data(), fields[3].data() + fields[3].size(), entry.amount);
  return entry;
}

LedgerEntries parse(std::string_view text) {
  LedgerEntries entries;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    entries.push_back(from_line(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return entries;
}

/// The entries of a file. A crash may have cut off the last line; such an entry was never acknowledged.
LedgerEntries load(const LockedFile& file) {
  std::string text = file.read_all();
  const std::size_t whole = text.rfind('\n') + 1;  // 0 when there is no line
  if (whole != text.size()) file.cut_at(whole);
  text.resize(whole);
  return parse(text);
}

}  // namespace

const LedgerEntry* find_entry(const LedgerEntries& entries, std::string_view action,
                              std::string_view subject) {
  const auto found = std::ranges::find_if(
      entries, [&](const LedgerEntry& entry) { return entry.action == action && entry.subject == subject; });
  return found == entries.end() ? nullptr : &*found;
}

LedgerEntry Ledger::add_once(const std::string& key,
                             const std::function<LedgerEntry(const LedgerEntries&)>& decide) const {
  const LockedFile file(file_);
  const LedgerEntries entries = load(file);
  const auto known = std::ranges::find(entries, key, &LedgerEntry::key);
  if (known != entries.end()) return *known;
  LedgerEntry entry = decide(entries);
  entry.key = key;
  file.append(to_line(entry));
  return entry;
}

LedgerEntries Ledger::entries() const { return load(LockedFile(file_)); }

}  // namespace support
