// Types that already have to_json and from_json for nlohmann's library need no other codec.
#include <holdfast/nlohmann.hpp>

#include <iostream>
#include <string>
#include <vector>

// [snippet nlohmann]
namespace shapes {
struct Circle {
  double radius = 0;
};
void to_json(nlohmann::json& json, const Circle& circle) { json = {{"r", circle.radius}}; }
void from_json(const nlohmann::json& json, Circle& circle) { json.at("r").get_to(circle.radius); }
}  // namespace shapes

template <>
struct holdfast::Codec<shapes::Circle> : holdfast::NlohmannCodec<shapes::Circle> {};

struct Drawing {
  std::string title;
  std::vector<shapes::Circle> circles;
  nlohmann::json meta;
};
// [/snippet]

int main() {
  const Drawing drawing{.title = "target", .circles = {{1.5}, {3}}, .meta = {{"ink", "black"}}};
  const holdfast::Payload payload = holdfast::encode(drawing);
  std::cout << payload.bytes << "\n";
  std::cout << holdfast::decode<Drawing>(payload)->circles.at(1).radius << "\n";
  const auto wrong = holdfast::decode<Drawing>({holdfast::kJsonEncoding, R"({"circles":[{"r":"x"}]})"});
  std::cout << "wrong at " << wrong.error().message.substr(0, wrong.error().message.find(':')) << "\n";
}
