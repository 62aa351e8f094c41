#include <holdfast/random.hpp>

#include <pthread.h>
#include <sys/random.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace holdfast {

namespace {

// Counts the forks between the first process and this one. A buffer filled under another count is the
// parent's too, and must not be used.
std::atomic<std::uint64_t> fork_count{0};

struct Buffer {
  // 256 bytes: the most that getrandom() hands out whole, whatever signals arrive.
  std::array<std::uint64_t, 32> words{};
  std::size_t used = 32;
  std::uint64_t filled_under = 0;
};

thread_local Buffer buffer;

void fill(Buffer& empty) {
  for (;;) {
    const ssize_t got = getrandom(empty.words.data(), sizeof(empty.words), 0);
    if (got == static_cast<ssize_t>(sizeof(empty.words))) break;
    if (got < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "the kernel gives no random bits: getrandom()");
    }
  }
  empty.used = 0;
  empty.filled_under = fork_count.load(std::memory_order_relaxed);
}

class SystemRandom final : public Random {
 public:
  SystemRandom() {
    const int error = pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1); });
    if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_atfork()");
  }

  std::uint64_t next() override {
    if (buffer.used == buffer.words.size() ||
        buffer.filled_under != fork_count.load(std::memory_order_relaxed)) {
      fill(buffer);
    }
    return std::exchange(buffer.words[buffer.used++], 0);  // a token in use is not left behind in memory
  }
};

// SplitMix64: spreads a seed, also a small one, over all bits of a state.
std::uint64_t split_mix(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Random& system_random() {
  static SystemRandom& random = *new SystemRandom;  // never destroyed: destructors of statics may draw
  return random;
}

SeededRandom::SeededRandom(std::uint64_t seed) noexcept : state_{} {
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

// The second word is the first that shows in what is drawn.
SeededRandom::SeededRandom(Seed seed) noexcept : SeededRandom(seed.low) { state_[1] ^= seed.high; }

// xoshiro256**.
std::uint64_t SeededRandom::next() noexcept {
  auto& [a, b, c, d] = state_;
  const std::uint64_t drawn = std::rotl(b * 5, 7) * 9;
  const std::uint64_t shifted = b << 17;
  c ^= a;
  d ^= b;
  b ^= c;
  a ^= d;
  c ^= shifted;
  d = std::rotl(d, 45);
  return drawn;
}

std::uint64_t below(Random& random, std::uint64_t n) {
  if (n == 0) throw std::invalid_argument("there is no number below 0: below() takes 1 or more");
  // 2^64 is rarely a multiple of n: without the first 2^64 mod n numbers, every remainder is as frequent.
  const std::uint64_t surplus = (0 - n) % n;
  for (;;) {
    const std::uint64_t drawn = random.next();
    if (drawn >= surplus) return drawn % n;
  }
}

}  // namespace holdfast
