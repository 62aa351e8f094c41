// What the connections of one server share. Everything here belongs to the loop's thread.
#pragma once

#include "server/http/deadlines.hpp"
#include "server/http/exchange.hpp"
#include "server/http/limits.hpp"
#include "server/http/loop.hpp"

#include <holdfast/metrics.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::server::http {

/// What is counted. The references are those of a registry.
struct Counters {
  explicit Counters(Metrics& metrics);
  Gauge& connections;
  Counter& accepted;
  Counter& turned_away;
  Counter& malformed;
  Counter& too_slow;
  Counter& cut_off;
};

class Hub {
 public:
  Hub(std::weak_ptr<Loop> its_loop, Limits its_limits, Service& its_service, Metrics& metrics)
      : loop(std::move(its_loop)), limits(its_limits), service(its_service), counters(metrics) {}

  const std::weak_ptr<Loop> loop;
  const Limits limits;
  Service& service;
  Counters counters;
  std::size_t held_bytes = 0;  ///< of bodies
  bool stopping = false;

  std::function<void(Connection&, LoopTime)> set_deadline{};
  std::function<void(Connection&)> remove{};  ///< it is gone
  std::function<std::string()> make_id{};     ///< for a request
};

}  // namespace holdfast::server::http
