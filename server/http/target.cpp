#include "server/http/target.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::server::http {

namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool stays(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

// What stands before the path when a proxy is spoken to.
std::string_view without_host(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size() || !same_text(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t path = target.find('/', scheme.size());
    return path == std::string_view::npos ? "/" : target.substr(path);
  }
  return target;
}

bool read_path(std::string_view path, Request& request) {
  while (!path.empty()) {
    path.remove_prefix(1);  // its slash
    const std::size_t end = std::min(path.find('/'), path.size());
    std::optional<std::string> segment = percent_decode(path.substr(0, end));
    if (!segment) return false;
    request.path.push_back(*std::move(segment));
    path.remove_prefix(end);
  }
  if (request.path.size() == 1 && request.path.front().empty()) request.path.clear();
  return true;
}

bool read_query(std::string_view query, Request& request) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::optional<std::string> key = percent_decode(pair.substr(0, equals), true);
    std::optional<std::string> value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!key || !value) return false;
    request.query.emplace_back(*std::move(key), *std::move(value));
  }
  return true;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (stays(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte / 16U];
    encoded += kDigits[byte % 16U];
  }
  return encoded;
}

bool read_target(Request& request) {
  request.path.clear();
  request.query.clear();
  std::string_view target = without_host(request.target);
  target = target.substr(0, target.find('#'));
  if (!target.starts_with('/')) return false;
  const std::size_t question = std::min(target.find('?'), target.size());
  return read_path(target.substr(0, question), request) &&
         read_query(target.substr(std::min(question + 1, target.size())), request);
}

}  // namespace holdfast::server::http
