#include "engine/channels.hpp"

#include <utility>

namespace holdfast::engine {

using detail::Channel;

Channel& Channels::channel_at(const Address& address) {
  const auto [place, is_new] = channels_.try_emplace(address);
  if (is_new) place->second.address = &place->first;
  return place->second;
}

void Channels::drop_if_empty(const Channel& channel) noexcept {
  if (channel.messages.empty() && channel.waiting.empty()) channels_.erase(channels_.find(*channel.address));
}

void Channels::add_message(const Address& address, Unread message) {
  Channel& channel = channel_at(address);
  if (channel.messages.empty() && !channel.waiting.empty()) matches_.emplace(message.order, &channel);
  channel.messages.push_back(std::move(message));
}

void Channels::add_wait(const Address& address, detail::OpState& state) {
  Channel& channel = channel_at(address);
  if (channel.waiting.empty() && !channel.messages.empty()) {
    matches_.emplace(channel.messages.front().order, &channel);
  }
  channel.waiting.emplace(state.id, &state);
  state.channel = &channel;
}

void Channels::remove_wait(detail::OpState& state) noexcept {
  if (state.channel == nullptr) return;
  Channel& channel = *std::exchange(state.channel, nullptr);
  channel.waiting.erase(state.id);
  if (!channel.waiting.empty()) return;
  if (!channel.messages.empty()) matches_.erase(channel.messages.front().order);
  drop_if_empty(channel);
}

// Takes the message, and leaves its place in the list.
Channels::Match Channels::match_of(Channel& channel) {
  Match match{.message = std::move(channel.messages.front())};
  for (const auto& [id, state] : channel.waiting) {
    std::optional<Failure> unreadable =
        state->why_unreadable != nullptr ? state->why_unreadable(match.message.value) : std::nullopt;
    if (!unreadable) {
      match.state = state;
      return match;
    }
    if (match.unreadable.message.empty()) match.unreadable = *std::move(unreadable);
  }
  match.address = *channel.address;
  return match;
}

std::optional<Channels::Match> Channels::take_match(std::uint64_t before) {
  const auto first = matches_.begin();
  if (first == matches_.end() || first->first >= before) return std::nullopt;
  Channel& channel = *first->second;
  matches_.erase(first);
  Match match = match_of(channel);
  channel.messages.pop_front();
  if (match.state != nullptr) {
    channel.waiting.erase(match.state->id);
    match.state->channel = nullptr;
  }
  if (!channel.messages.empty() && !channel.waiting.empty()) {
    matches_.emplace(channel.messages.front().order, &channel);
  }
  drop_if_empty(channel);
  return match;
}

std::optional<Channels::Unread> Channels::take_unread(const Address& address) {
  const auto found = channels_.find(address);
  if (found == channels_.end() || found->second.messages.empty() || !found->second.waiting.empty())
    return std::nullopt;
  Unread message = std::move(found->second.messages.front());
  found->second.messages.pop_front();
  drop_if_empty(found->second);
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
