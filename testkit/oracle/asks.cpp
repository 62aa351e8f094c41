// Questions between processes.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>

namespace holdfast::testing::oracle {

// When its time is up, with the next of these calls.
void Oracle::forget_late_questions() {
  rows().questions.remove_if([&](const Question& question) { return question.until <= now(); });
}

Question* Oracle::find_question(store::AskId id) const {
  for (Question& question : rows().questions) {
    if (question.ask.id == id) return &question;
  }
  return nullptr;
}

// The same id again changes nothing. `busy` when kMaxAsks wait.
std::vector<StoreResult<void>> Oracle::ask(std::span<const store::Ask> asks) {
  std::vector<StoreResult<void>> answers;
  for (const store::Ask& ask : asks) {
    forget_late_questions();
    const bool known = find_question(ask.id) != nullptr;
    if (!known && rows().questions.size() >= store::kMaxAsks) {
      answers.emplace_back(Unexpected(StoreError{.kind = StoreError::Kind::busy}));
      continue;
    }
    if (!known) rows().questions.push_back({.ask = ask, .until = later(ask.within)});
    answers.emplace_back();
  }
  return answers;
}

// Those that have no answer, and that nobody was given within the lease of that call; whose code the worker
// has.
StoreResult<std::vector<store::Ask>> Oracle::fetch_asks(const store::AskRequest& request) {
  forget_late_questions();
  std::vector<store::Ask> given;
  for (Question& question : rows().questions) {
    if (given.size() == request.max) break;
    if (question.answer || question.given_until > now()) continue;
    if (!has_code(*request.code, question.ask.code, question.ask.build)) continue;
    question.given_to = request.worker;
    question.given_until = later(request.lease);
    given.push_back(question.ask);
    given.back().within = left(question.until);
  }
  return given;
}

// Whoever was given it; the first answer counts.
std::vector<StoreResult<void>> Oracle::answer(std::span<const store::AskAnswer> answers) {
  std::vector<StoreResult<void>> told;
  for (const store::AskAnswer& answer : answers) {
    forget_late_questions();
    Question* const question = find_question(answer.id);
    if (question == nullptr) {
      told.emplace_back(Unexpected(StoreError{.kind = StoreError::Kind::not_found}));
      continue;
    }
    if (!question->answer) question->answer = answer;
    told.emplace_back();
  }
  return told;
}

// Their rows are gone then.
StoreResult<std::vector<store::AskAnswer>> Oracle::take_answers(std::span<const store::AskId> asks) {
  forget_late_questions();
  std::vector<store::AskAnswer> taken;
  for (const store::AskId id : asks) {
    const Question* const question = find_question(id);
    if (question == nullptr || !question->answer) continue;
    taken.push_back(*question->answer);
    rows().questions.remove_if([&](const Question& one) { return one.ask.id == id; });
  }
  return taken;
}

std::vector<store::AskRow> Oracle::view_of_questions() const {
  std::vector<store::AskRow> all;
  for (const Question& question : rows().questions) {
    if (question.until <= now()) continue;
    all.push_back({.ask = question.ask,
                   .left = left(question.until),
                   .taken_by = question.given_to,
                   .taken_for = left(question.given_until),
                   .answered = question.answer.has_value(),
                   .answer = question.answer.value_or(store::AskAnswer{})});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ask.id < b.ask.id; });
  return all;
}

}  // namespace holdfast::testing::oracle
