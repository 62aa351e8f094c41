#include "server/auth/tokens.hpp"

#include "server/auth/secrets.hpp"

#include <holdfast/codec.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace holdfast::server {

namespace {

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::runtime_error(what + ": " + std::generic_category().message(errno));
}

// A file descriptor that is closed at the end.
class Opened {
 public:
  Opened(const std::string& path, int flags, mode_t mode)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (fd_ < 0) throw_errno("can't open '" + path + "'");
  }
  ~Opened() { ::close(fd_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw_errno("can't read the tokens in '" + path + "'");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

void write_whole(const std::string& path, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const Opened file(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (std::string_view left = text; !left.empty();) {
    const ssize_t size = ::write(file.fd(), left.data(), left.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) throw_errno("can't write '" + path + "'");
    left.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::fsync(file.fd()) != 0) throw_errno("can't write '" + path + "'");
}

bool is_comment(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  return begin == std::string::npos || line[begin] == '#';
}

Result<TokenRecord> read_line(const std::string& line) {
  Result<TokenRecord> record = decode<TokenRecord>({kJsonEncoding, line});
  if (!record) return record;
  const auto refuse = [](std::string why) { return Unexpected(Failure{.message = std::move(why)}); };
  if (record->id.empty() || record->sha256.size() != 64)
    return refuse("a token has an id and a sha256 of 64 digits");
  try {
    static_cast<void>(parse_role(record->role));
  } catch (const std::invalid_argument& error) {
    return refuse(error.what());
  }
  return record;
}

}  // namespace

std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::worker:
      return "worker";
    case Role::operate:
      return "operator";
    case Role::admin:
      return "admin";
  }
  return "";
}

Role parse_role(std::string_view text) {
  for (const Role role : {Role::worker, Role::operate, Role::admin}) {
    if (to_string(role) == text) return role;
  }
  throw std::invalid_argument("'" + std::string(text) + "' is no role: it is worker, operator or admin");
}

bool TokenRecord::covers(std::string_view ns) const noexcept {
  return std::ranges::any_of(namespaces, [&](const std::string& one) { return one == "*" || one == ns; });
}

NewToken make_token(std::string name, Role role, std::vector<std::string> namespaces, CalendarTime now,
                    std::optional<Duration> life) {
  if (namespaces.empty()) throw std::invalid_argument("a token needs a namespace, or * for all");
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < ' '; })) {
    throw std::invalid_argument("the name of a token has no control characters");
  }
  NewToken made;
  made.record = {.id = random_hex(8),
                 .name = std::move(name),
                 .role = std::string(to_string(role)),
                 .namespaces = std::move(namespaces),
                 .created = now};
  if (life) made.record.expires = now + *life;
  made.text = "hft_" + made.record.id + "_" + random_hex(32);
  made.record.sha256 = sha256_hex(made.text);
  return made;
}

TokenList TokenFile::read() const {
  struct stat status{};
  if (::stat(path_.c_str(), &status) != 0) throw_errno("can't read the tokens in '" + path_ + "'");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw std::runtime_error(
        "'" + path_ + "' may be written by others than its owner, who could add tokens: chmod 600 " + path_);
  }
  TokenList list;
  std::size_t number = 0;
  for (const std::string& line : read_lines(path_)) {
    ++number;
    if (is_comment(line)) continue;
    if (Result<TokenRecord> record = read_line(line)) {
      list.tokens.push_back(*std::move(record));
    } else {
      list.problems.push_back("line " + std::to_string(number) + " of " + path_ + ": " +
                              record.error().message);
    }
  }
  return list;
}

// Under a lock beside the file; the file itself is replaced as a whole.
template <class Change>
bool TokenFile::change(Change change_lines) const {
  const Opened lock(path_ + ".lock", O_RDWR | O_CREAT, 0600);
  while (::flock(lock.fd(), LOCK_EX) != 0) {
    if (errno != EINTR) throw_errno("can't lock '" + path_ + "'");
  }
  std::vector<std::string> lines;
  if (::access(path_.c_str(), F_OK) == 0) lines = read_lines(path_);
  if (!change_lines(lines)) return false;
  const std::string next = path_ + ".next";
  write_whole(next, lines);
  if (std::rename(next.c_str(), path_.c_str()) != 0) throw_errno("can't replace '" + path_ + "'");
  return true;
}

void TokenFile::add(const TokenRecord& token) const {
  change([&](std::vector<std::string>& lines) {
    lines.push_back(encode(token).bytes);
    return true;
  });
}

bool TokenFile::remove(std::string_view id) const {
  return change([&](std::vector<std::string>& lines) {
    return std::erase_if(lines, [&](const std::string& line) {
             if (is_comment(line)) return false;
             const Result<TokenRecord> record = read_line(line);
             return record && record->id == id;
           }) > 0;
  });
}

std::string TokenFile::version() const {
  struct stat status{};
  if (::stat(path_.c_str(), &status) != 0) return "";
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" +
         std::to_string(status.st_size) + ":" + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec) + ":" + std::to_string(status.st_mode) + ":" +
         std::to_string(status.st_uid);
}

}  // namespace holdfast::server
