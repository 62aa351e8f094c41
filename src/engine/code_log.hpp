// What orchestrations write with ctx.log(), on its way out of the engine.
#pragma once

#include <holdfast/ids.hpp>
#include <holdfast/log.hpp>

#include <functional>
#include <span>
#include <string_view>

namespace holdfast::engine {

/// A line that code wrote. It owns nothing.
struct CodeLine {
  LogLevel level = LogLevel::info;
  std::string_view message{};
  std::span<const LogField> fields{};
  std::string_view instance{};
  std::string_view orchestration{};
  ExecutionNumber execution{};
};

/// Takes such lines, in the thread that runs the code.
using CodeLog = std::function<void(const CodeLine&)>;

}  // namespace holdfast::engine
