#include "plans.hpp"

#include <array>
#include <utility>
#include <vector>

namespace holdfast::torture {
namespace {

constexpr std::array kNames{"chain", "fan",   "naps",     "family", "inbox", "lives",
                            "gate",  "flaky", "stubborn", "talk",   "desk"};

bool is_mailbox(Shape shape) { return shape == Shape::inbox || shape == Shape::lives; }
// Half of the gates are raised before they exist.
bool raised_early(const Plan& plan) { return plan.shape == Shape::gate && plan.seed % 2 == 0; }

void start(Client& client, const Plan& plan) {
  const char* const name = kNames.at(static_cast<std::size_t>(plan.shape));
  if (plan.shape == Shape::stubborn) {
    client.start(name, {.id = plan.id});
  } else if (plan.shape == Shape::lives) {
    client.start(name, {.id = plan.id}, plan.seed, plan.size, std::vector<int>{});
  } else {
    client.start(name, {.id = plan.id}, plan.seed, plan.size);
  }
}

std::uint64_t expected_number(const Plan& plan) {
  const auto size = static_cast<std::uint64_t>(plan.size);
  std::uint64_t x = plan.seed;
  switch (plan.shape) {
    case Shape::chain:
    case Shape::naps:
    case Shape::talk:
    case Shape::desk:
      for (std::uint64_t i = 0; i < size; ++i) x = mix(x, i);
      return x;
    case Shape::fan:
      for (std::uint64_t i = 0; i < size; ++i) x = mix(x, mix(plan.seed, i));
      return x;
    case Shape::family:
      for (std::uint64_t i = 0; i < size; ++i) x = mix(x, mix(mix(mix(plan.seed, i), 0), 1));
      return x;
    case Shape::gate:
      return mix(x, size);
    case Shape::flaky:
      return 2;  // the first attempt always fails, the second never does
    default:
      return 0;
  }
}

template <class T>
std::string text(const T& value) {
  return encode(value).bytes;
}

template <class T>
std::string compare(const Result<T>& result, const T& expected) {
  if (!result) return "failed: " + result.error().message;
  if (*result == expected) return {};
  return "ended with " + text(*result) + " instead of " + text(expected);
}

// Each message once, in the order in which they were sent; one that was sent again after a kill may be there
// twice.
std::string compare(const Result<std::vector<int>>& result, int size, const std::function<int(int)>& tries) {
  if (!result) return "failed: " + result.error().message;
  std::size_t at = 0;
  for (int i = 0; i < size; ++i) {
    int seen = 0;
    for (; at < result->size() && (*result)[at] == i; ++at) ++seen;
    if (seen >= 1 && seen <= tries(i + 1)) continue;
    return "message " + std::to_string(i) + " was received " + std::to_string(seen) + " times and sent " +
           std::to_string(tries(i + 1)) + " times; all: " + text(*result);
  }
  return at == result->size() ? std::string() : "received more than was sent: " + text(*result);
}

}  // namespace

Plan plan_of(std::uint64_t seed, std::uint64_t client, std::uint64_t number) {
  const std::uint64_t bits = mix(mix(seed, client), number);
  Plan plan{.number = number,
            .shape = static_cast<Shape>(bits % kNames.size()),
            .seed = bits >> 8U,
            .size = 1 + static_cast<int>((bits >> 4U) % 6)};
  plan.id = "c" + std::to_string(client) + "-p" + std::to_string(number) + "-" +
            kNames.at(static_cast<std::size_t>(plan.shape));
  return plan;
}

std::vector<std::string> instances_of(const Plan& plan) {
  std::vector<std::string> ids{plan.id};
  for (int i = 0; plan.shape == Shape::family && i < plan.size; ++i) {
    ids.push_back(child_of(plan.id, static_cast<std::uint64_t>(i)));
  }
  return ids;
}

std::string child_of(const std::string& parent, std::uint64_t number) {
  return parent + "-child" + std::to_string(number);
}

int calls_of(const Plan& plan) {
  if (is_mailbox(plan.shape)) return 1 + plan.size;
  return plan.shape == Shape::gate || plan.shape == Shape::stubborn ? 2 : 1;
}

int start_of(const Plan& plan) { return raised_early(plan) ? 1 : 0; }

void make_call(Client& client, const Plan& plan, int call, bool again) {
  try {
    if (call == start_of(plan)) {
      start(client, plan);
    } else if (plan.shape == Shape::gate) {
      client.raise(plan.id, "go", plan.size);
    } else if (plan.shape == Shape::stubborn) {
      client.cancel(plan.id, "enough");
    } else {
      client.send(plan.id, "numbers", call - 1);
    }
  } catch (const ClientError& e) {
    // What the call does ends the instance: then it has taken effect before.
    if (!again || e.kind() != ClientError::Kind::conflict) throw;
  }
}

std::string verdict(const Plan& plan, const Run& run, Duration timeout,
                    const std::function<int(int)>& tries) {
  if (is_mailbox(plan.shape)) return compare(run.result<std::vector<int>>(timeout), plan.size, tries);
  if (plan.shape == Shape::stubborn) return compare<std::string>(run.result<std::string>(timeout), "enough");
  return compare(run.result<std::uint64_t>(timeout), expected_number(plan));
}

}  // namespace holdfast::torture
