// Filters of instances as text: `status in (running, parked) and created > -2d`.
#include "client/conditions.hpp"

#include <holdfast/client.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/status.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

namespace {

struct Token {
  enum class Kind : std::uint8_t { word, text, symbol, end };
  Kind kind = Kind::end;
  std::string text{};
  std::size_t column = 1;  ///< of its first byte, from 1
};

std::string words_of(const Token& token) {
  return token.kind == Token::Kind::end ? "the end of the filter" : "'" + token.text + "'";
}

[[noreturn]] void refuse(std::size_t column, const std::string& why) {
  throw Error(Failure{.type = "invalid_filter",
                      .message = "in the filter, at column " + std::to_string(column) + ": " + why,
                      .retryable = false});
}

/// Words, texts in quotes, and symbols.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { next(); }

  [[nodiscard]] const Token& now() const noexcept { return token_; }
  Token take() {
    Token token = std::move(token_);
    next();
    return token;
  }
  [[nodiscard]] bool at_word(std::string_view word) const {
    return token_.kind == Token::Kind::word && std::ranges::equal(token_.text, word, {}, to_lower);
  }
  bool take_word(std::string_view word) {
    if (!at_word(word)) return false;
    next();
    return true;
  }
  bool take_symbol(std::string_view symbol) {
    if (token_.kind != Token::Kind::symbol || token_.text != symbol) return false;
    next();
    return true;
  }

 private:
  static char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

  void next() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    token_ = {.column = at_ + 1};
    if (at_ == text_.size()) return;
    if (text_[at_] == '"') return take_text();
    constexpr std::string_view kSymbols = "(),=<>!";
    const bool is_symbol = kSymbols.find(text_[at_]) != std::string_view::npos;
    token_.kind = is_symbol ? Token::Kind::symbol : Token::Kind::word;
    const std::size_t end = is_symbol ? end_of_symbol() : text_.find_first_of(" \t\r\n(),=<>!\"", at_);
    token_.text = text_.substr(at_, end - at_);
    at_ = std::min(end, text_.size());
  }
  [[nodiscard]] std::size_t end_of_symbol() const {
    const bool compares = text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '!';
    return at_ + (compares && text_.substr(at_ + 1).starts_with('=') ? 2 : 1);
  }
  void take_text() {
    token_.kind = Token::Kind::text;
    while (++at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      token_.text += text_[at_];
    }
    if (at_ == text_.size()) refuse(token_.column, "the quotation mark is not closed");
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Token token_{};
};

constexpr std::array kStatuses{Status::running, Status::suspended, Status::parked,    Status::completed,
                               Status::failed,  Status::cancelled, Status::terminated};

Status status_of(const Token& token) {
  for (const Status status : kStatuses) {
    if (to_string(status) == token.text) return status;
  }
  std::string all;
  for (const Status status : kStatuses) all += (all.empty() ? "" : ", ") + std::string(to_string(status));
  refuse(token.column, words_of(token) + " is no status; there are " + all);
}

std::optional<Duration> unit_of(char letter) {
  switch (letter) {
    case 's':
      return std::chrono::seconds(1);
    case 'm':
      return std::chrono::minutes(1);
    case 'h':
      return std::chrono::hours(1);
    case 'd':
      return std::chrono::days(1);
    case 'w':
      return std::chrono::weeks(1);
    default:
      return std::nullopt;
  }
}

// "-2d": so long ago.
std::optional<CalendarTime> relative_time(std::string_view text, CalendarTime now) {
  constexpr std::int64_t kMost = 1'000'000;  // weeks, too, stay within the range of times
  if (text.size() < 3 || text.front() != '-') return std::nullopt;
  const std::optional<Duration> unit = unit_of(text.back());
  text.remove_prefix(1);
  text.remove_suffix(1);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (!unit || error != std::errc() || end != text.data() + text.size() || count < 0 || count > kMost)
    return std::nullopt;
  return now - count * *unit;
}

