// Requests and replies of HTTP, as the rest of the server sees them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::server::http {

/// Names and values in their order. Names are compared without regard to case.
class Headers {
 public:
  struct Field {
    std::string name{};
    std::string value{};
  };

  void add(std::string name, std::string value) { fields_.push_back({std::move(name), std::move(value)}); }
  /// The first one of that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t count(std::string_view name) const noexcept;
  [[nodiscard]] const std::vector<Field>& fields() const noexcept { return fields_; }

 private:
  std::vector<Field> fields_;
};

/// Compares ASCII texts without regard to case.
[[nodiscard]] bool same_text(std::string_view a, std::string_view b) noexcept;

/// One request. Its path and query are decoded; `body` is empty until it was read.
struct Request {
  std::string method{};  ///< "GET"
  std::string target{};  ///< as it was sent
  std::vector<std::string> path{};
  std::vector<std::pair<std::string, std::string>> query{};
  Headers headers{};
  std::string body{};
  std::string id{};     ///< names it in logs and replies: 32 hexadecimal digits
  std::string from{};   ///< the address of the other side, without its port
  bool secure = false;  ///< it came over TLS
  /// What Service::admit() found out about it, for Service::serve().
  std::shared_ptr<void> admission{};

  /// The first parameter of that name in the query.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const noexcept;
};

struct Reply {
  int status = 200;
  std::string body{};
  std::string content_type = "application/json";
  Headers headers{};
  bool close = false;  ///< the connection ends with it
};

/// "Not Found"; "" for a number that we don't use.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

}  // namespace holdfast::server::http
