#include <holdfast/errors.hpp>

#include <array>
#include <utility>

namespace holdfast {

namespace {

constexpr std::array<std::string_view, 10> kCategoryNames = {
    "application", "timeout", "cancelled", "terminated",     "session",
    "poison",      "limit",   "decode",    "nondeterminism", "store"};

std::string_view verb_of(Category category) {
  if (category == Category::cancelled) return " was cancelled";
  return category == Category::terminated ? " was terminated" : " failed";
}

void append_description(std::string& text, const Failure& failure) {
  if (!failure.source.empty()) text.append(failure.source).append(verb_of(failure.category));
  if (failure.attempt > 1) text.append(" after ").append(std::to_string(failure.attempt)).append(" attempts");
  if (!text.empty() && text.back() != ' ') text.append(": ");
  text.append(failure.message.empty() ? to_string(failure.category) : std::string_view(failure.message));
  if (!failure.type.empty()) text.append(" (").append(failure.type).append(")");
  if (failure.cause) {
    std::string cause;
    append_description(cause, *failure.cause);
    text.append("; caused by: ").append(cause);
  }
}

[[noreturn]] void throw_session_error(Failure failure) {
  if (failure.type == "session_closed") throw SessionClosed(std::move(failure));
  if (failure.type == "session_expired") throw SessionExpired(std::move(failure));
  if (failure.type == "session_aborted") throw SessionAborted(std::move(failure));
  throw SessionLost(std::move(failure));
}

constexpr std::string_view client_error_type(ClientError::Kind kind) {
  switch (kind) {
    case ClientError::Kind::conflict:
      return "conflict";
    case ClientError::Kind::not_found:
      return "not_found";
    case ClientError::Kind::invalid:
      return "invalid";
    case ClientError::Kind::damaged:
      return "damaged";
    case ClientError::Kind::unavailable:
      break;
  }
  return "unavailable";
}

}  // namespace

std::string_view to_string(Category category) noexcept {
  const auto index = static_cast<std::size_t>(category);
  return index < kCategoryNames.size() ? kCategoryNames[index] : "unknown";
}

bool operator==(const Failure& a, const Failure& b) {
  const bool same_cause = a.cause && b.cause ? *a.cause == *b.cause : a.cause == b.cause;
  return same_cause && a.category == b.category && a.type == b.type && a.message == b.message &&
         a.source == b.source && a.event == b.event && a.attempt == b.attempt && a.retryable == b.retryable &&
         a.details == b.details;
}

std::string describe(const Failure& failure) {
  std::string text;
  append_description(text, failure);
  return text;
}

Error::Error(Failure failure) {
  std::string text = describe(failure);
  state_ = std::make_shared<const State>(State{std::move(failure), std::move(text)});
}

ClientError::ClientError(Kind kind, std::string message)
    : Error(Failure{.category = Category::store,
                    .type = std::string(client_error_type(kind)),
                    .message = std::move(message),
                    .retryable = kind == Kind::unavailable}),
      kind_(kind) {}

StoreOpenError::StoreOpenError(Kind kind, std::string message)
    : Error(Failure{.category = Category::store,
                    .type = "store_open",
                    .message = std::move(message),
                    .retryable = kind == Kind::busy || kind == Kind::unavailable || kind == Kind::disk_full}),
      kind_(kind) {}

Cancelled::Cancelled(Failure failure) : error_(std::move(failure)) {}

ActivityFailure::ActivityFailure(std::string type, const std::string& message, bool retryable)
    : ActivityFailure(std::move(type), message, Payload{kJsonEncoding, "null"}, retryable) {}

ActivityFailure::ActivityFailure(std::string type, const std::string& message, Payload details,
                                 bool retryable)
    : std::runtime_error(message),
      type_(std::move(type)),
      details_(std::move(details)),
      retryable_(retryable) {}

void throw_failure(Failure failure) {
  switch (failure.category) {
    case Category::cancelled:
      // With a source it is somebody else who was cancelled, which is no reason for the code to stop itself.
      if (failure.source.empty()) throw Cancelled(std::move(failure));
      break;
    case Category::timeout:
      throw TimeoutError(std::move(failure));
    case Category::session:
      throw_session_error(std::move(failure));
    case Category::decode:
      throw DecodeError(std::move(failure));
    case Category::limit:
      throw LimitError(std::move(failure));
    case Category::application:
    case Category::terminated:
    case Category::poison:
    case Category::nondeterminism:
    case Category::store:
      break;
  }
  if (failure.source.starts_with("orchestration ")) throw ChildError(std::move(failure));
  if (failure.source.starts_with("activity ")) throw ActivityError(std::move(failure));
  throw Error(std::move(failure));
}

}  // namespace holdfast
