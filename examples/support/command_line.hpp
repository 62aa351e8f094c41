// Command lines of the example applications: `program [options] command [words]`.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// The command line can't be understood. run_program() says so, and how it is to be used.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An option that a program knows, with a value (`--store file`, `--store=file`) or without (`--wait`).
struct OptionSpec {
  std::string_view name{};
  bool takes_value = true;
};

/// Options may stand anywhere; after `--` everything is a word. Calls throw UsageError and name the argument.
class Arguments {
 public:
  Arguments(int argc, char** argv, std::initializer_list<OptionSpec> known);

  /// The first word; throws when there is none.
  [[nodiscard]] const std::string& command() const;
  /// The words after the command: at least `least` of them and at most `most`. `what` says what they are.
  [[nodiscard]] std::vector<std::string> words(std::size_t least, std::size_t most,
                                               std::string_view what) const;

  [[nodiscard]] bool has(std::string_view option) const { return options_.contains(std::string(option)); }
  [[nodiscard]] std::string text(std::string_view option, std::string_view otherwise) const;
  /// "250ms", "2s", "5min"; above zero unless zero is what is asked for by `otherwise`.
  [[nodiscard]] std::chrono::milliseconds time(std::string_view option,
                                               std::chrono::milliseconds otherwise) const;
  /// At least 1.
  [[nodiscard]] std::size_t count(std::string_view option, std::size_t otherwise) const;

 private:
  std::map<std::string, std::string> options_;
  std::vector<std::string> words_;
};

// As sysexits.h has them.
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 64;

/// Runs `body` and turns what it throws into a message on stderr and an exit status: kExitUsage for a
/// UsageError, with `usage`; kExitFailed for everything else. `--help` prints `usage` to stdout.
int run_program(std::string_view name, std::string_view usage, int argc, char** argv,
                const std::function<int()>& body);

/// Writes a line to stdout in one call, so that lines of several threads and processes don't mix.
void say(const std::string& line);
/// The process lives on when nobody reads what it says any more.
void outlive_readers();

}  // namespace support
