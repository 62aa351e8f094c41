// A small HTTP client for tests: what is sent and read is in the test's hands, byte by byte if need be.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::support {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> headers{};  // names in lower case
  std::string body{};
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// One connection to 127.0.0.1. Calls wait, for a minute at most; then, and at the end of the connection,
/// those that need more throw std::runtime_error.
class HttpClient {
 public:
  struct Over {
    std::string ca{};  ///< TLS: trusts this certificate, a file in PEM; empty: plain
    int receive_buffer = 0;
  };

  explicit HttpClient(std::uint16_t port) : HttpClient(port, Over{}) {}
  HttpClient(std::uint16_t port, const Over& over) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (over.receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &over.receive_buffer, sizeof over.receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd_);
      throw std::runtime_error("nobody listens on port " + std::to_string(port));
    }
    if (!over.ca.empty()) begin_tls(over.ca);
  }
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void close() {
    tls_.reset();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  /// Says that nothing more comes, and can still read.
  void half_close() const { ::shutdown(fd_, SHUT_WR); }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto size = tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) throw std::runtime_error("the connection was closed while it was written to");
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
  }
  static std::string request(std::string_view method, std::string_view target, std::string_view body = {},
                             const HttpHeaders& headers = {}) {
    std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n";
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    if (!body.empty()) {
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return text + "\r\n" + std::string(body);
  }
  HttpReply ask(std::string_view method, std::string_view target, std::string_view body = {},
                const HttpHeaders& headers = {}) {
    send(request(method, target, body, headers));
    return read_reply(method == "HEAD");
  }

  HttpReply read_head() {
    while (in_.find("\r\n\r\n") == std::string::npos) need_more();
    const std::size_t end = in_.find("\r\n\r\n");
    HttpReply reply;
    std::string head = in_.substr(0, end + 2);
    in_.erase(0, end + 4);
    if (head.size() < 12 || !head.starts_with("HTTP/1.1 "))
      throw std::runtime_error("no reply of HTTP: " + head);
    reply.status = std::stoi(head.substr(9, 3));
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
      const std::size_t line_end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      reply.headers[name] = head.substr(colon + 2, line_end - colon - 2);
      at = line_end + 2;
    }
    return reply;
  }
  HttpReply read_reply(bool head_only = false) {
    HttpReply reply = read_head();
    if (head_only || reply.status < 200 || reply.status == 204) return reply;
    if (reply.headers.contains("transfer-encoding")) {
      for (std::string chunk = read_chunk(); !chunk.empty(); chunk = read_chunk()) reply.body += chunk;
    } else if (reply.headers.contains("content-length")) {
      reply.body = read_bytes(std::stoul(reply.headers["content-length"]));
    }
    return reply;
  }
  /// The next piece of a reply that comes in pieces; empty behind the last one.
  std::string read_chunk() {
    while (in_.find("\r\n") == std::string::npos) need_more();
    const std::size_t end = in_.find("\r\n");
    const std::size_t size = std::stoul(in_.substr(0, end), nullptr, 16);
    in_.erase(0, end + 2);
    std::string chunk = read_bytes(size);
    read_bytes(2);
    return chunk;
  }
  std::string read_bytes(std::size_t size) {
    while (in_.size() < size) need_more();
    std::string bytes = in_.substr(0, size);
    in_.erase(0, size);
    return bytes;
  }
  /// Waits until the other side has closed the connection; false when it sends more instead.
  bool is_closed() { return in_.empty() && read_some() == 0; }

 private:
  struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  void begin_tls(const std::string& ca) {
    const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                               SSL_CTX_free);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (SSL_CTX_load_verify_locations(context.get(), ca.c_str(), nullptr) != 1)
      throw std::runtime_error("no certificate " + ca);
    tls_.reset(SSL_new(context.get()));
    SSL_set_fd(tls_.get(), fd_);
    if (SSL_connect(tls_.get()) != 1) throw std::runtime_error("no TLS: " + std::to_string(ERR_get_error()));
  }
  long read_some() {
    char buffer[4096];
    pollfd waits{.fd = fd_, .events = POLLIN, .revents = 0};
    if ((!tls_ || SSL_pending(tls_.get()) == 0) && ::poll(&waits, 1, 60'000) != 1) {
      throw std::runtime_error("the server says nothing");
    }
    const long size =
        tls_ ? SSL_read(tls_.get(), buffer, sizeof buffer) : ::recv(fd_, buffer, sizeof buffer, 0);
    if (size > 0) in_.append(buffer, static_cast<std::size_t>(size));
    return size > 0 ? size : 0;
  }
  void need_more() {
    if (read_some() == 0) throw std::runtime_error("the server has closed the connection");
  }

  int fd_;
  std::unique_ptr<SSL, FreeTls> tls_;
  std::string in_;
};

}  // namespace holdfast::support
