// Asks: questions to instances, on their way from who asks to a worker that has the code. They are no
// messages of the instance: they wake no turn, nothing is kept of them, and one that gets lost is a time-out.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/workers.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::store {

/// Names one question.
using AskId = Token<struct AskIdTag>;

/// A question to one life of an instance.
struct Ask {
  AskId id{};
  InstanceKey key{};
  std::string name{};
  std::string arguments{};  ///< bytes of who asks
  Duration within{};        ///< nobody waits for the answer after that
  /// Who can answer: the code of the instance, and the build that ran it last.
  CodeVersion code{};
  std::uint64_t build = 0;
  friend bool operator==(const Ask&, const Ask&) = default;
};

/// What became of a question.
struct AskAnswer {
  enum class Kind : std::uint8_t {
    answered,  ///< `body` has the answer
    no_code,   ///< the worker has no code for the instance; `body` says what is missing, for people
    gone,      ///< there is no such instance
    busy,      ///< too many questions wait
  };
  AskId id{};
  Kind kind = Kind::answered;
  std::string body{};
  friend bool operator==(const AskAnswer&, const AskAnswer&) = default;
};

/// So many questions of a namespace may wait in a store.
inline constexpr std::size_t kMaxAsks = 1000;

/// What a worker wants to answer.
struct AskRequest {
  WorkerKey worker{};
  const Code* code = nullptr;
  Duration lease{};  ///< nobody else is given the same questions for so long
  std::size_t max = 100;
};

/// A question that waits in a store, or its answer.
struct AskRow {
  Ask ask{};
  Duration left{};       ///< of `within`
  WorkerKey taken_by{};  ///< 0: nobody
  Duration taken_for{};  ///< what is left of that worker's lease
  bool answered = false;
  AskAnswer answer{};  ///< then
  friend bool operator==(const AskRow&, const AskRow&) = default;
};

/// Where those who ask and those who answer meet without a store between them: in one process, with the same
/// Store object. Any thread; nobody is called under its mutex.
class LocalAsks {
 public:
  /// Called once, by any thread, and does not wait.
  using Done = std::function<void(AskAnswer)>;

  /// A worker that answers.
  class Taker {
   public:
    Taker() = default;
    virtual ~Taker() = default;
    Taker(const Taker&) = delete;
    Taker& operator=(const Taker&) = delete;
    /// Takes a question to be answered soon, by another thread. False when it takes none; then `done` is not
    /// called.
    virtual bool take(const Ask& ask, const Done& done) = 0;
  };

  LocalAsks();
  ~LocalAsks();
  LocalAsks(const LocalAsks&) = delete;
  LocalAsks& operator=(const LocalAsks&) = delete;

  /// It is asked for as long as somebody else keeps it alive.
  void attach(std::weak_ptr<Taker> taker);
  /// Gives a question to a worker here, to the first after number `after` that takes it. Its number, from 1;
  /// 0 when none does.
  std::uint64_t offer(const Ask& ask, const Done& done, std::uint64_t after = 0);

 private:
  class Shared;
  const std::unique_ptr<Shared> shared_;
};

}  // namespace holdfast::store
