// SavedStates: what a worker saves of a session, for its next owner and for those who look.
#pragma once

#include <holdfast/payload.hpp>

#include <string>
#include <vector>

namespace holdfast {

/// What a session's states are made from: for each name what was saved last. In a store these are bytes.
struct SavedStates {
  struct Part {
    std::string name{};
    Payload state{};
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts{};
  friend bool operator==(const SavedStates&, const SavedStates&) = default;
};
std::string to_bytes(const SavedStates& saved);
/// Throws DecodeError.
SavedStates read_saved_states(const std::string& bytes);

}  // namespace holdfast