// "+2d": so much later.
std::optional<CalendarTime> time_in(std::string_view text, CalendarTime now) {
  if (text == "now") return now;
  if (text.starts_with('+')) {
    const auto before = relative_time("-" + std::string(text.substr(1)), now);
    return before ? std::optional(now + (now - *before)) : std::nullopt;
  }
  if (const auto time = relative_time(text, now)) return time;
  for (const char* const rest : {"", "T00:00:00Z"}) {
    const auto time = decode<CalendarTime>(encode(std::string(text) + rest));
    if (time) return *time;
  }
  return std::nullopt;
}

CalendarTime time_of(const Token& token, CalendarTime now) {
  if (const auto time = time_in(token.text, now)) return *time;
  refuse(token.column, words_of(token) +
                           " is no time; write 2027-03-28T01:00:00Z, 2027-03-28, now, or how long ago: "
                           "-90s, -30m, -12h, -2d, -1w");
}

template <class T>
std::optional<T> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What a value of an attribute is: its form says its type.
AttributeValue attribute_value_of(const Token& token, CalendarTime now) {
  const std::string& text = token.text;
  if (token.kind == Token::Kind::text) return text;
  if (text == "true" || text == "false") return text == "true";
  const bool is_like_a_number = text.find_first_not_of("+-0123456789.eE") == std::string::npos &&
                                text.find_first_of("0123456789") == text.find_first_not_of("+-.");
  if (const auto time = time_in(text, now)) return *time;
  if (!is_like_a_number || text.empty()) return text;
  if (text.find_first_not_of("+-0123456789") == std::string::npos) {
    if (const auto number = number_in<std::int64_t>(text)) return *number;
    refuse(token.column, words_of(token) + " is no integer of 64 bits with a sign");
  }
  if (const auto number = number_in<double>(text)) return *number;
  refuse(token.column, words_of(token) + " is no number; texts that look like one stand in quotes");
}

class Parser {
 public:
  Parser(std::string_view text, CalendarTime now) : in_(text), now_(now) {}

  ListFilter parse() {
    if (!in_.at_word("order") && in_.now().kind != Token::Kind::end) {
      do {
        condition();
      } while (in_.take_word("and"));
    }
    if (in_.take_word("order")) order();
    if (in_.now().kind != Token::Kind::end) {
      refuse(in_.now().column, "'and', 'order by' or the end is expected, not " + words_of(in_.now()));
    }
    return std::move(filter_);
  }

 private:
  void condition() {
    const Token field = in_.take();
    if (field.kind == Token::Kind::text) return attribute(field);
    if (field.kind != Token::Kind::word)
      refuse(field.column, "the name of a field is expected, not " + words_of(field));
    if (field.text == "status") return statuses();
    if (field.text == "created") return created();
    if (field.text == "id") return id();
    if (field.text == "orchestration") return same(field, filter_.orchestration);
    if (field.text == "version") return same(field, filter_.version);
    if (field.text == "parent") return same(field, filter_.parent);
    attribute(field);
  }

  // Whatever is no field is an attribute.
  void attribute(const Token& name) {
    using Is = AttributeCondition::Is;
    if (std::string problem = detail::name_problem("an attribute", name.text); !problem.empty())
      refuse(name.column, problem);
    AttributeCondition condition{.name = name.text};
    const Token symbol = in_.now();
    if (in_.take_word("has")) {
      condition.is = Is::has;
    } else if (in_.take_word("starts")) {
      if (!in_.take_word("with")) refuse(in_.now().column, "'with' is expected, not " + words_of(in_.now()));
      condition.is = Is::starts_with;
    } else {
      condition.is = comparison(name);
    }
    const Token wanted = value();
    const bool of_texts = condition.is == Is::has || condition.is == Is::starts_with;
    condition.value = of_texts ? AttributeValue(wanted.text) : attribute_value_of(wanted, now_);
    if (const std::string problem = client::problem_of(condition); !problem.empty())
      refuse(symbol.column, problem);
    filter_.attributes.push_back(std::move(condition));
  }

