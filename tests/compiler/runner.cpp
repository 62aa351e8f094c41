#include "runner.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

// Of every AddressSanitizer's run time; declared here because g++ doesn't install the header that does.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();

namespace holdfast::battery {

namespace {

// How the child says what it saw. AddressSanitizer ends it with 1, a signal with none of these.
enum ExitStatus { kOk = 0, kDestroysTwice = 40, kLeaks = 41, kWrongResult = 42 };

constexpr unsigned kSecondsBeforeItHangs = 60;

/// The result of the snippet, or nothing when it was abandoned at the wait after `resumptions`.
std::optional<std::string> run(const Snippet& snippet, int resumptions) {
  Driver driver;
  Task<std::string> task = snippet.coroutine();
  task.start();
  for (int i = 0; i < resumptions && !task.done(); ++i) driver.resume_next();
  if (!task.done()) return std::nullopt;
  return task.take();
}

/// One run; nothing while the snippet was still waiting and all was well.
std::optional<ExitStatus> judge(const Snippet& snippet, int resumptions) {
  const std::size_t allocated_before = __sanitizer_get_current_allocated_bytes();
  bool finished = false;
  bool right = false;
  {
    const std::optional<std::string> result = run(snippet, resumptions);
    finished = result.has_value();
    right = result == snippet.result;
    if (finished && !right) std::printf("returned '%s'\n", result->c_str());
  }
  const std::size_t allocated = __sanitizer_get_current_allocated_bytes();
  std::printf("after %d resumptions: %d tracers live, %zu bytes before, %zu after\n", resumptions,
              Tracer::live(), allocated_before, allocated);
  if (Tracer::live() < 0 || allocated < allocated_before) return kDestroysTwice;
  if (Tracer::live() > 0 || allocated > allocated_before) return kLeaks;
  if (finished) return right ? kOk : kWrongResult;
  return std::nullopt;
}

ExitStatus judge_at_every_wait(const Snippet& snippet) {
  try {
    for (int resumptions = 0;; ++resumptions) {
      if (const auto verdict = judge(snippet, resumptions)) return *verdict;
    }
  } catch (const std::exception& error) {
    std::printf("threw '%s'\n", error.what());
    return kWrongResult;
  }
}

[[noreturn]] void be_the_child(const Snippet& snippet, int output) {
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::alarm(kSecondsBeforeItHangs);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  ::_exit(judge_at_every_wait(snippet));
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string outcome_of(int wait_status) {
  if (!WIFEXITED(wait_status)) return "destroys twice";
  switch (WEXITSTATUS(wait_status)) {
    case kOk:
      return "ok";
    case kLeaks:
      return "leaks";
    case kWrongResult:
      return "wrong result";
    default:
      return "destroys twice";
  }
}

}  // namespace

Observation observe(const Snippet& snippet) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::fflush(nullptr);  // or the child would print again what waits in our buffers
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) be_the_child(snippet, pipe[1]);

  ::close(pipe[1]);
  Observation seen;
  seen.output = read_all(pipe[0]);
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  seen.outcome = outcome_of(status);
  return seen;
}

}  // namespace holdfast::battery
