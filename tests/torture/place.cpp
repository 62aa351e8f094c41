#include "place.hpp"

#include <holdfast/postgres.hpp>
#include <holdfast/sqlite.hpp>

#include <fstream>

namespace holdfast::torture {

void Place::use_server(const std::string& uri) const { std::ofstream(folder_ + "/server") << uri << "\n"; }

std::optional<std::string> Place::server() const {
  std::ifstream file(folder_ + "/server");
  std::string uri;
  if (!std::getline(file, uri)) return std::nullopt;
  return uri;
}

std::shared_ptr<Store> Place::open(Logger* logger) const {
  if (const auto uri = server()) return postgres(*uri, {.logger = logger});
  return sqlite(database(), {.logger = logger});
}

}  // namespace holdfast::torture
