// What an execution keeps for those who ask it: handlers by name, and states.
#pragma once

#include <holdfast/detail/core.hpp>
#include <holdfast/detail/query_code.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

namespace holdfast::engine {

/// Of one execution. Handlers go before the states that they read.
struct Handlers {
  struct Query {
    std::uint64_t guard = 0;                          ///< its number; 0: it has none
    std::unique_ptr<const detail::QueryCode> code{};  ///< null: its guard is gone
    const void* state = nullptr;                      ///< that it reads
  };
  struct State {
    State(const std::type_info& of, detail::OwnedState made) : type(&of), owned(made) {}
    ~State() { owned.destroy(owned.object); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    const std::type_info* type;
    detail::OwnedState owned;
  };

  std::vector<std::unique_ptr<State>> states{};
  std::map<std::string, Query, std::less<>> queries{};
  std::uint64_t last_guard = 0;
};

/// Names beyond that are made of data.
inline constexpr std::size_t kMaxHandlers = 1000;

}  // namespace holdfast::engine
