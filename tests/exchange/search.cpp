#include "tests/exchange/search.hpp"

#include "engine/generate_test.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>

namespace holdfast::exchange {

using engine::Case;

namespace {

constexpr std::uint64_t kCasesPerChild = 200;
constexpr unsigned kSecondsPerChild = 60;

Case case_number(std::uint64_t seed) {
  return engine::generate(seed, static_cast<int>(seed % 101), static_cast<engine::Theme>(seed % 5));
}

// True when `work` returns true in a process of its own: not when it crashes or hangs.
bool succeeds_in_child(const std::function<bool()>& work, bool quiet) {
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("can't fork");
  if (child == 0) {
    if (quiet) std::fclose(stderr);
    alarm(kSecondsPerChild);
    std::exit(work() ? 0 : 1);  // not _Exit: the search for leaks runs at the end
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool holds(const Case& what) { return engine::run(what).problems.empty(); }

bool holds_in_child(const Case& what) {
  return succeeds_in_child([&] { return holds(what); }, true);
}

Case simplest_failing(Case what) {
  for (bool found = true; found;) {
    found = false;
    for (Case& candidate : engine::simpler(what)) {
      if (holds_in_child(candidate)) continue;
      what = std::move(candidate);
      found = true;
      break;
    }
  }
  return what;
}

void show(const Case& what) {
  std::cout << "this case fails:\n" << to_text(what) << "\n";
  succeeds_in_child(
      [&] {
        for (const std::string& problem : engine::run(what).problems) std::cout << problem << "\n";
        std::cout.flush();
        return true;
      },
      false);
}

}  // namespace

bool search(std::uint64_t seed, std::uint64_t count) {
  for (std::uint64_t first = seed; first < seed + count; first += kCasesPerChild) {
    const std::uint64_t end = std::min(first + kCasesPerChild, seed + count);
    const auto all_hold = [&] {
      for (std::uint64_t i = first; i < end; ++i) {
        if (!holds(case_number(i))) return false;
      }
      return true;
    };
    if (succeeds_in_child(all_hold, true)) continue;
    for (std::uint64_t i = first; i < end; ++i) {
      if (holds_in_child(case_number(i))) continue;
      show(simplest_failing(case_number(i)));
      return false;
    }
  }
  std::cout << count << " cases hold\n";
  return true;
}

}  // namespace holdfast::exchange
