#include "bench/postgres_processes.hpp"

#include "bench/runtime_load.hpp"

#include <holdfast/postgres.hpp>
#include <holdfast/runtime.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace holdfast::bench {

namespace {

constexpr std::string_view kLoad = "--be-load";
constexpr std::string_view kWorker = "--be-worker";

/// A process of this program whose output is read when it has ended.
class Child {
 public:
  explicit Child(std::vector<std::string> arguments) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(pipe[1], STDOUT_FILENO);
      std::vector<char*> argv;
      std::string name = "bench_runtime";
      argv.push_back(name.data());
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv("/proc/self/exe", argv.data());
      _exit(127);
    }
    close(pipe[1]);
    output_ = pipe[0];
  }
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The number that it prints at its end.
  double result() {
    std::string text;
    std::array<char, 256> buffer{};
    for (ssize_t got = 0; (got = read(output_, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    if (status != 0) throw std::runtime_error("a process of the benchmark failed");
    return std::stod(text);
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

std::vector<std::string> load_arguments(const std::string& uri, const std::string& schema, Shape shape,
                                        std::size_t in_flight, std::chrono::milliseconds length,
                                        std::string_view activities, std::size_t number) {
  return {std::string(kLoad),
          uri,
          schema,
          std::string(to_string(shape)),
          std::to_string(in_flight),
          std::to_string(length.count()),
          std::string(activities),
          std::to_string(number)};
}

double run_load(char** argv) {
  const std::shared_ptr<Store> store = postgres(argv[2], {.schema = argv[3]});
  const Shape shape = std::string_view(argv[4]) == "s5" ? Shape::s5 : Shape::p5;
  const auto load =
      runtime_load(store, shape, std::stoul(argv[5]),
                   {.activities = std::string_view(argv[7]) == "here", .number = std::stoull(argv[8])});
  load->run(std::chrono::milliseconds(500));
  return load->run(std::chrono::milliseconds(std::stoll(argv[6]))).steps_per_s();
}

void run_worker(char** argv) {
  Runtime runtime(postgres(argv[2], {.schema = argv[3]}), {.activity_slots = std::stoul(argv[4])});
  runtime.activity(kActivityName, [](ActivityContext&, std::string order) { return order; });
  runtime.start();
  for (;;) pause();
}

}  // namespace

void be_process(int argc, char** argv) {
  if (argc == 9 && argv[1] == kLoad) {
    std::printf("%f\n", run_load(argv));
    std::exit(0);
  }
  if (argc == 5 && argv[1] == kWorker) run_worker(argv);
}

double processes_steps_per_s(const std::string& uri, const std::string& schema, std::size_t processes,
                             Shape shape, std::size_t in_flight, std::chrono::milliseconds length) {
  std::vector<std::unique_ptr<Child>> children;
  for (std::size_t i = 0; i < processes; ++i) {
    children.push_back(
        std::make_unique<Child>(load_arguments(uri, schema, shape, in_flight, length, "here", i)));
  }
  double sum = 0;
  for (const auto& child : children) sum += child->result();
  return sum;
}

double shared_steps_per_s(const std::string& uri, const std::string& schema, Shape shape,
                          std::size_t in_flight, std::chrono::milliseconds length) {
  const Child worker({std::string(kWorker), uri, schema, std::to_string(in_flight * 5)});
  Child load(load_arguments(uri, schema, shape, in_flight, length, "elsewhere", 0));
  return load.result();
}

}  // namespace holdfast::bench
