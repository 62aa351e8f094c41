#include "engine/channels.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

void Channels::add_message(const Address& address, Unread message) {
  channels_[address].messages.push_back(std::move(message));
}

void Channels::add_wait(const Address& address, detail::OpState& state) {
  detail::Channel& channel = channels_[address];
  channel.waiting.push_back(&state);
  state.channel = &channel;
}

void Channels::remove_wait(detail::OpState& state) noexcept {
  if (state.channel == nullptr) return;
  auto& waiting = state.channel->waiting;
  waiting.erase(std::remove(waiting.begin(), waiting.end(), &state), waiting.end());
  state.channel = nullptr;
}

std::optional<Channels::Match> Channels::take_match(std::uint64_t before) {
  detail::Channel* earliest = nullptr;
  for (auto& [address, channel] : channels_) {
    if (channel.messages.empty() || channel.waiting.empty()) continue;
    const std::uint64_t order = channel.messages.front().order;
    if (order < before && (earliest == nullptr || order < earliest->messages.front().order))
      earliest = &channel;
  }
  if (earliest == nullptr) return std::nullopt;
  Match match{earliest->waiting.front(), std::move(earliest->messages.front())};
  earliest->messages.pop_front();
  return match;
}

std::optional<Channels::Unread> Channels::take_unread(const Address& address) {
  const auto found = channels_.find(address);
  if (found == channels_.end() || found->second.messages.empty() || !found->second.waiting.empty())
    return std::nullopt;
  Unread message = std::move(found->second.messages.front());
  found->second.messages.pop_front();
  return message;
}

std::vector<Address> Channels::waits() const {
  std::vector<Address> waits;
  for (const auto& [address, channel] : channels_) {
    if (!channel.waiting.empty()) waits.push_back(address);
  }
  return waits;
}

}  // namespace holdfast::engine
