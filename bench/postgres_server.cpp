#include "bench/postgres_server.hpp"

#include "stores/postgres/connection.hpp"

#include <holdfast/postgres.hpp>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace holdfast::bench {

namespace {

void script(const std::string& arguments) {
  const std::string command = HOLDFAST_SOURCE_FOLDER "/stores/postgres/server.sh " + arguments;
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
}

}  // namespace

PostgresServer::PostgresServer() : state_("/tmp/holdfast-bench-" + std::to_string(::getpid())) {
  script("start " + state_ + " --durable --watch " + std::to_string(::getpid()));
  std::ifstream file(state_ + "/uri");
  std::getline(file, uri_);
}

PostgresServer::~PostgresServer() {
  if (std::system((HOLDFAST_SOURCE_FOLDER "/stores/postgres/server.sh stop " + state_).c_str()) != 0) {
    // It goes with this process.
  }
}

std::shared_ptr<Store> PostgresServer::open(const std::string& schema) const {
  return postgres(uri_, {.schema = schema});
}

std::uint64_t PostgresServer::autovacuums() const {
  constexpr postgres_store::Statement kCount{
      "bench.autovacuums", "SELECT coalesce(sum(autovacuum_count), 0)::bigint FROM pg_stat_user_tables"};
  postgres_store::Connection connection({.uri = uri_, .schema = "public"});
  connection.queue(kCount, {});
  return static_cast<std::uint64_t>(connection.exchange().front().integer(0, 0));
}

}  // namespace holdfast::bench
