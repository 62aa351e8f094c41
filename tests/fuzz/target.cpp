#include "tests/fuzz/target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace holdfast::fuzz {

void require(bool holds, std::string_view what) {
  if (holds) return;
  std::cerr << "fuzz: it does not hold that " << what << std::endl;
  std::abort();
}

}  // namespace holdfast::fuzz

// The name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  holdfast::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
