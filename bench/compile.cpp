// What a program pays to include Holdfast: seconds of each compiler, and lines after the preprocessor. The
// measure is an empty program that includes the standard headers which nearly every program has anyway.
#include "bench/harness.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

struct Program {
  std::string name{};
  std::string text{};
};

const std::vector<Program>& programs() {
  static const std::vector<Program> all{
      {"std",
       "#include <chrono>\n#include <functional>\n#include <map>\n#include <memory>\n#include <optional>\n"
       "#include <string>\n#include <vector>\nint main() {}\n"},
      {"include", "#include <holdfast/holdfast.hpp>\nint main() {}\n"},
      {"hello",
       "#include <holdfast/holdfast.hpp>\n"
       "using namespace holdfast;\n"
       "Task<std::string> hello(Context& ctx, std::string who) {\n"
       "  co_return co_await ctx.activity<std::string>(\"greet\", who);\n"
       "}\n"
       "int main() {\n"
       "  Runtime rt(sqlite(\"hello.db\"));\n"
       "  rt.activity(\"greet\", [](ActivityContext&, std::string who) { return \"Hello, \" + who; });\n"
       "  rt.orchestration(\"hello\", hello);\n"
       "  rt.start();\n"
       "  return rt.client().start(\"hello\", \"Ada\").wait<std::string>().empty();\n"
       "}\n"},
  };
  return all;
}

class Compilations {
 public:
  explicit Compilations(std::string compiler) : compiler_(std::move(compiler)) {
    std::filesystem::create_directories(folder_);
    for (const Program& program : programs()) std::ofstream(source(program)) << program.text;
  }
  ~Compilations() { std::filesystem::remove_all(folder_); }
  Compilations(const Compilations&) = delete;
  Compilations& operator=(const Compilations&) = delete;

  void compile(const Program& program) const {
    run(command(program) + " -c -o " + (folder_ / "out.o").string());
  }
  [[nodiscard]] double lines(const Program& program) const {
    const std::filesystem::path text = folder_ / "out.ii";
    run(command(program) + " -E -o " + text.string());
    std::ifstream in(text);
    double count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }

 private:
  [[nodiscard]] std::filesystem::path source(const Program& program) const {
    return folder_ / (program.name + ".cpp");
  }
  [[nodiscard]] std::string command(const Program& program) const {
    return compiler_ + " -std=c++20 -I" HOLDFAST_SOURCE_FOLDER "/include " + source(program).string();
  }
  static void run(const std::string& command) {
    if (std::system(command.c_str()) != 0)
      throw std::runtime_error("failed: " + command);  // NOLINT: one thread
  }

  std::string compiler_;
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / "holdfast-bench-compile";
};

void measure(Suite& suite, const std::string& compiler, const std::string& label) {
  const Compilations compilations(compiler);
  std::vector<std::function<void()>> functions;
  for (const Program& program : programs()) functions.emplace_back([&] { compilations.compile(program); });
  const std::vector<Times> times = race(functions, {.rounds = 5, .sample = std::chrono::nanoseconds(1)});
  for (std::size_t i = 0; i < programs().size(); ++i) {
    const Program& program = programs()[i];
    suite.add({.name = "compile_" + program.name + "_" + label + "_s",
               .value = times[i].median() / 1e9,
               .unit = "s",
               .ratio = speedup(times[i], times[0]),
               .ratio_to = "standard headers alone"});
    suite.add({.name = "compile_" + program.name + "_" + label + "_lines",
               .value = compilations.lines(program),
               .unit = "lines"});
  }
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  try {
    holdfast::bench::Suite suite("compile", argc, argv);
    holdfast::bench::measure(suite, "clang++-19", "clang");
    holdfast::bench::measure(suite, "g++-12", "gcc");
    return suite.finish();
  } catch (const std::exception& error) {
    std::cerr << "bench_compile: " << error.what() << "\n";
    return 1;
  }
}
