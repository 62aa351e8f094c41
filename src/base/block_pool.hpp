// BlockPool: freed blocks of a few sizes, kept for what is made next.
#pragma once

#include "base/mutex.hpp"

#include <array>
#include <cstddef>
#include <new>
#include <vector>

namespace holdfast::detail {

/// Blocks of one size each, in classes of kStep bytes; larger ones are not kept. A thread takes from and
/// gives to a Cache of its own; what is too much for one cache comes here, a whole chain at a time, and what
/// is too much here goes back to the allocator. So memory that was used once stays bounded by what is in use
/// at the same time and by kMostBytes.
class BlockPool {
 public:
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kLargest = 2048;
  /// A cache holds two chains of this length at most.
  static constexpr std::size_t kChain = 32;
  static constexpr std::size_t kMostBytes = 1U << 20U;  ///< in chains, of each size

  class Cache;

  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// How many bytes a block has that was asked for with `size`. Who goes past the caches makes it of that
  /// size, too: it may be freed through one.
  static constexpr std::size_t block_size(std::size_t size) noexcept {
    return size > kLargest ? size : (class_of(size) + 1) * kStep;
  }
  static constexpr std::size_t most_chains(std::size_t size) noexcept {
    return kMostBytes / (kChain * block_size(size));
  }
  /// Chains that are here, of all sizes.
  [[nodiscard]] std::size_t chains() const;

 private:
  /// A freed block.
  struct Free {
    Free* next = nullptr;
  };
  static constexpr std::size_t kClasses = kLargest / kStep;

  static constexpr std::size_t class_of(std::size_t size) noexcept {
    return size == 0 ? 0 : (size - 1) / kStep;
  }
  static void release(Free* chain) noexcept;
  /// Null when there is none.
  Free* take(std::size_t size_class);
  /// `chain` has kChain blocks.
  void give(std::size_t size_class, Free* chain) noexcept;

  mutable Mutex mutex_;
  std::array<std::vector<Free*>, kClasses> chains_ HOLDFAST_GUARDED_BY(mutex_){};
};

/// Of one thread.
class BlockPool::Cache {
 public:
  /// `pool` outlives it.
  explicit Cache(BlockPool& pool) noexcept : pool_(pool) {}
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  [[nodiscard]] void* allocate(std::size_t size) {
    if (size > kLargest) return ::operator new(size);
    Blocks& blocks = blocks_[class_of(size)];
    if (blocks.first == nullptr) [[unlikely]]
      return refill(class_of(size));
    Free* const block = blocks.first;
    blocks.first = block->next;
    --blocks.count;
    return block;
  }
  /// Also of a block that came from another cache of the same pool.
  void free(void* memory, std::size_t size) noexcept {
    if (size > kLargest) return ::operator delete(memory);
    Blocks& blocks = blocks_[class_of(size)];
    if (blocks.count == kChain) [[unlikely]]
      set_aside(class_of(size));
    blocks.first = ::new (memory) Free{blocks.first};
    ++blocks.count;
  }

 private:
  /// Up to a chain to take from, and a whole one or none behind it: who frees and makes in turns does not go
  /// to the pool each time.
  struct Blocks {
    Free* first = nullptr;
    std::size_t count = 0;
    Free* full = nullptr;
  };

  [[nodiscard]] void* refill(std::size_t size_class);
  void set_aside(std::size_t size_class) noexcept;

  BlockPool& pool_;
  std::array<Blocks, kClasses> blocks_{};
};

}  // namespace holdfast::detail
