#include "journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace holdfast::torture {

Journal::Journal(const std::string& path) {
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    std::string what;
    std::uint64_t plan = 0;
    int call = 0;
    std::istringstream(line) >> what >> plan >> call;
    apply(what, plan, call);
  }
  file_ = open_for_appending(path);
}

Journal::~Journal() { close(file_); }

int Journal::open_for_appending(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("can't write " + path);
  return file;
}

void Journal::begin_life() {
  write("life");
  apply("life", 0, 0);
}
void Journal::will_call(std::uint64_t plan, int call) {
  write("will " + std::to_string(plan) + " " + std::to_string(call));
  apply("will", plan, call);
}
void Journal::did_call(std::uint64_t plan, int call) {
  write("did " + std::to_string(plan) + " " + std::to_string(call));
  apply("did", plan, call);
}
void Journal::ended(std::uint64_t plan) {
  write("ended " + std::to_string(plan));
  apply("ended", plan, 0);
}

void Journal::write(const std::string& line) const {
  const std::string text = line + "\n";
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("can't write the journal");
  }
}

void Journal::apply(const std::string& what, std::uint64_t plan, int call) {
  if (what == "life") {
    ++lives_;
    return;
  }
  Entry& entry = entries_[plan];
  if (what == "will") {
    ++entry.tries[call];
  } else if (what == "did") {
    entry.done = call + 1;
    ++acknowledged_;
  } else if (what == "ended") {
    entry.ended = true;
  }
}

std::uint64_t Journal::next_plan() const noexcept {
  return entries_.empty() ? 0 : entries_.rbegin()->first + 1;
}

std::vector<std::uint64_t> Journal::open() const {
  std::vector<std::uint64_t> plans;
  for (const auto& [plan, entry] : entries_) {
    if (!entry.ended) plans.push_back(plan);
  }
  return plans;
}

bool Journal::has_ended(std::uint64_t plan) const {
  const auto found = entries_.find(plan);
  return found != entries_.end() && found->second.ended;
}

int Journal::calls_done(std::uint64_t plan) const {
  const auto found = entries_.find(plan);
  return found == entries_.end() ? 0 : found->second.done;
}

int Journal::tries(std::uint64_t plan, int call) const {
  const auto found = entries_.find(plan);
  if (found == entries_.end()) return 0;
  const auto tried = found->second.tries.find(call);
  return tried == found->second.tries.end() ? 0 : tried->second;
}

}  // namespace holdfast::torture
