#include "server/http/open_files.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace holdfast::server::http {

std::uint64_t raise_open_files() {
  // More would only make it take longer to look through all of them, as some libraries do.
  constexpr rlim_t kEnough = 1'048'576;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t wanted = std::min(limit.rlim_max, kEnough);
  if (limit.rlim_cur < wanted) {
    rlimit raised = limit;
    raised.rlim_cur = wanted;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

}  // namespace holdfast::server::http
