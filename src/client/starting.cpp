#include "client/starting.hpp"

#include "base/check_options.hpp"
#include "base/versions.hpp"
#include "client/bodies.hpp"
#include "codec/segment.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/random.hpp>

#include <optional>
#include <utility>

namespace holdfast::client {
namespace {

// FNV-1a over both halves with different offsets: equal wishes have equal ones, on every machine.
Fingerprint fingerprint_of(std::string_view orchestration, std::string_view version, const Payload& input) {
  Fingerprint print{0xcbf29ce484222325U, 0x84222325cbf29ce4U};
  const auto mix = [&print](std::string_view part) {
    for (const char c : part) {
      const auto byte = static_cast<unsigned char>(c);
      print.high = (print.high ^ byte) * 0x100000001b3U;
      print.low = (print.low ^ byte ^ 0x5aU) * 0x9e3779b97f4a7c15U;
    }
    print.high = (print.high ^ part.size()) * 0x100000001b3U;
    print.low = (print.low ^ part.size()) * 0x9e3779b97f4a7c15U;
  };
  mix(orchestration);
  mix(version);
  mix(input.encoding.id());
  mix(input.bytes);
  return print;
}

}  // namespace

store::StartRequest start_request(detail::ClientCore& core, std::string_view orchestration,
                                  const StartOptions& options, Payload input) {
  Random& random = core.random();
  core.check_size({"the input of", orchestration}, input);
  store::StartRequest request;
  request.instance = options.id ? detail::checked_name("an instance", *options.id)
                                : to_string(core.new_request("name", orchestration, ""));
  request.code = {detail::checked_name("an orchestration", orchestration),
                  detail::wanted_version(options.version)};
  detail::check_delay({"the start of", request.instance}, "delay", options.delay);
  request.fingerprint = fingerprint_of(orchestration, request.code.version, input);
  request.request = core.new_request("start", request.instance, orchestration);
  request.reuse = options.reuse;
  const Seed seed = random_token<Seed>(random);
  request.delay = options.delay;
  request.attributes = options.attributes.checked("instance '" + request.instance + "'");
  request.body = bodies::to_bytes(bodies::Start{{.name = request.code.name,
                                                 .version = request.code.version,
                                                 .input = std::move(input),
                                                 .seed = seed.low,
                                                 .seed_high = seed.high,
                                                 .attributes = request.attributes},
                                                std::nullopt});
  return request;
}

namespace {

// "in version '2'"
std::string version_in_words(const std::string& version) {
  return version.empty() ? "in the newest version, whichever that was" : "in version '" + version + "'";
}

/// The version that was asked for when the instance was started with the same input as is wanted now; nothing
/// when the input was another. Its code may have gone on to other versions since.
std::optional<std::string> version_wanted(const store::InstanceDetail& there,
                                          const store::StartRequest& request) {
  const auto wish = bodies::read<bodies::Start>(request.body);
  for (const std::string& version : {std::string(), there.view.code.version}) {
    if (wish && fingerprint_of(request.code.name, version, wish->started.input) == there.fingerprint)
      return version;
  }
  return std::nullopt;
}

/// It was started with the same input. Whoever can't say in which version looks here: a range that somebody
/// asked for is kept nowhere once it is decided.
bool has_same_input(Store& store, const store::InstanceDetail& there, const store::StartRequest& request) {
  const auto wish = bodies::read<bodies::Start>(request.body);
  const auto began = beginning_of(store, there.view);
  return wish && began && *began && (*began)->input == wish->started.input;
}

// What stands in the way of a start: the store compares wishes by their fingerprints only.
[[noreturn]] void refuse_start(Store& store, const store::InstanceDetail& there,
                               const store::StartRequest& request) {
  std::string why = "with another input";
  if (there.view.code.name != request.code.name) {
    why = "as '" + there.view.code.name + "', not as '" + request.code.name + "'";
  } else if (there.fingerprint == Fingerprint{}) {
    why = "by another instance";
  } else if (const auto version = version_wanted(there, request)) {
    why = version_in_words(*version) + ", not " + version_in_words(request.code.version);
  } else if (has_same_input(store, there, request)) {
    why = "in another version or range, not " + version_in_words(request.code.version);
  } else if (there.view.execution > ExecutionNumber{1}) {
    why = "with another input or version";
  }
  throw ClientError(
      ClientError::Kind::conflict,
      "instance '" + request.instance + "' exists, and was started " + why +
          "; use another id, or set StartOptions::reuse to begin a new instance once it has ended");
}

}  // namespace

StoreResult<std::optional<history::Started>> beginning_of(Store& store, const store::InstanceView& view) {
  const auto segments = store.read_history(view.key, ExecutionNumber{1}, EventId{}, 1);
  if (!segments) return Unexpected(segments.error());
  if (segments->empty()) return std::optional<history::Started>();
  auto events = history::read_segment(segments->front().bytes);
  if (!events)
    throw ClientError(ClientError::Kind::damaged,
                      "the history of '" + view.instance + "': " + events.error());
  for (history::Event& event : *events) {
    if (auto* const started = std::get_if<history::Started>(&event.body))
      return std::optional(std::move(*started));
  }
  return std::optional<history::Started>();
}

void refuse_at_once(Store& store, const store::StartRequest& request, const StoreError& error) {
  if (error.kind == StoreError::Kind::conflict) {
    if (const auto there = store.describe(request.instance)) refuse_start(store, *there, request);
  }
  detail::refuse(error);
}

InstanceKey start(detail::ClientCore& core, const store::StartRequest& request,
                  StoreResult<store::StartAnswer> answer) {
  bool first = true;
  try {
    return core
        .call([&] {
          return std::exchange(first, false) ? std::move(answer)
                                             : std::move(core.store().start({&request, 1}).front());
        })
        .key;
  } catch (const ClientError& e) {
    if (e.kind() == ClientError::Kind::conflict)
      refuse_start(core.store(), core.call([&] { return core.store().describe(request.instance); }), request);
    throw;
  }
}

}  // namespace holdfast::client
