#include "processes_test.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace support::testing {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

fs::path fresh_name(const Folder& folder, std::string_view kind) {
  static int count = 0;
  return folder / (std::string(kind) + std::to_string(++count) + ".txt");
}

/// The PostgreSQL server of this test run, or one of this process's own.
std::string postgres_address() {
  const char* const running = std::getenv("HOLDFAST_TEST_POSTGRES");
  std::string state = running != nullptr ? running : "";
  if (state.empty()) {
    state = "/tmp/holdfast-app-postgres-" + std::to_string(getpid());
    // The server goes with this process. Tests run in the folder of the sources.
    const std::string start =
        "stores/postgres/server.sh start " + state + " --watch " + std::to_string(getpid());
    if (!fs::exists(state) && std::system(start.c_str()) != 0) throw std::runtime_error(start + " failed");
  }
  const std::vector<std::string> lines = lines_of(read_file(state + "/uri"));
  if (lines.empty()) throw std::runtime_error("there is no PostgreSQL server in " + state);
  return lines.front();
}

}  // namespace

// ---- Folder -----------------------------------------------------------------------------------------

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "holdfast-app-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Folder::write(std::string_view name, std::string_view text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
}

// ---- Process ----------------------------------------------------------------------------------------

Process::Process(const Folder& folder, const std::vector<std::string>& arguments, const std::string& input)
    : output_(fresh_name(folder, "output")) {
  const fs::path read_from = fresh_name(folder, "input");
  std::ofstream(read_from, std::ios::binary) << input;
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("can't start a process");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int in = ::open(read_from.c_str(), O_RDONLY);
  const int out = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execv(argv.front(), argv.data());
  _exit(127);
}

Process::~Process() {
  // What failed is easier to understand with what the processes said.
  if (::testing::Test::HasFailure()) std::cerr << "---- process " << pid_ << "\n" << output();
  crash();
}

void Process::signal(int number) const {
  if (!status_) kill(pid_, number);
}

void Process::crash() {
  signal(SIGKILL);
  wait();
}

bool Process::has_ended() {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_.has_value();
}

int Process::wait() {
  if (!eventually([this] { return has_ended(); })) {
    ADD_FAILURE() << "the process has not ended:\n" << output();
    kill(pid_, SIGKILL);
    while (!has_ended()) std::this_thread::sleep_for(1ms);
  }
  return *status_;
}

std::string Process::output() const { return read_file(output_); }

std::vector<std::string> Process::lines() const { return lines_of(output()); }

std::size_t Process::count(std::string_view text) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      lines(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

bool Process::says(std::string_view text, std::size_t times) {
  const auto said = [&] { return count(text) >= times; };
  const bool over = eventually([&] { return said() || has_ended(); });
  if (over && said()) return true;
  ADD_FAILURE() << "the process never said '" << text << "':\n" << output();
  return false;
}

// ---- Application ------------------------------------------------------------------------------------

std::string_view to_string(StoreKind kind) noexcept {
  return kind == StoreKind::sqlite ? "Sqlite" : "Postgres";
}

Application::Application(StoreKind kind) {
  static int count = 0;
  const std::string store =
      kind == StoreKind::sqlite ? "sqlite:" + (folder_ / "store.db").string() : postgres_address();
  const std::string ns = "test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  options_ = {"--store", store, "--namespace", ns};
}

std::unique_ptr<Process> Application::start(const std::vector<std::string>& words,
                                            const std::string& input) const {
  std::vector<std::string> arguments = options_;
  arguments.insert(arguments.end(), words.begin(), words.end());
  return std::make_unique<Process>(folder_, arguments, input);
}

std::unique_ptr<Process> Application::start_worker(const std::vector<std::string>& words) const {
  std::unique_ptr<Process> worker = start(words);
  if (!worker->says("is ready")) throw std::runtime_error("a worker did not start");
  return worker;
}

Finished Application::run(const std::vector<std::string>& words) const {
  const std::unique_ptr<Process> process = start(words);
  const int status = process->wait();
  return {.status = status, .output = process->output()};
}

std::string Application::succeed(const std::vector<std::string>& words) const {
  const Finished finished = run(words);
  EXPECT_EQ(finished.status, 0) << finished.output;
  return finished.output;
}

void Application::expect(const std::vector<std::string>& words, int status, const std::string& text) const {
  const Finished finished = run(words);
  EXPECT_EQ(finished.status, status) << finished.output;
  EXPECT_NE(finished.output.find(text), std::string::npos) << finished.output;
}

// ---- the rest -----------------------------------------------------------------------------------------

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace support::testing
