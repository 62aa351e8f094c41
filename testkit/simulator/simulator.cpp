#include "client/bodies.hpp"
#include "client/core.hpp"
#include "testkit/simulator/world.hpp"

#include <holdfast/testing/simulator.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::testing {

/// The world, under the name that the public header knows.
class Simulation::Impl final : public simulator::World {
 public:
  using World::World;
};

std::string SimulationFailure::text() const {
  std::string text = "seed " + std::to_string(seed) + " failed at step " + std::to_string(step) + ": " +
                     what + "\nTo run it again: " + replay;
  if (!trace.empty()) text += "\nThe last steps:";
  for (const std::string& line : trace) text += "\n  " + line;
  return text;
}

Simulation& Simulation::add_activity(std::string_view name,
                                     std::shared_ptr<const detail::ActivityCode> code) {
  if (code->is_coroutine()) {
    throw std::logic_error("activity '" + std::string(name) +
                           "' is a coroutine, which runs in real time; give the simulation a function");
  }
  impl_.activities.push_back({std::string(name), std::move(code)});
  return *this;
}

void Simulation::add_session_state(std::shared_ptr<const detail::SessionStateCode> code) {
  impl_.session_states.push_back(std::move(code));
}

Simulation& Simulation::add_orchestration(std::string_view name, SimulatedCode options,
                                          std::shared_ptr<const detail::OrchestrationCode> code) {
  impl_.orchestrations.push_back({std::string(name), std::string(options.version), options.from_build,
                                  options.in_place, std::move(code)});
  return *this;
}

void Simulation::at(Duration when, std::string what, std::function<void(Client&)> act) {
  impl_.at(when, std::move(what), std::move(act));
}
void Simulation::query(Duration when, std::string id, std::string name, Duration timeout,
                       std::function<void(const Result<QueryAnswer>&)> check) {
  impl_.query(when, {std::move(id), std::move(name), timeout, std::move(check)});
}
void Simulation::at_worker(Duration when, std::string what, std::function<void(SimulatedWorker&)> act) {
  impl_.at_worker(when, std::move(what), std::move(act));
}
void Simulation::at_calm(std::function<void()> act) { impl_.calm_actions.push_back(std::move(act)); }
void Simulation::at_end(std::function<void()> check) { impl_.end_checks.push_back(std::move(check)); }
void Simulation::fail(std::string what) { impl_.fail(std::move(what)); }
void Simulation::block(Duration time) { impl_.block(time); }
void Simulation::die() { impl_.kill_current(); }
std::uint64_t Simulation::draw(std::uint64_t n) { return impl_.scenario_dice().below(n); }
Duration Simulation::now() const { return impl_.age(); }

namespace {

store::InstanceView find(Store& store, std::string_view id) {
  auto view = store.find(id);
  if (!view) throw ClientError(ClientError::Kind::not_found, view.error().message);
  return *std::move(view);
}

}  // namespace

RunInfo Simulation::info(std::string_view id) const {
  const store::InstanceView view = find(impl_.plain_store(), id);
  return detail::to_infos(impl_.plain_store(), {&view, 1}).value().front();
}

Result<Payload> Simulation::output_of(std::string_view id) const {
  const store::InstanceView view = find(impl_.plain_store(), id);
  if (!has_ended(view.status)) throw std::logic_error("'" + std::string(id) + "' has not ended");
  auto outcome = bodies::read<bodies::Outcome>(view.output);
  if (!outcome) throw std::logic_error("the result of '" + std::string(id) + "' can't be read");
  if (outcome->failure) return Unexpected(*std::move(outcome->failure));
  return std::move(outcome->value);
}

std::optional<Payload> Simulation::value_of(std::string_view id, std::string_view key) const {
  const auto value = impl_.plain_store().value(id, key);
  if (!value || !*value) return std::nullopt;
  return bodies::read<Payload>(**value);
}

store::StoreState Simulation::state() const {
  auto state = impl_.plain_store().state();
  if (!state) throw ClientError(ClientError::Kind::unavailable, state.error().message);
  return *std::move(state);
}

namespace {

std::string replay_text(std::string hint, std::uint64_t seed) {
  const std::size_t place = hint.find("{}");
  if (place != std::string::npos) hint.replace(place, 2, std::to_string(seed));
  return hint;
}

}  // namespace

SimulationReport simulate(const Scenario& scenario, std::uint64_t seed, const SimulationOptions& options) {
  const auto run = [&](bool tells, std::vector<std::string>* trace) {
    Simulation::Impl world(seed, options, tells);
    Simulation simulation(world);
    scenario(simulation);
    world.run();
    SimulationReport report = world.report();
    if (world.failure()) {
      report.failure = SimulationFailure{.seed = seed,
                                         .step = world.failed_at(),
                                         .what = *world.failure(),
                                         .replay = replay_text(options.replay_hint, seed)};
    }
    if (trace != nullptr) *trace = world.trace();
    return report;
  };
  SimulationReport report = run(options.print, nullptr);
  if (!report.failure || options.print) return report;
  std::vector<std::string> trace;
  const SimulationReport again = run(true, &trace);
  report.failure->trace = std::move(trace);
  if (again.fingerprint != report.fingerprint)
    report.failure->what +=
        "\nThe second run of the seed went another way: something in it decides by chance";
  return report;
}

std::optional<SimulationFailure> simulate_seeds(const Scenario& scenario, SeedRange seeds,
                                                const SimulationOptions& options) {
  for (std::uint64_t i = 0; i < seeds.count; ++i) {
    SimulationReport report = simulate(scenario, seeds.first + i, options);
    if (report.failure) return std::move(report.failure);
  }
  return std::nullopt;
}

}  // namespace holdfast::testing
