#include "contract/namespaces.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>

#include <utility>

namespace holdfast::store {

void check_namespace(const std::string& ns) {
  if (std::string problem = detail::name_problem("a namespace", ns); !problem.empty())
    throw StoreOpenError(StoreOpenError::Kind::invalid, std::move(problem));
}

void refuse_missing_namespace(const std::string& ns, NotMade why) {
  throw StoreOpenError(StoreOpenError::Kind::missing,
                       "the store has no namespace '" + ns +
                           "', and it was not to be made; correct the name, or " +
                           (why == NotMade::read_only ? "open it once without read_only" : "set `create`"));
}

}  // namespace holdfast::store
