// The interface for randomness. Holdfast draws random bits only through it, so that one seed repeats a whole
// run of the simulator.
#pragma once

#include <holdfast/ids.hpp>

#include <array>
#include <cstdint>

namespace holdfast {

/// A source of random bits. Each source says whether threads may share it.
class Random {
 public:
  virtual ~Random() = default;
  /// 64 bits, each as likely 0 as 1.
  virtual std::uint64_t next() = 0;
};

/// Unguessable randomness of the kernel, for tokens. Thread-safe; after fork() the child draws other bits
/// than its parent. Valid for the life of the process, also in destructors of statics. `next()` throws
/// std::system_error when the kernel gives none.
Random& system_random();

/// Bits that depend on the seed alone, the same on every compiler and platform: for tests and replay, not for
/// secrets. For one thread at a time.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) noexcept;
  /// A seed whose high half is 0 gives the same bits as its low half alone.
  explicit SeededRandom(Seed seed) noexcept;
  std::uint64_t next() noexcept override;

 private:
  std::array<std::uint64_t, 4> state_;
};

/// A number from 0 to `n` - 1, each as likely as the others. Throws std::invalid_argument when `n` is 0.
std::uint64_t below(Random& random, std::uint64_t n);

/// A new token, never the empty one: `random_token<LockToken>(random)`.
template <class TokenType>
TokenType random_token(Random& random) {
  TokenType token;
  do {
    token.high = random.next();
    token.low = random.next();
  } while (token.empty());
  return token;
}

}  // namespace holdfast
