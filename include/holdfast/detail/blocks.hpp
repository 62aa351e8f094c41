// Blocks: memory for what is made and freed again and again, such as frames of coroutines.
//
// Most programs free such objects in another thread than the one that made them, and many at a time: that is
// where general allocators take their locks. Here each thread keeps some freed blocks of each size for what
// it makes next, and what is too much for one thread goes in bulk to the others.
#pragma once

#include <cstddef>

namespace holdfast::detail {

/// Aligned like that of operator new. Throws std::bad_alloc. Any thread.
[[nodiscard]] void* allocate_block(std::size_t size);
/// `size` as it was asked for. Any thread.
void free_block(void* block, std::size_t size) noexcept;

/// A base of classes whose objects live in blocks. None of them may be deleted through a pointer to another
/// type.
struct InBlocks {
  static void* operator new(std::size_t size) { return allocate_block(size); }
  static void operator delete(void* block, std::size_t size) noexcept { free_block(block, size); }
};

/// An allocator of single objects for containers and std::allocate_shared.
template <class T>
struct BlockAllocator {
  using value_type = T;

  BlockAllocator() noexcept = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>& /*other*/) noexcept {}

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_block(count * sizeof(T))); }
  void deallocate(T* objects, std::size_t count) noexcept { free_block(objects, count * sizeof(T)); }
  friend bool operator==(BlockAllocator, BlockAllocator) noexcept { return true; }
};

}  // namespace holdfast::detail
