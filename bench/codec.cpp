// The payload codec against nlohmann::json, on the same structs: values to text and text to values.
#include "bench/harness.hpp"

#include <holdfast/codec.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

// nlohmann's macros know std::optional only from version 3.11.3 on; this is what that version does.
namespace nlohmann {
template <class T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& out, const std::optional<T>& value) {
    out = value ? json(*value) : json(nullptr);
  }
  static void from_json(const json& in, std::optional<T>& value) {
    value = in.is_null() ? std::nullopt : std::optional<T>(in.get<T>());
  }
};
}  // namespace nlohmann

namespace holdfast::bench {

// ---- a small message ----------------------------------------------------------------------------

struct Progress {
  std::string job{};
  std::int64_t step = 0;
  double done = 0;
  bool final_step = false;
  std::string note{};
  bool operator==(const Progress&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Progress, job, step, done, final_step, note)

Progress progress() { return {"import-2026-11-15", 1842, 0.4375, false, "loading the third of seven files"}; }

// ---- an order -----------------------------------------------------------------------------------

struct Address {
  std::string name{};
  std::string street{};
  std::string city{};
  std::string postcode{};
  std::string country{};
  bool operator==(const Address&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Address, name, street, city, postcode, country)

struct Line {
  std::string sku{};
  std::string title{};
  int quantity = 0;
  double price = 0;
  std::optional<double> discount{};
  std::vector<std::string> tags{};
  bool operator==(const Line&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Line, sku, title, quantity, price, discount, tags)

struct Order {
  std::string id{};
  std::int64_t customer = 0;
  std::string email{};
  std::int64_t placed_at_ms = 0;
  Address ship_to{};
  std::optional<Address> bill_to{};
  std::vector<Line> lines{};
  std::vector<std::vector<int>> parcels{};
  double total = 0;
  std::string currency{};
  bool paid = false;
  std::optional<std::string> coupon{};
  std::optional<std::string> note{};
  bool operator==(const Order&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, customer, email, placed_at_ms, ship_to, bill_to, lines, parcels,
                                   total, currency, paid, coupon, note)

Order order() {
  return {.id = "ord_01HF3Z8Q2WJ5Y7",
          .customer = 4815162342,
          .email = "ada.lovelace@example.org",
          .placed_at_ms = 1763181362123,
          .ship_to = {"Ada Lovelace", "12 St James's Square", "London", "SW1Y 4JH", "GB"},
          .bill_to = Address{"Analytical Engines Ltd.", "1 Dorset Street", "London", "W1U 4EG", "GB"},
          .lines = {{"GEAR-0042", "Brass gear, 42 teeth, module 1.5", 120, 3.49, 0.1, {"brass", "gears"}},
                    {"AXLE-0007", "Steel axle, 7 mm x 300 mm", 16, 11.25, std::nullopt, {"steel"}},
                    {"CARD-1000", "Punch cards, box of 1000", 3, 24.9, std::nullopt, {"paper", "bulk"}},
                    {"INK-0001", "Ribbon ink, black", 2, 7.35, 0.25, {}},
                    {"CASE-0012", "Mahogany case with glass door, 12 in", 1, 389.0, 0.05, {"wood", "glass"}},
                    {"TOOL-0099", "Set of watchmaker's screwdrivers", 1, 42.75, std::nullopt, {"tools"}}},
          .parcels = {{0, 1}, {2, 3, 5}, {4}},
          .total = 1108.3425,
          .currency = "GBP",
          .paid = true,
          .coupon = "WELCOME10",
          .note = std::nullopt};
}

// ---- the state of a conversation ----------------------------------------------------------------

struct Message {
  std::string role{};
  std::string text{};
  std::optional<std::string> tool{};
  bool operator==(const Message&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Message, role, text, tool)

struct Conversation {
  std::string session{};
  std::string model{};
  int turns = 0;
  double temperature = 0;
  std::vector<Message> messages{};
  bool operator==(const Conversation&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Conversation, session, model, turns, temperature, messages)

Conversation conversation() {
  const std::string question =
      "Please look at the log below and tell me why the nightly import stops.\n\n"
      "\t2026-11-15T04:36:02Z worker-3 \"orders.csv\": 18,422 rows read\n"
      "\t2026-11-15T04:36:09Z worker-3 \"orders.csv\": row 18,423: unexpected end of line\n"
      "\t2026-11-15T04:36:09Z worker-3 giving up\n\n"
      "The file comes from our office in Zürich; yesterday's looked the same to me – naïve as I am.";
  const std::string answer =
      "The importer gives up at the first row that it can't split. Row 18,423 has a quoted field that holds "
      "a "
      "line break, and the reader was started with multi_line = false, so it takes the first half for a "
      "whole "
      "row.\n\nThree things would help:\n\n1. Start the reader with multi_line = true. It is the default "
      "since "
      "version 4, but the configuration in /etc/import.d/orders.toml still says false.\n2. Let it skip a row "
      "that it can't read and report it, instead of ending the run: on_error = \"report\".\n3. Ask the "
      "office to "
      "send the checksum of the file too (they already do so for \"stock.csv\").\n\nShall I change the first "
      "two and run last night's import again?";
  const std::string result =
      "{\n  \"rows\": 20911,\n  \"skipped\": 0,\n  \"seconds\": 31.7,\n  \"warnings\": [\"row 18,423 spans 2 "
      "lines\"]\n}";
  Conversation made{"sess_9f2c", "large-2026-10", 8, 0.2, {}};
  for (int i = 0; i < 6; ++i) {
    made.messages.push_back({"user", question, std::nullopt});
    made.messages.push_back({"assistant", answer, std::nullopt});
    if (i % 2 == 1) made.messages.push_back({"tool", result, "run_import"});
  }
  return made;
}

// ---- the races ----------------------------------------------------------------------------------

constexpr const char* kPeer = "nlohmann::json";

// A benchmark of something that doesn't work would be worth nothing.
template <class T>
void check_same_work(const std::string& name, const T& value) {
  const Payload payload = encode(value);
  if (decode<T>(payload).value() == value && nlohmann::json::parse(payload.bytes).get<T>() == value &&
      decode<T>({kJsonEncoding, nlohmann::json(value).dump()}).value() == value) {
    return;
  }
  std::cerr << "bench: " << name << " does not come back as it was\n";
  std::exit(1);
}

struct Ratios {
  double encode = 0;
  double decode = 0;
};

double add_pair(Suite& suite, const std::string& name, const std::vector<Times>& times) {
  const double ratio = speedup(times[0], times[1]);
  suite.add({name, times[0].median(), "ns", ratio, kPeer});
  suite.add({name + "_nlohmann", times[1].median(), "ns", std::nullopt, std::nullopt});
  return ratio;
}

template <class T>
Ratios race_document(Suite& suite, const std::string& name, const T& value) {
  check_same_work(name, value);
  const Payload payload = encode(value);
  const auto size = static_cast<double>(payload.bytes.size());
  suite.add({name + "_size", size, "bytes", std::nullopt, std::nullopt});
  const auto encoding = race({[&] { keep(encode(value)); }, [&] { keep(nlohmann::json(value).dump()); }});
  const auto decoding = race({[&] { keep(decode<T>(payload)); },
                              [&] { keep(nlohmann::json::parse(payload.bytes).template get<T>()); }});
  return {add_pair(suite, name + "_encode", encoding), add_pair(suite, name + "_decode", decoding)};
}

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  Suite suite("codec", argc, argv);
  race_document(suite, "message", progress());
  const Ratios ratios = race_document(suite, "order", order());
  race_document(suite, "conversation", conversation());
  suite.add({"codec_encode_ratio", ratios.encode, "x", ratios.encode, kPeer});
  suite.add({"codec_decode_ratio", ratios.decode, "x", ratios.decode, kPeer});
  return suite.finish();
}
