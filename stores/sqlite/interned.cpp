#include "interned.hpp"

#include "contract/rows.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

using KindView = std::tuple<std::string_view, std::string_view, std::string_view>;

}  // namespace

const Route* Interned::route(std::int64_t number) {
  auto found = routes_.find(number);
  if (found == routes_.end()) {
    load_routes();
    found = routes_.find(number);
  }
  return found == routes_.end() ? nullptr : &found->second;
}

const Kind* Interned::kind(std::int64_t number) {
  auto found = kinds_.find(number);
  if (found == kinds_.end()) {
    load_kinds();
    found = kinds_.find(number);
  }
  return found == kinds_.end() ? nullptr : &found->second;
}

std::int64_t Interned::route_number(const Route& route) {
  auto found = route_numbers_.find(route);
  if (found == route_numbers_.end()) {
    load_routes();
    found = route_numbers_.find(route);
  }
  if (found != route_numbers_.end()) return found->second;
  const std::int64_t number = std::max(last_route_, range_.below) + 1;
  sql_.insert_route.use(connection_, faults_)
      .run(number, route.code.name, route.code.version, route.build, route.terminating);
  load_routes();
  return number;
}

std::int64_t Interned::kind_number(std::string_view queue, std::string_view name,
                                   std::string_view requirements) {
  const KindView wanted(queue, name, requirements);
  auto found = kind_numbers_.find(wanted);
  if (found == kind_numbers_.end()) {
    load_kinds();
    found = kind_numbers_.find(wanted);
  }
  if (found != kind_numbers_.end()) return found->second;
  const std::int64_t number = std::max(last_kind_, range_.below) + 1;
  sql_.insert_kind.use(connection_, faults_).run(number, queue, name, Blob{requirements});
  load_kinds();
  return number;
}

void Interned::forget() {
  routes_.clear();
  kinds_.clear();
  route_numbers_.clear();
  kind_numbers_.clear();
  last_route_ = 0;
  last_kind_ = 0;
}

void Interned::load_routes() {
  const std::int64_t after = std::max(last_route_, range_.below);
  for (Cursor row(sql_.routes.use(connection_, faults_), after, range_.above); row.next();) {
    last_route_ = row->int64(0);
    const Route& route =
        routes_
            .try_emplace(last_route_, Route{.code = {std::string(row->text(1)), std::string(row->text(2))},
                                            .build = row->uint64(3),
                                            .terminating = row->integer(4) != 0})
            .first->second;
    route_numbers_.emplace(route, last_route_);
  }
}

void Interned::load_kinds() {
  const std::int64_t after = std::max(last_kind_, range_.below);
  for (Cursor row(sql_.kinds.use(connection_, faults_), after, range_.above); row.next();) {
    last_kind_ = row->int64(0);
    Kind kind{.queue = std::string(row->text(1)), .name = std::string(row->text(2))};
    const std::string requirements(row->blob(3));
    kind.in_session = !requirements.empty();
    if (!store::from_bytes(requirements, kind.requirements)) kind.requirements.clear();
    kind_numbers_.emplace(KindKey(kind.queue, kind.name, requirements), last_kind_);
    kinds_.insert_or_assign(last_kind_, std::move(kind));
  }
}

}  // namespace holdfast::sqlite_store
