#include "server_test.hpp"

#include <holdfast/testing/conformance.hpp>

#include <string>
#include <string_view>

namespace holdfast::testing::conformance_test {
namespace {

std::string literal(std::string_view bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "'\\x";
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text + "'::bytea";
}

std::string number(store::MessageKind kind) { return std::to_string(static_cast<int>(kind)); }

std::string statement_of(const Damage& damage) {
  using store::MessageKind;
  const std::string bytes = literal(damage.bytes);
  const std::string of = " WHERE key = (SELECT key FROM instances WHERE name = '" + damage.id + "')";
  switch (damage.to) {
    case Damage::To::waits:
      return "UPDATE instances SET waits = " + bytes + of;
    case Damage::To::code:
      return "UPDATE instances SET route = route + 1000000" + of;
    case Damage::To::messages:
      return "UPDATE messages SET body = " + bytes + of + " AND kind IN (" + number(MessageKind::taken) +
             ", " + number(MessageKind::value) + ", " + number(MessageKind::session) + ", " +
             number(MessageKind::news) + ")";
    case Damage::To::policy:
      return "UPDATE sessions SET policy = " + bytes + " WHERE id = '" + damage.id + "'";
    case Damage::To::worker:
      return "UPDATE workers SET info = " + bytes + " WHERE node = '" + damage.id + "'";
  }
  return {};
}

class Database final : public StoreDatabase {
 public:
  std::shared_ptr<Store> open(const StoreSetup& setup) override {
    return schema_.open({.ns = setup.ns, .clock = setup.clock, .faults = setup.faults});
  }

  std::uint64_t damage(const Damage& damage) override {
    const auto rows = schema_.number("WITH damaged AS (" + statement_of(damage) +
                                     " RETURNING 1) SELECT count(*) FROM damaged");
    return static_cast<std::uint64_t>(rows);
  }

 private:
  postgres_store::TestSchema schema_;
};

const bool kRegistered = register_conformance_tests(
    {.name = "postgres", .make = [] { return std::make_unique<Database>(); }, .damages_rows = true});

}  // namespace
}  // namespace holdfast::testing::conformance_test
