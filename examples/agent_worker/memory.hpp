// Memory: what the agent knows from one conversation.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

/// Understands "dog is Rex", "what is dog?", "recite" and "bye"; everything else it just remembers.
class Memory {
 public:
  Memory() = default;
  /// Learns again from what was said. In a real agent this is what takes long: a model reads it all once
  /// more.
  explicit Memory(const std::vector<std::string>& lines);

  /// Answers a line, and remembers it.
  std::string hear(const std::string& line);
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

 private:
  std::string recall(std::string_view subject) const;
  std::string recite() const;

  std::vector<std::string> lines_;
  std::map<std::string, std::string, std::less<>> facts_;
};

inline constexpr std::string_view kGoodbye = "bye";

}  // namespace agent
