// Requests of HTTP, in whatever pieces they arrive: what is one does not depend on how it was cut.
#include "server/http/parser.hpp"
#include "server/http/target.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>

namespace holdfast {
namespace {

using namespace server::http;
using State = RequestParser::State;

struct Parsed {
  State state = State::head;
  std::string method{};
  std::string target{};
  std::size_t headers = 0;
  std::string body{};
  friend bool operator==(const Parsed&, const Parsed&) = default;
};

void take_head(RequestParser& parser, Parsed& parsed) {
  Request request = parser.take_head();
  if (read_target(request))
    fuzz::require(request.target.find('/') != std::string::npos, "a target has a path");
  parsed.method = request.method;
  parsed.target = request.target;
  parsed.headers = request.headers.fields().size();
}

// As a connection does: each piece is added to what is left of the ones before.
Parsed parse(std::string_view bytes, std::size_t piece) {
  RequestParser parser({.header_bytes = 1024, .body_bytes = 1024});
  Parsed parsed;
  std::string in;
  const auto goes_on = [&] { return parser.state() == State::head || parser.state() == State::body; };
  while (!bytes.empty() && goes_on()) {
    in += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (bool more = true; more && !in.empty() && goes_on();) {
      const State before = parser.state();
      const std::size_t used = parser.feed(in);
      fuzz::require(used <= in.size(), "no more is taken than there is");
      in.erase(0, used);
      const bool head_ends =
          before == State::head && (parser.state() == State::body || parser.state() == State::done);
      if (head_ends) take_head(parser, parsed);
      more = used > 0 || head_ends;
    }
  }
  parsed.state = parser.state();
  if (parsed.state == State::broken) {
    fuzz::require(parser.status() >= 400 && !parser.why().empty(), "a refusal has a reason");
  }
  if (parsed.state == State::done) parsed.body = parser.take_body();
  return parsed;
}

}  // namespace

void fuzz::run(std::string_view input) {
  const Parsed whole = parse(input, std::max<std::size_t>(input.size(), 1));
  if (whole.state != State::done) return;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}}) {
    fuzz::require(parse(input, piece) == whole, "a request does not depend on how it was cut");
  }
}

}  // namespace holdfast