  AttributeCondition::Is comparison(const Token& name) {
    using Is = AttributeCondition::Is;
    constexpr std::array<std::pair<std::string_view, Is>, 5> kSymbols{
        {{"=", Is::equal}, {"<", Is::below}, {"<=", Is::at_most}, {">", Is::above}, {">=", Is::at_least}}};
    for (const auto& [symbol, is] : kSymbols) {
      if (in_.take_symbol(symbol)) return is;
    }
    refuse(
        in_.now().column,
        "=, <, <=, >, >=, has or starts with is expected, not " + words_of(in_.now()) + "; " +
            words_of(name) +
            " is taken for an attribute: fields are status, orchestration, version, id, parent and created");
  }

  Token value() {
    if (in_.now().kind == Token::Kind::symbol || in_.now().kind == Token::Kind::end)
      refuse(in_.now().column, "a value is expected, not " + words_of(in_.now()));
    return in_.take();
  }

  void expect(std::string_view symbol) {
    if (!in_.take_symbol(symbol))
      refuse(in_.now().column, "'" + std::string(symbol) + "' is expected, not " + words_of(in_.now()));
  }

  void statuses() {
    if (!filter_.statuses.empty())
      refuse(in_.now().column, "the status is given twice; write status in (running, parked)");
    if (!in_.take_word("in")) {
      expect("=");
      filter_.statuses.push_back(status_of(value()));
      return;
    }
    expect("(");
    do {
      filter_.statuses.push_back(status_of(value()));
    } while (in_.take_symbol(","));
    expect(")");
  }

  void same(const Token& field, std::string& member) {
    expect("=");
    if (!member.empty()) refuse(field.column, words_of(field) + " is given twice");
    const Token wanted = value();
    if (wanted.text.empty()) refuse(wanted.column, words_of(field) + " can't be empty");
    member = wanted.text;
  }

  // Instances are found by the beginning of their ids.
  void id() {
    const Token field = in_.now();
    if (!in_.take_word("starts") || !in_.take_word("with")) {
      refuse(field.column,
             "an id is asked for as id starts with \"order-\"; whoever has the whole id asks for the run");
    }
    if (!filter_.prefix.empty()) refuse(field.column, "the id is given twice");
    const Token prefix = value();
    if (prefix.text.empty()) refuse(prefix.column, "the beginning of an id can't be empty");
    filter_.prefix = prefix.text;
  }

  void created() {
    const Token symbol = in_.take();
    const bool from = symbol.text == ">" || symbol.text == ">=";
    if (symbol.kind != Token::Kind::symbol || (!from && symbol.text != "<" && symbol.text != "<="))
      refuse(symbol.column, "a time is compared by >, >=, < or <=, not by " + words_of(symbol));
    CalendarTime time = time_of(value(), now_);
    if (symbol.text == ">" || symbol.text == "<=") time += Duration(1);
    std::optional<CalendarTime>& bound = from ? filter_.created_from : filter_.created_before;
    if (bound) refuse(symbol.column, "this end of the time is given twice");
    bound = time;
  }

  // The newest first, or by an attribute whose type a condition says: these are what indexes serve.
  void order() {
    if (!in_.take_word("by")) refuse(in_.now().column, "'by' is expected, not " + words_of(in_.now()));
    const Token field = in_.take();
    const auto asked = std::ranges::find_if(filter_.attributes, [&](const AttributeCondition& condition) {
      return condition.name == field.text && condition.is != AttributeCondition::Is::has;
    });
    const bool by_created = field.kind == Token::Kind::word && field.text == "created";
    const bool by_attribute = !by_created && asked != filter_.attributes.end();
    const bool ascends = in_.take_word("asc");
    const bool descends = !ascends && in_.take_word("desc");
    if (by_created && descends) return;
    if (by_attribute) {
      filter_.order = {field.text, client::type_asked(*asked), descends};
      return;
    }
    refuse(field.column, "no index serves an order by " + words_of(field) + (ascends ? " asc" : "") +
                             (descends ? " desc" : "") +
                             "; possible are: " + client::possible_orders(filter_));
  }

  Lexer in_;
  CalendarTime now_;
  ListFilter filter_{};
};

}  // namespace

ListFilter parse_filter(std::string_view text, CalendarTime now) { return Parser(text, now).parse(); }
ListFilter parse_filter(std::string_view text) { return parse_filter(text, real_clock().calendar_now()); }

}  // namespace holdfast
