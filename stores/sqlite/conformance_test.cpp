#include "stores/sqlite/connection.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/sqlite.hpp>
#include <holdfast/testing/conformance.hpp>

#include <string>

namespace holdfast::testing::conformance_test {
namespace {

using sqlite_store::Blob;
using support::TemporaryFolder;

std::string number(store::MessageKind kind) { return std::to_string(static_cast<int>(kind)); }

std::string statement_of(Damage::To to) {
  using store::MessageKind;
  const std::string of = " WHERE key = (SELECT key FROM instances WHERE name = ?1)";
  switch (to) {
    case Damage::To::waits:
      return "UPDATE instances SET waits = ?2" + of;
    case Damage::To::code:
      return "UPDATE instances SET route = route + 1000000" + of;
    case Damage::To::messages:
      return "UPDATE messages SET body = ?2" + of + " AND kind IN (" + number(MessageKind::taken) + ", " +
             number(MessageKind::value) + ", " + number(MessageKind::session) + ", " +
             number(MessageKind::news) + ")";
    case Damage::To::policy:
      return "UPDATE sessions SET policy = ?2 WHERE id = ?1";
    case Damage::To::worker:
      return "UPDATE workers SET info = ?2 WHERE node = ?1";
  }
  return {};
}

class Database final : public StoreDatabase {
 public:
  std::shared_ptr<Store> open(const StoreSetup& setup) override {
    // What is tested here is not the disk.
    return sqlite(
        folder_ / "conformance.db",
        {.ns = setup.ns, .durability = Durability::off, .clock = setup.clock, .faults = setup.faults});
  }

  std::uint64_t damage(const Damage& damage) override {
    sqlite_store::Connection other(folder_ / "conformance.db", SQLITE_OPEN_READWRITE);
    // Its place among ready ones has the number of its code as well.
    if (damage.to == Damage::To::code)
      other.exec(
          "UPDATE ready SET lane = lane + 1000000 WHERE key = (SELECT key FROM instances WHERE name = '" +
          damage.id + "')");
    sqlite_store::Statement update = other.prepare(statement_of(damage.to));
    update.bind(1, std::string_view(damage.id));
    if (damage.to != Damage::To::code) update.bind(2, Blob{damage.bytes});
    while (update.step()) {
    }
    return static_cast<std::uint64_t>(other.changes());
  }

 private:
  TemporaryFolder folder_;
};

const bool kRegistered = register_conformance_tests(
    {.name = "sqlite", .make = [] { return std::make_unique<Database>(); }, .damages_rows = true});

}  // namespace
}  // namespace holdfast::testing::conformance_test
