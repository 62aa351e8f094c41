#include "server/auth/authority.hpp"

#include "server/auth/secrets.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace holdfast::server {

namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(500);

// The token in "Bearer <token>"; the word is not case sensitive.
std::string_view token_in(std::string_view authorization) {
  constexpr std::string_view kWord = "bearer ";
  if (authorization.size() < kWord.size()) return {};
  for (std::size_t i = 0; i < kWord.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != kWord[i]) return {};
  }
  authorization.remove_prefix(kWord.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  while (authorization.ends_with(' ')) authorization.remove_suffix(1);
  return authorization;
}

// The id in "hft_<id>_<secret>".
std::string_view id_in(std::string_view token) {
  constexpr std::string_view kOpening = "hft_";
  if (!token.starts_with(kOpening)) return {};
  token.remove_prefix(kOpening.size());
  const std::size_t end = token.find('_');
  return end == std::string_view::npos ? std::string_view() : token.substr(0, end);
}

}  // namespace

bool Caller::may(Role wanted) const noexcept {
  if (role == Role::admin) return true;
  return role == wanted;
}

bool Caller::covers(std::string_view ns) const noexcept {
  return std::ranges::any_of(namespaces, [&](const std::string& one) { return one == "*" || one == ns; });
}

Authority::Authority(std::optional<TokenFile> file, std::shared_ptr<Logger> logger, const Clock& clock)
    : file_(std::move(file)), logger_(std::move(logger)), clock_(clock) {}

std::size_t Authority::tokens() {
  look();
  return static_cast<std::size_t>(
      std::ranges::count_if(tokens_, [this](const auto& entry) { return valid(entry.second); }));
}

bool Authority::valid(const TokenRecord& record) const {
  return !record.expires || clock_.calendar_now() < *record.expires;
}

std::optional<Caller> Authority::caller(std::optional<std::string_view> authorization) {
  if (!file_) return Caller{.id = "local", .role = Role::admin, .namespaces = {"*"}};
  look();
  const std::string_view token = token_in(authorization.value_or(""));
  // The same work whether the id is known or not.
  static const TokenRecord kNobody{.sha256 = std::string(64, '0')};
  const auto found = tokens_.find(std::string(id_in(token)));
  const TokenRecord& record = found == tokens_.end() ? kNobody : found->second;
  if (!same_secret(sha256_hex(token), record.sha256) || !valid(record)) return std::nullopt;
  return Caller{
      .id = record.id, .name = record.name, .role = parse_role(record.role), .namespaces = record.namespaces};
}

void Authority::look() {
  const BootTime now = clock_.boot_now();
  if (!file_ || (looked_ && now - *looked_ < kLookEvery)) return;
  looked_ = now;
  const std::string version = file_->version();
  if (version_ && *version_ == version) return;
  version_ = version;
  load();
}

void Authority::load() {
  tokens_.clear();
  try {
    TokenList list = file_->read();
    for (const std::string& problem : list.problems) {
      log(*logger_, LogLevel::error, "a token can't be read, and counts for nobody", {{"error", problem}});
    }
    for (TokenRecord& record : list.tokens) {
      std::string id = record.id;
      tokens_.insert_or_assign(std::move(id), std::move(record));
    }
    log(*logger_, LogLevel::info, "tokens loaded", {{"tokens", tokens_.size()}, {"file", file_->path()}});
  } catch (const std::exception& error) {
    log(*logger_, LogLevel::error, "nobody is let in, since the tokens can't be read",
        {{"error", error.what()}});
  }
}

}  // namespace holdfast::server
