#include "runtime/answering.hpp"

#include <optional>
#include <utility>

namespace holdfast::runtime {

namespace {

constexpr EventId kEnd{~std::uint64_t{0}};

Frame new_frame(const Answering& work) {
  return work.home ? work.home->make(work.identity, work.code) : make_frame(work.identity, work.code);
}

/// What replay came to.
struct Replayed {
  bool given_up = false;
  std::optional<engine::Problem> problem{};
};

/// All turns that begin before that event.
Replayed replay(Answering& work, AnswerHost& host, EventId before) {
  for (const store::Segment& segment : work.history) {
    if (segment.first_event >= before) break;
    host.begin(work, work.replay_limit);
    auto replayed = work.frame->replay(segment.bytes);
    if (!host.came_back(work)) return {.given_up = true};
    if (!replayed) return {.problem = std::move(replayed).error()};
  }
  return {};
}

/// The first event of the turn that has this one.
EventId turn_with(const Answering& work, EventId event) {
  EventId first{};
  for (const store::Segment& segment : work.history) {
    if (segment.first_event <= event) first = segment.first_event;
  }
  return first;
}

/// Makes the frame as history is, or as it was after the last turn that the code fits: then `problem` says
/// why it fits no more. True when it can be asked.
bool make_current(Answering& work, AnswerHost& host, std::optional<engine::Problem>& problem) {
  const bool from_beginning = !work.frame;
  if (from_beginning) work.frame = new_frame(work);
  Replayed replayed = replay(work, host, kEnd);
  if (replayed.problem) {
    problem = std::move(replayed.problem);
    work.frame.reset();
    if (!from_beginning) {
      work.came = Answering::Came::differs;
      return false;
    }
    work.frame = new_frame(work);
    replayed = replay(work, host, turn_with(work, problem->event));
  }
  if (replayed.given_up) {
    work.came = Answering::Came::given_up;
  } else if (!work.frame->begun() && !problem) {
    work.came = Answering::Came::not_begun;
  } else if (work.frame->continues()) {
    work.came = Answering::Came::continued;
  }
  return work.came == Answering::Came::answered;
}

engine::Asked fits_nowhere(const engine::Problem& problem) {
  return {Unexpected(
      Failure{.category = Category::nondeterminism,
              .type = "query_unfit",
              .message = "the code does not fit the first turn of its history: " + engine::describe(problem),
              .retryable = false})};
}

/// The answer to one question; nothing when it was given up.
std::optional<engine::Asked> ask(Answering& work, AnswerHost& host, const store::Ask& question) {
  const auto arguments = bodies::read<Payload>(question.arguments);
  host.begin(work, work.handler_limit);
  engine::Asked asked =
      arguments ? work.frame->ask(question.name, *arguments)
                : engine::Asked{Unexpected(Failure{.category = Category::decode,
                                                   .type = "query_unreadable",
                                                   .message = "the arguments of the query can't be read",
                                                   .retryable = false})};
  if (!host.came_back(work)) return std::nullopt;
  return asked;
}

}  // namespace

void work_on(Answering& work, AnswerHost& host) {
  std::optional<engine::Problem> problem;
  if (!make_current(work, host, problem)) return;
  bodies::Answer answer{.execution = work.identity.execution,
                        .event = EventId{work.frame->next_event().value - 1},
                        .behind = problem.has_value()};
  for (const store::Ask& question : work.asks) {
    std::optional<engine::Asked> asked =
        work.frame->begun() ? ask(work, host, question) : fits_nowhere(*problem);
    if (asked) {
      const bodies::Outcome outcome = bodies::outcome_of(std::move(asked->answer));
      answer.failure = outcome.failure;
      answer.value = outcome.value;
    }
    if (!asked || !host.answered(work, answer)) {
      work.came = Answering::Came::given_up;
      return;
    }
    if (asked->spoiled) {
      work.frame.reset();
      return;
    }
  }
  if (problem) work.frame.reset();
}

}  // namespace holdfast::runtime
