#include "base/block_pool.hpp"

#include <holdfast/detail/blocks.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace holdfast::detail::block_pool_test {
namespace {

using Cache = BlockPool::Cache;

std::vector<void*> make(Cache& cache, std::size_t count, std::size_t size) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(cache.allocate(size));
    std::memset(blocks.back(), 0x5a, size);
  }
  return blocks;
}

void free(Cache& cache, const std::vector<void*>& blocks, std::size_t size) {
  for (void* const block : blocks) cache.free(block, size);
}

TEST(BlockPool, AFreedBlockIsTheNextOfItsSize) {
  BlockPool pool;
  Cache cache(pool);
  void* const block = cache.allocate(100);
  cache.free(block, 100);
  void* const again = cache.allocate(128);
  EXPECT_EQ(again, block) << "sizes of one class share their blocks";
  void* const larger = cache.allocate(129);
  EXPECT_NE(larger, block);
  cache.free(again, 128);
  cache.free(larger, 129);
}

TEST(BlockPool, BlocksThatAreInUseAreDistinct) {
  BlockPool pool;
  Cache cache(pool);
  for (int round = 0; round < 3; ++round) {
    const std::vector<void*> blocks = make(cache, 5 * BlockPool::kChain + 7, 64);
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    free(cache, blocks, 64);
  }
}

TEST(BlockPool, EverySizeCanBeMadeAndFreed) {
  BlockPool pool;
  Cache cache(pool);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t size = 0; size <= 2 * BlockPool::kLargest; ++size) {
      void* const block = cache.allocate(size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0U);
      std::memset(block, 0x5a, size);
      cache.free(block, size);
    }
  }
}

TEST(BlockPool, WhatIsTooMuchForOneThreadGoesToOthers) {
  BlockPool pool;
  Cache maker(pool);
  Cache other(pool);
  const std::vector<void*> blocks = make(maker, 4 * BlockPool::kChain, 64);
  free(other, blocks, 64);
  EXPECT_EQ(pool.chains(), 2U) << "it keeps two chains itself";
  const std::vector<void*> again = make(maker, 2 * BlockPool::kChain, 64);
  EXPECT_EQ(pool.chains(), 0U);
  const std::set<void*> known(blocks.begin(), blocks.end());
  for (void* const block : again) EXPECT_TRUE(known.contains(block));
  free(maker, again, 64);
}

TEST(BlockPool, KeepsNoMoreThanSoMuch) {
  BlockPool pool;
  Cache cache(pool);
  constexpr std::size_t kSize = 1000;
  constexpr std::size_t kMost = BlockPool::most_chains(kSize);
  free(cache, make(cache, (kMost + 10) * BlockPool::kChain, kSize), kSize);
  EXPECT_EQ(pool.chains(), kMost);
}

TEST(BlockPool, WhatAThreadLeavesIsThereForOthers) {
  BlockPool pool;
  {
    Cache cache(pool);
    free(cache, make(cache, 2 * BlockPool::kChain, 64), 64);
    EXPECT_EQ(pool.chains(), 0U);
  }
  EXPECT_EQ(pool.chains(), 1U);
}

// Each block is written by its maker and read by the other thread, which frees it.
TEST(BlockPool, ThreadsFreeWhatOthersHaveMade) {
  constexpr std::uint64_t kBlocks = 20'000;
  BlockPool pool;
  std::atomic<std::uint64_t*> handed{nullptr};
  std::thread maker([&] {
    Cache cache(pool);
    for (std::uint64_t i = 0; i < kBlocks; ++i) {
      auto* const block = ::new (cache.allocate(sizeof(std::uint64_t))) std::uint64_t(i);
      while (handed.load() != nullptr) std::this_thread::yield();
      handed.store(block);
    }
  });
  Cache cache(pool);
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    std::uint64_t* block = nullptr;
    while ((block = handed.exchange(nullptr)) == nullptr) std::this_thread::yield();
    ASSERT_EQ(*block, i);
    cache.free(block, sizeof(std::uint64_t));
  }
  maker.join();
}

struct Counted : InBlocks {
  explicit Counted(int& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int& count_;
};

TEST(Blocks, HoldObjectsOfClassesAndOfAllocators) {
  int count = 0;
  {
    const auto one = std::make_unique<Counted>(count);
    const auto other = std::allocate_shared<Counted>(BlockAllocator<Counted>(), count);
    EXPECT_EQ(count, 2);
  }
  EXPECT_EQ(count, 0);
}

// The variables of a thread are destroyed in no order that anybody could rely on.
TEST(Blocks, CanBeFreedWhileAThreadEnds) {
  struct Late {
    ~Late() {
      free_block(block, 64);
      free_block(allocate_block(64), 64);
    }
    void* block = nullptr;
  };
  std::thread([] {
    thread_local Late late;  // made before the thread has a cache, and so destroyed after it
    late.block = allocate_block(64);
  }).join();
}

}  // namespace
}  // namespace holdfast::detail::block_pool_test
