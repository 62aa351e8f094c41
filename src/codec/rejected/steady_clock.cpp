// expect: holdfast: only times of std::chrono::system_clock can be encoded
#include <holdfast/codec.hpp>

holdfast::Payload payload = holdfast::encode(std::chrono::steady_clock::now());
