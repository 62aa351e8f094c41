// A C++ file taken apart as far as the layer rules need it: includes, code and string literals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::layers {

/// Whether an identifier can have it.
bool is_word(char c);

struct Include {
  std::string name{};
  bool quoted = false;
  int line = 0;
};

struct Literal {
  std::string text{};  ///< as written, escapes and all; neighbours that the compiler joins are one literal
  int line = 0;
};

struct SourceText {
  std::vector<Include> includes{};
  std::vector<Literal> literals{};
  std::string code{};  ///< line by line as in the file, without comments, literals' insides and includes
};

/// Takes any text; what is not C++ gives a result that is of no use, but never an error.
SourceText take_apart(std::string_view text);

}  // namespace holdfast::layers
