#include "client/callbacks.hpp"

#include <stdexcept>

namespace holdfast::client {

void refuse_as_closed() { throw std::logic_error("holdfast: this client was closed"); }

void Callbacks::say(std::string_view what) const noexcept {
  try {
    const std::shared_ptr<Logger> logger = logger_ ? logger_ : stderr_logger(LogLevel::info);
    log(*logger, LogLevel::error, "a callback of a client call threw", {{"error", what}});
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody left to tell
  }
}

}  // namespace holdfast::client
