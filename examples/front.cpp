// A front end that holds no thread for what it waits for: callbacks, futures, and coroutines of Asio.
#include <holdfast/asio.hpp>
#include <holdfast/holdfast.hpp>

#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include <chrono>
#include <future>
#include <iostream>
#include <string>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

inline constexpr Orchestration<std::string(std::string)> kGreet{"greet"};
inline constexpr Event<std::string> kReply{"reply"};

Task<std::string> greet(Context&, std::string who) { co_return "Hello, " + who; }
Task<std::string> talk(Context& ctx) { co_return co_await ctx.event(kReply); }

// [snippet callbacks]
/// Starts a conversation, and tells its end, whenever that comes.
void begin_talk(Client client, std::function<void(std::string)> tell) {
  client.start_async("talk", {.id = "talk-1"}).then([tell](ClientAnswer<Run> started) {
    if (!started) return tell("it could not be started");
    started->on_end([tell](ClientAnswer<RunInfo> end) {
      if (!end) return tell("it is gone");
      tell(end->has_ended() && end->failure ? end->failure->message
                                            : end->output<std::string>().value_or(""));
    });
  });
}
// [/snippet]

// [snippet futures]
/// All of them are on their way before the first one is waited for: they share a few commits.
std::vector<std::string> greet_all(Client client, const std::vector<std::string>& names) {
  std::vector<std::future<TypedRun<std::string>>> started;
  for (const std::string& name : names) started.push_back(client.start_async(kGreet, name).future());
  std::vector<std::string> greetings;
  for (auto& run : started) greetings.push_back(run.get().wait(30s));
  return greetings;
}
// [/snippet]

// [snippet asio]
/// A request handler: it waits for the reply, but not for longer than `patience`.
asio::awaitable<std::string> serve(Client client, Duration patience) {
  using namespace asio::experimental::awaitable_operators;
  const Run run = co_await async(client.start_async("talk"), asio::use_awaitable);
  asio::steady_timer timer(co_await asio::this_coro::executor, patience);
  const auto first =
      co_await (async_wait<std::string>(run, asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
  if (first.index() == 1) {
    co_await async(run.cancel_async("nobody waits for it any more"), asio::use_awaitable);
    co_return "no reply";
  }
  co_return std::get<0>(first);
}
// [/snippet]

}  // namespace

int main() {
  Runtime rt(memory(), {.logger = null_logger()});
  rt.orchestration(kGreet, greet);
  rt.orchestration("talk", talk);
  rt.start();
  Client client = rt.client();

  std::promise<std::string> told;
  begin_talk(client, [&told](std::string end) { told.set_value(std::move(end)); });
  client.raise("talk-1", kReply, "see you");
  std::cout << "the talk ended with: " << told.get_future().get() << "\n";

  for (const std::string& greeting : greet_all(client, {"Ada", "Grace", "Barbara"}))
    std::cout << greeting << "\n";

  asio::io_context context;
  asio::co_spawn(context, serve(client, 20ms), [](const std::exception_ptr& error, const std::string& reply) {
    std::cout << "served: " << (error ? "an error" : reply) << "\n";
  });
  context.run();
  client.close();
}
