// Journal: what a client was about to do and what was acknowledged, on disk, so that it outlives the client.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast::torture {

/// Each line is written before anything else happens, so a kill loses none. One process at a time.
class Journal {
 public:
  /// Reads what is there.
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void begin_life();
  void will_call(std::uint64_t plan, int call);
  void did_call(std::uint64_t plan, int call);
  void ended(std::uint64_t plan);

  [[nodiscard]] std::uint64_t lives() const noexcept { return lives_; }
  /// The number of the first plan that nothing was done for.
  [[nodiscard]] std::uint64_t next_plan() const noexcept;
  /// Calls that were acknowledged, over all plans.
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  /// Plans that have begun and are not known to have ended.
  [[nodiscard]] std::vector<std::uint64_t> open() const;
  [[nodiscard]] bool has_ended(std::uint64_t plan) const;
  /// Calls of a plan that were acknowledged: all before this one.
  [[nodiscard]] int calls_done(std::uint64_t plan) const;
  /// How often a call was begun.
  [[nodiscard]] int tries(std::uint64_t plan, int call) const;

 private:
  struct Entry {
    int done = 0;
    bool ended = false;
    std::map<int, int> tries{};
  };
  static int open_for_appending(const std::string& path);
  void write(const std::string& line) const;
  void apply(const std::string& what, std::uint64_t plan, int call);

  int file_ = -1;
  std::uint64_t lives_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::map<std::uint64_t, Entry> entries_;
};

}  // namespace holdfast::torture
