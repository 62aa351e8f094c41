#include "command_line.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <optional>
#include <utility>

namespace support {

namespace {

std::optional<long> whole_number(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Arguments::Arguments(int argc, char** argv, std::initializer_list<OptionSpec> known) {
  bool only_words = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (only_words || !argument.starts_with("--")) {
      words_.emplace_back(argument);
      continue;
    }
    if (argument == "--") {
      only_words = true;
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    const auto spec = std::ranges::find(known, name, &OptionSpec::name);
    if (spec == known.end()) throw UsageError("there is no option " + name);
    if (!spec->takes_value) {
      if (equals != std::string_view::npos) throw UsageError(name + " takes no value");
      options_[name] = "";
    } else if (equals != std::string_view::npos) {
      options_[name] = argument.substr(equals + 1);
    } else {
      if (i + 1 == argc) throw UsageError(name + " needs a value");
      options_[name] = argv[++i];
    }
  }
}

const std::string& Arguments::command() const {
  if (words_.empty()) throw UsageError("a command is missing");
  return words_.front();
}

std::vector<std::string> Arguments::words(std::size_t least, std::size_t most, std::string_view what) const {
  std::vector<std::string> words(words_.begin() + 1, words_.end());
  if (words.size() < least) throw UsageError(command() + " needs " + std::string(what));
  if (words.size() > most) {
    throw UsageError(command() + " takes " + (most == 0 ? "no arguments" : std::string(what)) + ", and '" +
                     words[most] + "' is too much");
  }
  return words;
}

std::string Arguments::text(std::string_view option, std::string_view otherwise) const {
  const auto found = options_.find(std::string(option));
  return found == options_.end() ? std::string(otherwise) : found->second;
}

std::chrono::milliseconds Arguments::time(std::string_view option,
                                          std::chrono::milliseconds otherwise) const {
  const auto found = options_.find(std::string(option));
  if (found == options_.end()) return otherwise;
  const std::pair<std::string_view, long> units[] = {{"ms", 1}, {"s", 1'000}, {"min", 60'000}};
  const std::string_view text = found->second;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<long> value = whole_number(text.substr(0, digits));
  for (const auto& [unit, factor] : units) {
    if (!value || text.substr(digits) != unit || *value > 1'000'000) continue;
    if (*value == 0 && otherwise != std::chrono::milliseconds::zero()) break;
    return std::chrono::milliseconds(*value * factor);
  }
  throw UsageError(std::string(option) + " is a time such as 250ms, 2s or 5min, not '" + found->second + "'");
}

std::size_t Arguments::count(std::string_view option, std::size_t otherwise) const {
  const auto found = options_.find(std::string(option));
  if (found == options_.end()) return otherwise;
  const std::optional<long> value = whole_number(found->second);
  if (!value || *value < 1) {
    throw UsageError(std::string(option) + " is a number from 1 on, not '" + found->second + "'");
  }
  return static_cast<std::size_t>(*value);
}

int run_program(std::string_view name, std::string_view usage, int argc, char** argv,
                const std::function<int()>& body) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") break;
    if (argument == "--help" || argument == "-h") {
      std::cout << usage;
      return 0;
    }
  }
  try {
    return body();
  } catch (const UsageError& e) {
    std::cerr << name << ": " << e.what() << "\n\n" << usage;
    return kExitUsage;
  } catch (const std::exception& e) {
    std::cerr << name << ": " << e.what() << "\n";
    return kExitFailed;
  }
}

void say(const std::string& line) {
  const std::string text = line + "\n";
  // Whoever reads this may be gone, and work goes on without being watched.
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, text.data(), text.size());
}

void outlive_readers() { signal(SIGPIPE, SIG_IGN); }

}  // namespace support
