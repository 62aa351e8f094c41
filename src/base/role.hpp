// Role: what one thread does at a time, where something else than a mutex sees to that.
#pragma once

#include "base/mutex.hpp"

namespace holdfast {

/// Such as leading a group of calls. Members that belong to it, and functions that need it, say so as with a
/// mutex, and clang checks that. It costs nothing, and keeps nobody out.
class HOLDFAST_CAPABILITY("role") Role {
 public:
  Role() = default;
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;
};

/// This thread has the role, to the end of the scope.
class HOLDFAST_SCOPED_CAPABILITY InRole {
 public:
  explicit InRole(Role& role) HOLDFAST_ACQUIRE(role) { static_cast<void>(role); }
  ~InRole() HOLDFAST_RELEASE() {}  // NOLINT(modernize-use-equals-default): it carries the annotation
  InRole(const InRole&) = delete;
  InRole& operator=(const InRole&) = delete;
};

}  // namespace holdfast
