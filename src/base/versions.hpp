// Versions of orchestrations: what they look like, and which of two is the newer one.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::detail {

/// A version as it is kept and compared: one to three numbers with dots, and perhaps a pre-release, as in
/// semver.org; in its shortest form, so that versions which are equal are the same text: "2.0.0" and "2" are
/// "2", "1.10.0-rc.1" is "1.10-rc.1". Empty stays empty: none is named. Throws Error of type
/// `invalid_version`.
std::string checked_version(std::string_view version);
/// The same of what is asked for, which may be a range, too (version_ranges.hpp); newest_version is empty.
std::string wanted_version(std::string_view version);

// Of versions that were checked.

/// Whether `a` is older than `b`: "1.9" < "1.10" < "2-alpha" < "2-rc.2" < "2-rc.10" < "2" < "2.0.1".
bool older_version(std::string_view a, std::string_view b);
/// Whether it is taken only by those who name it.
bool is_prerelease(std::string_view version);

}  // namespace holdfast::detail
