#include "testkit/conformance/model/program_text.hpp"

#include <charconv>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace holdfast {

using testing::model::Made;

void Codec<Made>::write(JsonWriter& out, const Made& made) {
  out.string(std::to_string(made.step) + "." + std::to_string(made.nth));
}

bool Codec<Made>::read(JsonReader& in, Made& made) {
  std::string text;
  if (!in.string(text)) return false;
  const char* const end = text.data() + text.size();
  const auto [dot, step_error] = std::from_chars(text.data(), end, made.step);
  if (step_error != std::errc() || dot == end || *dot != '.') return in.fail("expected \"step.number\"");
  const auto [rest, nth_error] = std::from_chars(dot + 1, end, made.nth);
  if (nth_error != std::errc() || rest != end) return in.fail("expected \"step.number\"");
  return true;
}

namespace testing::model {

namespace {

template <class T>
concept HasFields = std::is_aggregate_v<T> && !std::is_same_v<T, Made>;

// Lists and optional values contain others, and others contain them.
template <class T>
void write_brief(JsonWriter& out, const T& value);
template <class T>
void write_brief(JsonWriter& out, const std::vector<T>& values);
template <class T>
void write_brief(JsonWriter& out, const std::optional<T>& value);

template <class T, std::size_t... I>
void write_fields(JsonWriter& out, const T& value, std::index_sequence<I...>) {
  const T plain{};
  const auto members = holdfast::detail::fields_of(value);
  const auto defaults = holdfast::detail::fields_of(plain);
  const auto write_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    if (std::get<K>(members) == std::get<K>(defaults)) return;
    out.key(holdfast::detail::field_names<T>[K]);
    write_brief(out, std::get<K>(members));
  };
  out.begin_object();
  (write_one(std::integral_constant<std::size_t, I>{}), ...);
  out.end_object();
}

template <class T>
void write_brief(JsonWriter& out, const std::vector<T>& values) {
  out.begin_array();
  for (const T& value : values) write_brief(out, value);
  out.end_array();
}

template <class T>
void write_brief(JsonWriter& out, const std::optional<T>& value) {
  if (value) {
    write_brief(out, *value);
  } else {
    out.null();
  }
}

template <class T>
void write_brief(JsonWriter& out, const T& value) {
  if constexpr (HasFields<T>) {
    write_fields(out, value, std::make_index_sequence<holdfast::detail::field_count<T>>{});
  } else {
    Codec<T>::write(out, value);
  }
}

template <class Op>
bool read_operation(std::string_view name, std::string_view arguments, Operation& operation) {
  if (name != Op::kName) return false;
  Result<Op> read = decode<Op>({kJsonEncoding, std::string(arguments.empty() ? "{}" : arguments)});
  if (!read) throw std::invalid_argument(read.error().message);
  operation = *std::move(read);
  return true;
}

template <std::size_t... I>
Operation operation_of(std::string_view name, std::string_view arguments, std::index_sequence<I...>) {
  Operation operation;
  const bool known =
      (read_operation<std::variant_alternative_t<I, Operation>>(name, arguments, operation) || ...);
  if (!known) throw std::invalid_argument("there is no operation of that name");
  return operation;
}

// Cuts off the part up to the first space.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return word;
}

Step step_of(std::string_view line) {
  Step step;
  const std::string_view number = take_word(line);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), step.number);
  if (error != std::errc() || end != number.data() + number.size()) {
    throw std::invalid_argument("it doesn't begin with the number of a step");
  }
  const std::string_view name = take_word(line);
  step.operation = operation_of(name, line, std::make_index_sequence<std::variant_size_v<Operation>>{});
  return step;
}

}  // namespace

std::string name_of(const Step& step) {
  return std::visit([](const auto& operation) { return std::string(operation.kName); }, step.operation);
}

std::string to_text(const Step& step) {
  JsonWriter out;
  std::visit([&](const auto& operation) { write_brief(out, operation); }, step.operation);
  std::string text = std::to_string(step.number) + " " + name_of(step);
  if (out.text() != "{}") text.append(" ").append(out.text());
  return text;
}

std::string to_text(const Program& program) {
  std::string text;
  for (const Step& step : program) text.append(to_text(step)).append("\n");
  return text;
}

Program program_of(std::string_view text) {
  Program program;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    try {
      program.push_back(step_of(line));
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument("a step can't be read: " + std::string(line) + ": " + e.what());
    }
  }
  return program;
}

}  // namespace testing::model
}  // namespace holdfast
