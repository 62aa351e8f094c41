#include "base/block_pool.hpp"

#include <holdfast/detail/blocks.hpp>

#include <new>
#include <utility>

namespace holdfast::detail {

// ---- the pool ------------------------------------------------------------------------------------

BlockPool::~BlockPool() {
  for (auto& chains : chains_) {
    for (Free* const chain : chains) release(chain);
  }
}

std::size_t BlockPool::chains() const {
  const MutexLock lock(mutex_);
  std::size_t count = 0;
  for (const auto& chains : chains_) count += chains.size();
  return count;
}

void BlockPool::release(Free* chain) noexcept {
  while (chain != nullptr) ::operator delete(std::exchange(chain, chain->next));
}

BlockPool::Free* BlockPool::take(std::size_t size_class) {
  const MutexLock lock(mutex_);
  std::vector<Free*>& chains = chains_[size_class];
  if (chains.empty()) return nullptr;
  Free* const chain = chains.back();
  chains.pop_back();
  return chain;
}

void BlockPool::give(std::size_t size_class, Free* chain) noexcept {
  {
    const MutexLock lock(mutex_);
    std::vector<Free*>& chains = chains_[size_class];
    if (chains.capacity() == 0) {
      try {
        chains.reserve(most_chains((size_class + 1) * kStep));
      } catch (const std::bad_alloc&) {  // then nothing is kept
      }
    }
    if (chains.size() < chains.capacity()) {
      chains.push_back(chain);
      return;
    }
  }
  release(chain);
}

// ---- what a thread has ---------------------------------------------------------------------------

BlockPool::Cache::~Cache() {
  for (std::size_t size_class = 0; size_class < kClasses; ++size_class) {
    Blocks& blocks = blocks_[size_class];
    if (blocks.full != nullptr) pool_.give(size_class, blocks.full);
    release(blocks.first);
  }
}

void* BlockPool::Cache::refill(std::size_t size_class) {
  Blocks& blocks = blocks_[size_class];
  Free* chain = std::exchange(blocks.full, nullptr);
  if (chain == nullptr) chain = pool_.take(size_class);
  if (chain == nullptr) return ::operator new((size_class + 1) * kStep);
  blocks.first = chain->next;
  blocks.count = kChain - 1;
  return chain;
}

void BlockPool::Cache::set_aside(std::size_t size_class) noexcept {
  Blocks& blocks = blocks_[size_class];
  if (blocks.full != nullptr) pool_.give(size_class, blocks.full);
  blocks.full = std::exchange(blocks.first, nullptr);
  blocks.count = 0;
}

// ---- that of the process -------------------------------------------------------------------------

namespace {

// Sanitizers see what is done to freed memory only if it is freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsBlocks = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kKeepsBlocks = false;
#else
constexpr bool kKeepsBlocks = true;
#endif
#else
constexpr bool kKeepsBlocks = true;
#endif

// Never destroyed: threads may go on while the process ends.
BlockPool& pool_of_the_process() {
  static BlockPool& pool = *new BlockPool;
  return pool;
}

// What a thread frees or makes while its variables are destroyed goes past the cache.
enum class Stage : unsigned char { before, with_cache, after };
constinit thread_local Stage stage = Stage::before;

struct OwnCache {
  OwnCache() { stage = Stage::with_cache; }
  ~OwnCache() { stage = Stage::after; }
  BlockPool::Cache cache{pool_of_the_process()};
};

BlockPool::Cache* cache_of_this_thread() {
  if (!kKeepsBlocks || stage == Stage::after) return nullptr;
  thread_local OwnCache own;
  return &own.cache;
}

}  // namespace

void* allocate_block(std::size_t size) {
  BlockPool::Cache* const cache = cache_of_this_thread();
  return cache != nullptr ? cache->allocate(size) : ::operator new(BlockPool::block_size(size));
}

void free_block(void* block, std::size_t size) noexcept {
  BlockPool::Cache* const cache = cache_of_this_thread();
  if (cache != nullptr) return cache->free(block, size);
  ::operator delete(block);
}

}  // namespace holdfast::detail
