// The log of a worker, with lines of an orchestration among them, goes where the program's own log goes.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet logger]
/// Connects Holdfast to a log of yours. Threads call it at the same time.
class ToMyLog final : public Logger {
 public:
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override {
    return level >= LogLevel::info && level != LogLevel::off;
  }
  void write(const LogRecord& record) noexcept override {
    const std::lock_guard lock(mutex_);
    std::cout << to_string(record.level) << " " << record.message;
    for (const LogField& field : record.fields) {
      if (const auto* text = std::get_if<std::string_view>(&field.value.variant())) {
        std::cout << " " << field.key << "=" << *text;
      }
    }
    std::cout << "\n";
  }

 private:
  std::mutex mutex_;
};
// [/snippet]

// [snippet log]
Task<std::string> restock(Context& ctx, std::string item) {
  ctx.log("looks at the stock", {{"item", item}});
  const int left = co_await ctx.activity<int>("count", item);
  if (left < 10) ctx.log(LogLevel::warn, "stock is low", {{"item", item}, {"left", left}});
  co_return left < 10 ? "order" : "wait";
}
// [/snippet]

}  // namespace

int main() {
  Runtime rt(memory(), {.node_id = "worker-1", .logger = std::make_shared<ToMyLog>()});
  rt.activity("count", [](ActivityContext& ctx, std::string item) {
    if (ctx.attempt() == 1) throw ActivityFailure("busy", "somebody else counts");
    return static_cast<int>(item.size());
  });
  rt.orchestration("restock", restock);
  rt.start();
  rt.client().start("restock", {.id = "restock-lamps"}, "lamps").wait<std::string>(30s);
}
