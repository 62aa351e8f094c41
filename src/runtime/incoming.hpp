// Messages of the store in the words of the engine.
#pragma once

#include "client/bodies.hpp"
#include "engine/turn.hpp"
#include "runtime/cache.hpp"

#include <holdfast/limits.hpp>
#include <holdfast/store/messages.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::runtime {

/// What a batch of messages means for one instance.
struct Incoming {
  std::vector<engine::Message> messages{};
  std::vector<MessageId> set_aside{};           ///< can't be read
  std::vector<MessageId> used_up{};             ///< of no use to the engine, or handled here
  std::vector<bodies::Start> refused_starts{};  ///< somebody wanted this id for another instance
  std::optional<bodies::Start> start{};         ///< the first turn of an execution
  std::optional<std::string> terminate{};       ///< the reason
};

/// What a start message leaves to the worker that runs the first turn.
struct FirstTurn {
  bool fresh = false;  ///< the execution has no history yet
  std::string version{};
  std::uint64_t history_budget = 0;
  Limits limits{};
  const history::Parent* parent = nullptr;  ///< who waits for its end, where there is no frame that knows
};

/// Reads messages for an instance whose frame is there, unless it has ended or its code can't be run. What is
/// read goes into the memory of `spare`, which is empty.
Incoming read_messages(const CachedInstance& instance, const FirstTurn& first,
                       std::vector<store::Message>&& messages, std::vector<engine::Message>&& spare = {});

/// Whether one of them is a request to terminate.
bool asks_to_terminate(std::span<const store::Message> messages);

/// Completions that did not go through the store.
void add_local(Incoming& incoming, const CachedInstance& instance, const std::vector<LocalDone>& done);

}  // namespace holdfast::runtime
