// Plans: what a client asks of one instance, and what has to come of it. A plan follows from a seed, its
// client and a number, so that a client that was killed knows what it was about to do.
#pragma once

#include <holdfast/client.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::torture {

/// What the instance does; see program.cpp.
enum class Shape : std::uint8_t { chain, fan, naps, family, inbox, lives, gate, flaky, stubborn, talk, desk };

struct Plan {
  std::uint64_t number = 0;
  std::string id{};
  Shape shape = Shape::chain;
  std::uint64_t seed = 0;
  int size = 1;
};

Plan plan_of(std::uint64_t seed, std::uint64_t client, std::uint64_t number);

/// The instances that come of it: its own, and its children's.
std::vector<std::string> instances_of(const Plan& plan);
std::string child_of(const std::string& parent, std::uint64_t number);

/// How many calls the client makes for it. They are made in their order, each again until it is acknowledged.
int calls_of(const Plan& plan);
/// Which of them is the start.
int start_of(const Plan& plan);
/// Throws ClientError. `again`: nobody knows whether it took effect before, when the client was killed.
void make_call(Client& client, const Plan& plan, int call, bool again);

/// What is wrong with how it ended; empty when nothing is. `tries` tells how often a call was begun.
std::string verdict(const Plan& plan, const Run& run, Duration timeout, const std::function<int(int)>& tries);

/// What the activity `mix` computes: no two ways of calling it, in another order or once more, end alike.
constexpr std::uint64_t mix(std::uint64_t x, std::uint64_t y) noexcept {
  x += 0x9e3779b97f4a7c15U * (y + 1);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace holdfast::torture
