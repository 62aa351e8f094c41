#include "source_text.hpp"

#include <algorithm>
#include <cctype>

namespace holdfast::layers {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  SourceText read() {
    while (at_ < text_.size()) {
      if (starts("//")) {
        skip(line_comment_end());
      } else if (starts("/*")) {
        skip(after("*/", at_ + 2));
      } else if (text_[at_] == '#' && at_line_start()) {
        read_directive();
      } else if (text_[at_] == '"') {
        read_string();
      } else if (text_[at_] == '\'') {
        read_quote();
      } else {
        keep(at_ + 1);
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  [[nodiscard]] std::size_t after(std::string_view what, std::size_t from) const {
    const std::size_t found = text_.find(what, from);
    return found == std::string_view::npos ? text_.size() : found + what.size();
  }

  /// Where the line ends; a backslash at its end carries a comment on to the next.
  [[nodiscard]] std::size_t line_comment_end() const {
    std::size_t end = std::min(text_.find('\n', at_), text_.size());
    while (end < text_.size() && text_[end - 1] == '\\')
      end = std::min(text_.find('\n', end + 1), text_.size());
    return end;
  }

  [[nodiscard]] bool at_line_start() const {
    const std::string& code = result_.code;
    for (std::size_t i = code.size(); i > 0 && code[i - 1] != '\n'; --i) {
      if (!is_space(code[i - 1])) return false;
    }
    return true;
  }

  void keep(std::size_t end) { advance(end, true); }
  /// A space for all of it, so that what stood on its two sides stays apart; line ends are kept.
  void skip(std::size_t end) {
    advance(end, false);
    result_.code.push_back(' ');
  }
  void advance(std::size_t end, bool keep_text) {
    for (; at_ < end; ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (keep_text || text_[at_] == '\n') result_.code.push_back(text_[at_]);
    }
  }

  /// Only `#include` is of interest; of any other directive, the text after the '#' is read like code.
  void read_directive() {
    std::size_t i = text_.find_first_not_of(" \t", at_ + 1);
    if (i == std::string_view::npos || !text_.substr(i).starts_with("include")) return keep(at_ + 1);
    i = text_.find_first_not_of(" \t", i + std::string_view("include").size());
    if (i == std::string_view::npos || (text_[i] != '<' && text_[i] != '"')) return keep(at_ + 1);
    const bool quoted = text_[i] == '"';
    const std::size_t end = after(quoted ? "\"" : ">", i + 1);
    result_.includes.push_back({std::string(text_.substr(i + 1, end - i - 2)), quoted, line_});
    skip(end);
  }

  void read_string() {
    const std::string& code = result_.code;
    const bool raw = code.ends_with('R') &&
                     (code.size() < 2 || !is_word(code[code.size() - 2]) ||
                      std::string_view("u8UL").find(code[code.size() - 2]) != std::string_view::npos);
    if (!raw) return add_literal(at_ + 1, closing_quote('"'), 1);
    const std::size_t open = std::min(text_.find('(', at_), text_.size() - 1);
    const std::string closing = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    add_literal(open + 1, after(closing, open), closing.size());
  }

  /// Just behind the quote that ends the literal at the current place.
  [[nodiscard]] std::size_t closing_quote(char quote) const {
    std::size_t i = at_ + 1;
    while (i < text_.size() && text_[i] != quote && text_[i] != '\n') i += text_[i] == '\\' ? 2 : 1;
    return std::min(i + 1, text_.size());
  }

  /// `end` is behind the literal, whose last `closing` characters are not part of its text.
  void add_literal(std::size_t begin, std::size_t end, std::size_t closing) {
    const std::size_t size = end > begin + closing ? end - begin - closing : 0;
    const std::string_view text = text_.substr(begin, size);
    if (joins_last_literal()) {
      result_.literals.back().text.append(text);
    } else {
      result_.literals.push_back({std::string(text), line_});
    }
    skip(end);
    result_.code.append("\"\"");
    literal_end_ = result_.code.size();
  }

  [[nodiscard]] bool joins_last_literal() const {
    return !result_.literals.empty() &&
           std::all_of(result_.code.begin() + static_cast<std::ptrdiff_t>(literal_end_), result_.code.end(),
                       is_space);
  }

  /// A character literal, or the separator in a number such as 10'000.
  void read_quote() {
    const bool in_number = !result_.code.empty() &&
                           std::isxdigit(static_cast<unsigned char>(result_.code.back())) != 0 &&
                           at_ + 1 < text_.size() && is_word(text_[at_ + 1]);
    skip(in_number ? at_ + 1 : closing_quote('\''));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::size_t literal_end_ = 0;
  SourceText result_;
};

}  // namespace

SourceText take_apart(std::string_view text) { return Reader(text).read(); }

}  // namespace holdfast::layers
