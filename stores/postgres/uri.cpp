#include "uri.hpp"

#include <holdfast/errors.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <memory>

namespace holdfast::postgres_store {

namespace {

using Options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

/// None when it can't be read. What libpq says then is dropped: it quotes what it could not understand.
Options options_of(const std::string& uri) {
  char* said = nullptr;
  Options options(PQconninfoParse(uri.c_str(), &said), &PQconninfoFree);
  PQfreemem(said);
  return options;
}

template <class Visit>
void for_each_value(const Options& options, Visit visit) {
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr;
       ++option) {
    if (option->val != nullptr && *option->val != '\0') visit(*option, std::string_view(option->val));
  }
}

bool is_uri(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

/// An @ or a / in a password ends it too early, and what is left of it becomes a part of the host or the
/// port, or of the name of the database.
bool is_torn(const std::string& uri, const PQconninfoOption& option, std::string_view value) {
  const std::string_view name = option.keyword;
  if (name == "port") return value.find_first_not_of("0123456789,") != std::string_view::npos;
  if (!is_uri(uri)) return false;
  return (name == "host" || name == "dbname") && value.find('@') != std::string_view::npos;
}

/// What stands between `begin` and `end`, if both are there.
std::string between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) return "";
  text.remove_prefix(from + begin.size());
  return std::string(text.substr(0, text.find_first_of(end)));
}

}  // namespace

void check_uri(const std::string& uri) {
  const Options options = options_of(uri);
  bool readable = options != nullptr && uri.find('\0') == std::string::npos;
  for_each_value(options, [&](const PQconninfoOption& option, std::string_view value) {
    if (is_torn(uri, option, value)) readable = false;
  });
  if (readable) return;
  throw StoreOpenError(
      StoreOpenError::Kind::invalid,
      "the PostgreSQL URI can't be understood; it is not shown, since it may hold a password. Write "
      "postgresql://user:password@host:port/database?option=value, with %40 for @, %3A for :, %2F for /, %3F "
      "for ?, %23 for # and %25 for % in names and passwords; or key=value pairs, with quotes around values "
      "that have spaces (password='two words')");
}

Secrets::Secrets(const std::string& uri) {
  for_each_value(options_of(uri), [&](const PQconninfoOption& option, std::string_view value) {
    if (option.dispchar[0] == '*') secrets_.emplace_back(value);
  });
  if (!is_uri(uri)) return;
  const std::string user = between(uri, "://", "/?");
  if (const std::size_t host = user.rfind('@'); host != std::string::npos) {
    secrets_.push_back(between(user.substr(0, host), ":", ""));
  }
  for (const std::string_view name : {"?password=", "&password=", "?sslpassword=", "&sslpassword="}) {
    secrets_.push_back(between(uri, name, "&"));
  }
  std::erase(secrets_, "");
  // What is a part of another one comes after it.
  std::ranges::sort(secrets_, std::ranges::greater{}, &std::string::size);
}

std::string Secrets::hidden_in(std::string text) const {
  constexpr std::string_view kStars = "***";
  for (const std::string& secret : secrets_) {
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kStars.size())) {
      text.replace(at, secret.size(), kStars);
    }
  }
  return text;
}

}  // namespace holdfast::postgres_store
