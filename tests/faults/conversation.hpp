// What the workers of several hosts run.
#pragma once

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::faults {

/// Where one line was said.
struct Said {
  std::string node{};
  std::uint64_t generation = 0;
};

/// One line after the other, until it is told to end.
inline Task<std::vector<Said>> converse(Context& ctx, std::string session) {
  auto end = ctx.event<int>("end").start();
  std::vector<Said> said;
  for (int i = 0; !end.ready(); ++i) {
    said.push_back(co_await ctx.activity<Said>("say", {.session = session}, i));
    co_await ctx.sleep(std::chrono::milliseconds(20));
  }
  co_return said;
}

}  // namespace holdfast::faults
