#include "server/http/parser.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::server::http {

namespace beast = boost::beast::http;

class RequestParser::Impl {
 public:
  beast::request_parser<beast::string_body> parser;
};

RequestParser::RequestParser(const Limits& limits) : impl_(std::make_unique<Impl>()), limits_(limits) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  impl_->parser.header_limit(static_cast<std::uint32_t>(std::min(limits.header_bytes, kMost)));
  impl_->parser.body_limit(limits.body_bytes);
}

RequestParser::~RequestParser() = default;

std::size_t RequestParser::feed(std::string_view data) {
  if (data.empty() || state_ == State::done || state_ == State::broken) return 0;
  auto& parser = impl_->parser;
  parser.eager(state_ == State::body);
  boost::beast::error_code error;
  const std::size_t used = parser.put(boost::asio::const_buffer(data.data(), data.size()), error);
  if (error == beast::error::need_more) error = {};
  if (error == beast::error::header_limit) {
    fail(431, "the head of the request is larger than " + std::to_string(limits_.header_bytes) + " bytes");
  } else if (error == beast::error::body_limit) {
    fail(413, "the body of the request is larger than " + std::to_string(limits_.body_bytes) + " bytes");
  } else if (error == beast::error::bad_version) {
    fail(505, "the version of HTTP is not 1.0 or 1.1");
  } else if (error) {
    fail(400, "this is no request of HTTP/1.1: " + error.message());
  } else if (parser.is_done()) {
    state_ = State::done;
  } else if (parser.is_header_done()) {
    state_ = State::body;
  }
  return used;
}

void RequestParser::fail(int status, std::string why) {
  state_ = State::broken;
  status_ = status;
  why_ = std::move(why);
}

Request RequestParser::take_head() {
  auto& message = impl_->parser.get();
  Request request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  for (const auto& field : message) {
    request.headers.add(std::string(field.name_string()), std::string(field.value()));
  }
  return request;
}

std::string RequestParser::take_body() { return std::move(impl_->parser.get().body()); }

bool RequestParser::expects_continue() const noexcept {
  const auto& message = impl_->parser.get();
  const auto field = message.find(boost::beast::http::field::expect);
  return message.version() == 11 && field != message.end() &&
         same_text(std::string_view(field->value().data(), field->value().size()), "100-continue");
}

bool RequestParser::keep_alive() const noexcept { return impl_->parser.keep_alive(); }

bool RequestParser::old_version() const noexcept { return impl_->parser.get().version() < 11; }

std::size_t RequestParser::announced_bytes() const noexcept {
  return impl_->parser.content_length().value_or(0);
}

std::size_t RequestParser::body_bytes() const noexcept { return impl_->parser.get().body().size(); }

}  // namespace holdfast::server::http
