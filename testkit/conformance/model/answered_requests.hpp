// AnsweredRequests: what each request was answered first. Whatever happened since, it is answered the same
// for as long as it is remembered. The model could forget it as well as the store that is compared with it.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::testing::model {

class AnsweredRequests {
 public:
  /// Notes an answer. Says what is wrong with it, if it is not the first.
  std::optional<std::string> note(const std::string& ns, RequestId request, InstanceKey key, bool is_new,
                                  BootTime now) {
    if (request.empty()) return std::nullopt;
    const auto [found, first] = answers_.try_emplace({ns, request}, Answer{key, now});
    if (first || (found->second.key == key && !is_new)) return std::nullopt;
    return "a request that was answered with key " + to_string(found->second.key) +
           (is_new ? " took effect again" : " is answered with another");
  }

  /// A sweep may forget what was answered so long ago.
  void forget(const std::string& ns, BootTime now, Duration retention) {
    std::erase_if(answers_, [&](const auto& entry) {
      return entry.first.first == ns && now - entry.second.at >= retention;
    });
  }

 private:
  struct Answer {
    InstanceKey key{};
    BootTime at{};
  };
  std::map<std::pair<std::string, RequestId>, Answer> answers_{};
};

}  // namespace holdfast::testing::model
