// Runs an example application from outside, as processes that are signalled and killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace support::testing {

/// A temporary folder, gone with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  void write(std::string_view name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

/// A process of the program under test; killed with the object, and with the test.
class Process {
 public:
  /// What it writes goes to a file of its own in `folder`; it reads `input`.
  Process(const Folder& folder, const std::vector<std::string>& arguments, const std::string& input = "");
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  /// kill -9, and waits until it is gone.
  void crash();
  /// Waits for its end: its exit status, 128 + the signal when one ended it. Fails the test, and kills it,
  /// when that takes a minute.
  int wait();
  [[nodiscard]] bool has_ended();

  /// What it has written so far, to both of its outputs.
  [[nodiscard]] std::string output() const;
  [[nodiscard]] std::vector<std::string> lines() const;
  /// How many of its lines hold this text.
  [[nodiscard]] std::size_t count(std::string_view text) const;
  /// Waits until it has written this text, in `times` lines; false when it has ended, or a minute has passed.
  bool says(std::string_view text, std::size_t times = 1);

 private:
  std::filesystem::path output_;
  pid_t pid_ = -1;
  std::optional<int> status_{};
};

struct Finished {
  int status = 0;
  std::string output{};
};

enum class StoreKind : std::uint8_t { sqlite, postgres };
std::string_view to_string(StoreKind kind) noexcept;

/// The program under test, on a store of its own.
class Application {
 public:
  explicit Application(StoreKind kind);

  /// Starts a process of it.
  [[nodiscard]] std::unique_ptr<Process> start(const std::vector<std::string>& words,
                                               const std::string& input = "") const;
  /// The same, and waits until it has said that it is ready.
  [[nodiscard]] std::unique_ptr<Process> start_worker(const std::vector<std::string>& words) const;
  /// Runs a command to its end.
  [[nodiscard]] Finished run(const std::vector<std::string>& words) const;
  /// The same, for one that should succeed: what it says.
  std::string succeed(const std::vector<std::string>& words) const;
  /// The same, for one that should end with this status, and say this among others.
  void expect(const std::vector<std::string>& words, int status, const std::string& text) const;

  [[nodiscard]] const Folder& folder() const noexcept { return folder_; }

 private:
  Folder folder_;
  std::vector<std::string> options_;
};

/// Waits for `condition` within a generous deadline; false when that passed.
bool eventually(const std::function<bool()>& condition);

std::vector<std::string> lines_of(const std::string& text);

/// Where the program under test is. Each test says so: HOLDFAST_PROGRAM.
const char* program();

}  // namespace support::testing
