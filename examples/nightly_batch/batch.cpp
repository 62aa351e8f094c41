#include "batch.hpp"

#include <holdfast/fan_out.hpp>
#include <holdfast/result.hpp>

#include <optional>
#include <stdexcept>

namespace nightly {

using namespace holdfast;

namespace {

/// Values have a limit, and a line may be anything.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 200;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

/// One item, and what became of it: a failure is noted, and stops nobody. `progress` outlives the task.
Task<std::optional<ItemFailure>> bill_one(Context& ctx, Progress& progress, Item item) {
  const Result<void> billed = co_await ctx.activity(bill, ctx.instance_id(), item).result();
  ++(billed ? progress.billed : progress.failed);
  ctx.set_status(progress);
  if (billed) co_return std::nullopt;
  co_return ItemFailure{
      .line = item.line, .text = shortened(item.text), .why = shortened(billed.error().message)};
}

Task<> bill_chunk(Context& ctx, Progress& progress, const Chunk& chunk) {
  const auto bill_item = [&ctx, &progress](const Item& item) { return bill_one(ctx, progress, item); };
  const auto outcomes = co_await when_all(chunk.items, bill_item, {.at_most = kItemsAtOnce});
  std::vector<ItemFailure> failures;
  for (const std::optional<ItemFailure>& failure : outcomes) {
    if (failure) failures.push_back(*failure);
  }
  if (!failures.empty()) ctx.set_value(failures_of(progress.chunks), failures);
  ++progress.chunks;
  ctx.set_status(progress);
}

}  // namespace

std::string failures_of(int chunk) { return "failures of chunk " + std::to_string(chunk); }

Task<Progress> bill_all(Context& ctx, Batch batch) {
  Progress& progress = batch.progress;
  if (batch.offset == 0) progress.total = co_await ctx.activity(count_items, batch.file);
  ctx.set_status(progress);
  while (!ctx.should_continue_as_new()) {
    const Chunk chunk = co_await ctx.activity(read_chunk, batch.file, batch.offset, batch.lines);
    if (chunk.items.empty()) co_return progress;
    co_await bill_chunk(ctx, progress, chunk);
    if (progress.failed >= kMaxFailures) {
      throw std::runtime_error(std::to_string(progress.failed) + " items failed; the batch is given up");
    }
    batch.offset = chunk.next;
    batch.lines = chunk.lines;
  }
  co_await ctx.continue_as_new(batch);  // the values, and so the failures, go along
}

}  // namespace nightly
