// What the command line and the workers of the nightly batch agree on.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/context.hpp>
#include <holdfast/orchestration.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace nightly {

/// How far a batch is: the custom status of its instance, and its result.
struct Progress {
  int total = 0;
  int billed = 0;
  int failed = 0;
  int chunks = 0;  ///< that have ended; each has its failures in a value, see failures_of()
};

/// The input of a batch. One that continues as new goes on where `offset` says.
struct Batch {
  std::string file;
  std::int64_t offset = 0;
  int lines = 0;  ///< before the offset
  Progress progress;
};

/// A line of the file: "customer,amount".
struct Item {
  int line = 0;
  std::string text;
};
struct Chunk {
  std::vector<Item> items;  ///< none: the file has ended
  std::int64_t next = 0;    ///< where the next one begins
  int lines = 0;            ///< before the next one
};

/// An item that could not be billed, and why.
struct ItemFailure {
  int line = 0;
  std::string text;
  std::string why;
};

/// The name of the value that holds the failures of a chunk: std::vector<ItemFailure>. None: there were none.
std::string failures_of(int chunk);

inline constexpr int kChunkItems = 50;
inline constexpr std::size_t kItemsAtOnce = 16;
/// A batch in which so many items fail is stopped: the file, or the code, is wrong as a whole.
inline constexpr int kMaxFailures = 1'000;

inline constexpr holdfast::Orchestration<Progress(Batch)> bill_customers{"bill_customers"};

inline constexpr holdfast::Activity<int(std::string)> count_items{"count_items"};
inline constexpr holdfast::Activity<Chunk(std::string, std::int64_t, int)> read_chunk{"read_chunk"};
/// Takes the id of the batch and an item. Fails for good with the type "bad_item".
inline constexpr holdfast::Activity<void(std::string, Item)> bill{
    "bill", {.timeout = std::chrono::seconds(30), .retry = {.max_attempts = 5}}};

/// The code of a batch.
holdfast::Task<Progress> bill_all(holdfast::Context& ctx, Batch batch);

}  // namespace nightly
