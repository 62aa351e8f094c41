#include "store.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/open.hpp>

#include <cstdlib>
#include <stdexcept>

namespace support {

std::shared_ptr<holdfast::Store> open_store(const Arguments& arguments, const char* variable,
                                            const std::string& otherwise, Opens how) {
  const char* const from_environment = std::getenv(variable);
  const std::string address =
      arguments.text("--store", from_environment != nullptr ? from_environment : otherwise);
  try {
    return holdfast::open(
        address, {.ns = arguments.text("--namespace", "default"), .create = how == Opens::or_creates});
  } catch (const holdfast::StoreOpenError& e) {
    if (e.kind() != holdfast::StoreOpenError::Kind::missing) throw;
    throw std::runtime_error("there is no store '" + address + "' yet: start a worker, or correct --store");
  }
}

}  // namespace support
