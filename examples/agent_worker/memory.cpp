#include "memory.hpp"

namespace agent {

namespace {

constexpr std::string_view kQuestion = "what is ";
constexpr std::string_view kStatement = " is ";

}  // namespace

Memory::Memory(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) hear(line);
}

std::string Memory::hear(const std::string& line) {
  lines_.push_back(line);
  if (line == kGoodbye) return "Goodbye.";
  if (line == "recite") return recite();
  if (line.starts_with(kQuestion)) {
    std::string_view subject = std::string_view(line).substr(kQuestion.size());
    if (subject.ends_with('?')) subject.remove_suffix(1);
    return recall(subject);
  }
  const std::size_t is = line.find(kStatement);
  if (is == std::string::npos) return "I will remember that.";
  const std::string subject = line.substr(0, is);
  facts_[subject] = line.substr(is + kStatement.size());
  return "I see, " + subject + " is " + facts_[subject] + ".";
}

std::string Memory::recall(std::string_view subject) const {
  const auto found = facts_.find(subject);
  if (found == facts_.end()) return "You never told me what " + std::string(subject) + " is.";
  return found->first + " is " + found->second + ".";
}

std::string Memory::recite() const {
  std::string text = "You said:";
  for (const std::string& line : lines_) text += " [" + line + "]";
  return text;
}

}  // namespace agent
