// EndedInstance: how an instance ended, as ctx.ended() gives it to orchestrations.
#pragma once

#include <holdfast/codec.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/status.hpp>

#include <optional>

namespace holdfast {

struct EndedInstance {
  Status status = Status::completed;  ///< completed, failed, cancelled or terminated
  std::optional<Payload> output{};    ///< of one that completed
  std::optional<Failure> failure{};   ///< of the others

  [[nodiscard]] bool has_completed() const noexcept { return status == Status::completed; }
  /// Its result as a T, if it has completed; throws DecodeError.
  template <class T>
  [[nodiscard]] std::optional<T> output_as() const {
    if (!output) return std::nullopt;
    return decode<T>(*output).value();
  }
};

}  // namespace holdfast
