// Logs as lines of JSON on stderr, for what collects them.
#pragma once

#include <holdfast/log.hpp>

#include <memory>
#include <string>

namespace holdfast::server {

/// A record as one line of JSON: `{"time":"...","level":"info","message":"...","instance":"order-7"}`. Fields
/// that are called like one of the first three have a `_` in front.
[[nodiscard]] std::string json_line(const LogRecord& record);
[[nodiscard]] std::shared_ptr<Logger> json_logger(LogLevel minimum);

}  // namespace holdfast::server
