#include "client/bodies.hpp"

#include <utility>

namespace holdfast::bodies {

Outcome outcome_of(Result<Payload> result) {
  if (result) return {std::nullopt, *std::move(result)};
  return {std::move(result).error(), {}};
}

}  // namespace holdfast::bodies
