#include "roles.hpp"

namespace holdfast::torture {

std::optional<int> run_role(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3) return std::nullopt;
  const Place place(arguments[1]);
  const std::string& name = arguments[0];
  const std::size_t dash = name.find('-');
  const std::string role = name.substr(0, dash);
  const std::string rest = name.substr(dash + 1);
  if (role == "engine") return run_engine(place, rest);
  if (role == "nameless") return run_engine(place, "");
  if (role == "client") return run_client(place, std::stoull(arguments[2]), std::stoull(rest));
  return std::nullopt;
}

}  // namespace holdfast::torture
