#include "crew.hpp"

#include "roles.hpp"

#include <signal.h>

#include <algorithm>
#include <fstream>

namespace holdfast::torture {

void Crew::start(const std::string& name) {
  const std::vector<std::string> arguments{name, place_.folder(), std::to_string(seed_)};
  processes_[name] = std::make_unique<Process>(arguments, place_.log(name));
}

void Crew::kill(const Names& names) {
  for (const std::string& name : names) processes_.at(name)->signal(SIGKILL);
  for (const std::string& name : names) processes_.at(name)->crash();
}

void Crew::stop(const Names& names) const {
  for (const std::string& name : names) processes_.at(name)->signal(SIGSTOP);
}

void Crew::resume(const Names& names) const {
  for (const std::string& name : names) processes_.at(name)->signal(SIGCONT);
}

void Crew::end(const std::string& name, std::chrono::milliseconds at_most) {
  Process& process = *processes_.at(name);
  process.signal(SIGTERM);
  const std::optional<int> status = process.wait(at_most);
  if (!status) throw Lost(name + " does not end" + tail(name));
  if (*status != 0) complain(name, *status);
  processes_.erase(name);
}

void Crew::look() {
  for (auto& [name, process] : processes_) {
    const auto status = process->ended();
    if (!status) continue;
    if (*status != kNoStore) complain(name, *status);
    start(name);
  }
}

void Crew::complain(const std::string& name, int status) const {
  throw Lost(name + " ended with " + std::to_string(status) + ":" + tail(name));
}

std::string Crew::tail(const std::string& name) const {
  std::ifstream in(place_.log(name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string text;
  for (std::size_t i = lines.size() - std::min<std::size_t>(lines.size(), 12); i < lines.size(); ++i) {
    text += "\n    " + lines[i];
  }
  return text;
}

}  // namespace holdfast::torture
