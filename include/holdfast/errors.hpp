// Failure, the record of what went wrong, and the exceptions that carry one.
#pragma once

#include <holdfast/ids.hpp>
#include <holdfast/payload.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast {

/// The kinds of failure that code tells apart. Everything finer is in Failure::type.
enum class Category : std::uint8_t {
  application,     ///< user code failed: an activity or orchestration threw
  timeout,         ///< a deadline passed
  cancelled,       ///< it was asked to stop
  terminated,      ///< it was ended without running its code
  session,         ///< its worker session was lost, closed, expired or aborted
  poison,          ///< it crashed every worker that ran it
  limit,           ///< a size or count was over its limit
  decode,          ///< bytes could not be read as the type that was asked for
  nondeterminism,  ///< the code no longer matches its history
  store,           ///< the store refused or could not answer
};

/// The name of a category as it is written in JSON, logs and metrics.
std::string_view to_string(Category category) noexcept;

/// What went wrong, as data: it goes from process to process, is kept in history, and can be inspected by
/// code. Every member has an initialiser, so that designated initialisers may leave members out without a
/// warning.
struct Failure {
  Category category = Category::application;
  std::string type{};  ///< matched by `non_retryable`: the user's, or one of Holdfast such as `session_lost`
  std::string message{};  ///< one sentence for a person
  std::string source{};   ///< what failed, as "<kind> <name>": "activity charge", "orchestration order-7"
  EventId event{};        ///< the history event of the operation that failed; 0 when there is none
  int attempt = 0;        ///< the attempt that failed last; 0 when there were no attempts
  bool retryable = true;
  Payload details{kJsonEncoding, "null"};
  std::shared_ptr<const Failure> cause{};

  friend bool operator==(const Failure& a, const Failure& b);
};

/// The failure and its chain of causes in one line, for logs and for `what()`.
std::string describe(const Failure& failure);

/// Base of all errors that Holdfast throws at user code. Copies share the failure; copying doesn't throw.
class Error : public std::exception {
 public:
  explicit Error(Failure failure);
  [[nodiscard]] const Failure& failure() const noexcept { return state_->failure; }
  [[nodiscard]] const char* what() const noexcept override { return state_->text.c_str(); }

 private:
  struct State {
    Failure failure;
    std::string text;
  };
  std::shared_ptr<const State> state_;
};

/// An activity failed for good: its retry policy allows no further attempt.
class ActivityError : public Error {
 public:
  using Error::Error;
};
/// A child orchestration failed, was cancelled or was terminated.
class ChildError : public Error {
 public:
  using Error::Error;
};
/// A deadline passed before the operation completed.
class TimeoutError : public Error {
 public:
  using Error::Error;
};
/// The worker that held the session is gone, and the session's policy forbids another to take over.
class SessionLost : public Error {
 public:
  using Error::Error;
};
/// The session was closed before the activity could run.
class SessionClosed : public Error {
 public:
  using Error::Error;
};
/// The session's time to live (TTL) was over before the activity could run.
class SessionExpired : public Error {
 public:
  using Error::Error;
};
/// An activity of the session declared its state unusable.
class SessionAborted : public Error {
 public:
  using Error::Error;
};
/// A payload could not be read as the type that was asked for.
class DecodeError : public Error {
 public:
  using Error::Error;
};
/// A size or count was over its limit.
class LimitError : public Error {
 public:
  using Error::Error;
};

/// Code that may only read asked for something that would be recorded, drawn or dropped: in a query handler,
/// or in the function of a side effect. A mistake of the program.
class ReadOnlyError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
/// A query was not answered. The type of the failure says why: `query_not_found`, `query_handler_gone`,
/// `query_timeout`, `query_not_started`, `query_busy`, `query_no_worker`, `query_slow`, `query_too_large`,
/// `query_unfit`, `read_only`; for what the handler threw, the type of that.
class QueryError : public Error {
 public:
  using Error::Error;
};

/// Base of what Run::wait() throws when there is no result.
class RunError : public Error {
 public:
  using Error::Error;
};
/// The instance failed.
class RunFailed : public RunError {
 public:
  using RunError::RunError;
};
/// The instance was cancelled or terminated: the category of the failure says which.
class RunCancelled : public RunError {
 public:
  using RunError::RunError;
};
/// The instance has not ended within the timeout of the call. It goes on.
class RunTimedOut : public RunError {
 public:
  using RunError::RunError;
};

/// A call of a client was refused. `kind()` says whether trying again can help.
class ClientError : public Error {
 public:
  enum class Kind : std::uint8_t {
    conflict,    ///< the id is taken by something else
    not_found,   ///< there is nothing with that id
    invalid,     ///< the request itself is wrong
    damaged,     ///< what the store has of it can't be read any more
    unavailable  ///< the store can't be reached now; the same call may succeed later
  };
  ClientError(Kind kind, std::string message);
  [[nodiscard]] Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

std::string_view to_string(ClientError::Kind kind) noexcept;

/// A store can't be opened. Nothing was changed; the message says what is wrong and what to do.
class StoreOpenError : public Error {
 public:
  enum class Kind : std::uint8_t {
    missing,        ///< there is none, and the options say not to create it
    not_a_store,    ///< another program's database, or no database at all
    newer,          ///< written by a newer version of Holdfast
    corrupt,        ///< the file is damaged
    read_only,      ///< it can't be written
    invalid,        ///< the address or the options are wrong: a malformed URI, an invalid schema name
    no_database,    ///< the server has no database of that name
    no_access,      ///< the server refuses the role: unknown, a wrong password, or a right is missing
    no_schema,      ///< the schema doesn't exist, and the role may not create it
    no_directory,   ///< the folder doesn't exist
    network_mount,  ///< locks and shared memory don't work there
    disk_full,
    busy,        ///< another process keeps it locked
    unavailable  ///< any other temporary condition
  };
  StoreOpenError(Kind kind, std::string message);
  [[nodiscard]] Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

std::string_view to_string(StoreOpenError::Kind kind) noexcept;

/// Thrown at an await of an orchestration that was asked to stop. It is neither an Error nor a
/// std::exception, so that code which handles failures does not swallow a cancellation by accident.
class Cancelled {
 public:
  explicit Cancelled(Failure failure);
  [[nodiscard]] const Failure& failure() const noexcept { return error_.failure(); }
  [[nodiscard]] const char* what() const noexcept { return error_.what(); }

 private:
  Error error_;
};

/// What an activity throws to fail with an error type of its own. Other exceptions work too: the type of
/// their failure is their C++ type.
class ActivityFailure : public std::runtime_error {
 public:
  /// `type` is matched by `RetryPolicy::non_retryable`; `retryable = false` ends the retries at once.
  ActivityFailure(std::string type, const std::string& message, bool retryable = true);
  ActivityFailure(std::string type, const std::string& message, Payload details, bool retryable = true);

  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] const Payload& details() const noexcept { return details_; }
  [[nodiscard]] bool retryable() const noexcept { return retryable_; }

 private:
  std::string type_;
  Payload details_;
  bool retryable_;
};

/// Throws the exception of a failure: Cancelled (if it has no source: a child that was cancelled is a
/// ChildError), TimeoutError, SessionLost, ...; for the other categories ChildError when its source is an
/// orchestration, ActivityError when it is an activity.
[[noreturn]] void throw_failure(Failure failure);

}  // namespace holdfast
