// How activities are written: what to do about running more than once, taking too long, and being stopped.
#include <holdfast/holdfast.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

/// A bank that knows idempotency keys, as most do: the same key charges once.
class Bank {
 public:
  std::string charge(const std::string& key, int amount) {
    const std::lock_guard lock(mutex_);
    if (const auto [at, is_new] = receipts_.try_emplace(key, receipts_.size() + 1); is_new) {
      charged_ += amount;
    }
    return "receipt-" + std::to_string(receipts_.at(key));
  }
  [[nodiscard]] int charged() const { return charged_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::size_t> receipts_;
  int charged_ = 0;
};

// [snippet calls]
Task<std::string> pay(Context& ctx, int amount) {
  co_return co_await ctx.activity<std::string>(
      "charge", {.timeout = 30s, .retry = {.max_attempts = 5, .first_delay = 10ms}}, amount);
}

Task<int> import(Context& ctx, int rows) {
  co_return co_await ctx.activity<int>("import", {.retry = {.first_delay = 10ms}}, rows);
}

Task<std::string> first_answer(Context& ctx) {
  auto first = co_await race(ctx.activity<void>("listen"), ctx.activity<std::string>("ask"));
  co_return std::get<1>(first);  // the other one is asked to stop
}
// [/snippet]

void add_activities(Runtime& rt, Bank& bank, std::atomic<int>& copied, std::atomic<bool>& stopped) {
  // [snippet idempotency]
  rt.activity("charge", [&bank](ActivityContext& ctx, int amount) {
    const std::string receipt = bank.charge(ctx.idempotency_key(), amount);
    if (ctx.attempt() == 1) throw std::runtime_error("the line broke before the answer came");
    return receipt;
  });
  // [/snippet]

  // [snippet heartbeat]
  rt.activity("import", [&copied](ActivityContext& ctx, int rows) {
    const int begin = ctx.last_heartbeat<int>().value_or(0);
    for (int row = begin; row < rows; ++row) {
      if (row == 600 && ctx.attempt() == 1) throw std::runtime_error("out of memory");
      ++copied;
      ctx.heartbeat(row + 1);  // the next attempt begins here
    }
    return rows - begin;
  });
  // [/snippet]

  // [snippet stop]
  rt.activity("listen", [&stopped](ActivityContext& ctx) {
    while (!ctx.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
    stopped = true;           // here it would close its connection
    ctx.throw_if_stopping();  // it has no result
  });
  // [/snippet]
  rt.activity("ask", [](ActivityContext&) { return std::string("42"); });
}

}  // namespace

int main() {
  Bank bank;
  std::atomic<int> copied{0};
  std::atomic<bool> stopped{false};
  Runtime rt(memory(), {.logger = null_logger()});
  add_activities(rt, bank, copied, stopped);
  rt.orchestration("pay", pay);
  rt.orchestration("import", import);
  rt.orchestration("first_answer", first_answer);
  rt.start();
  Client client = rt.client();

  const auto receipt = client.start("pay", {.id = "order-7"}, 40).wait<std::string>(30s);
  std::cout << receipt << " at the second attempt; the bank has charged " << bank.charged() << "\n";

  const int rest = client.start("import", {.id = "customers"}, 1000).wait<int>(30s);
  std::cout << copied << " rows copied, " << rest << " of them by the second attempt\n";

  const auto answer = client.start("first_answer", {.id = "question"}).wait<std::string>(30s);
  while (!stopped) std::this_thread::sleep_for(1ms);
  std::cout << "the answer is " << answer << ", and the listener has stopped\n";
}
