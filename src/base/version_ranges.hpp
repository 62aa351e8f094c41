// Ranges of versions: "^2.1", "~2.1", ">=2.1 <3".
#pragma once

#include <string>
#include <string_view>

namespace holdfast::detail {

/// Whether a text is meant as a range: it begins with a comparison.
bool is_range(std::string_view text);

/// A range as it is kept: its comparisons with blanks between them, and their versions in their shortest
/// form; one that asks for a single version ("=2.1") is that version. Throws Error of type `invalid_version`.
std::string checked_range(std::string_view range);

// Of what was checked.

/// Whether all comparisons hold. A pre-release is in a range only if a comparison names one of the same three
/// numbers.
bool in_range(std::string_view version, std::string_view range);

}  // namespace holdfast::detail
