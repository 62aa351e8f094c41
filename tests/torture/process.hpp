// Process: this program again, in another role, as a process that can be killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::torture {

/// Gone with the object, and when this process ends.
class Process {
 public:
  /// What it writes to stdout and stderr is added to the file `log`.
  Process(const std::vector<std::string>& arguments, const std::string& log);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  /// kill -9, and waits until it is gone.
  void crash();
  /// Its exit status once it has ended, 128 + the signal when one ended it; nothing while it runs.
  std::optional<int> ended();
  std::optional<int> wait(std::chrono::milliseconds at_most);

 private:
  pid_t pid_ = -1;
  std::optional<int> status_{};
};

}  // namespace holdfast::torture
