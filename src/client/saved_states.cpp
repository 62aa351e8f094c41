#include "client/saved_states.hpp"

#include "client/bodies.hpp"

#include <holdfast/errors.hpp>

#include <utility>

namespace holdfast {

std::string to_bytes(const SavedStates& saved) { return bodies::to_bytes(saved); }

SavedStates read_saved_states(const std::string& bytes) {
  auto saved = bodies::read<SavedStates>(bytes);
  if (!saved) {
    throw DecodeError(Failure{.category = Category::decode,
                              .type = "state_unreadable",
                              .message = "the bytes are not what a worker saves"});
  }
  return *std::move(saved);
}

}  // namespace holdfast
