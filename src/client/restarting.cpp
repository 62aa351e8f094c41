// A new life of an instance that has ended, with the input of the one before.
#include "client/core.hpp"
#include "client/starting.hpp"

#include <holdfast/run.hpp>

#include <string>
#include <utility>

namespace holdfast {
namespace {

[[noreturn]] void refuse_running(const std::string& id, Status status) {
  throw ClientError(ClientError::Kind::conflict, "instance '" + id + "' has not ended, it is " +
                                                     std::string(to_string(status)) +
                                                     ": cancel or terminate it, and restart it then");
}

[[noreturn]] void refuse_without_input(const std::string& id) {
  throw ClientError(ClientError::Kind::not_found,
                    "what instance '" + id +
                        "' was started with is not known any more: the history of its first execution was "
                        "pruned, or it was ended before it began; start it with its input instead, and "
                        "StartOptions::reuse");
}

}  // namespace

Run Run::restart(RestartOptions options) const {
  const auto views = core().call([&] { return core().store().look({&key_, 1}); });
  if (!views.front()) detail::refuse_as_gone(core().store(), id_);
  if (!has_ended(views.front()->status)) refuse_running(id_, views.front()->status);
  auto began = core().call([&] { return client::beginning_of(core().store(), *views.front()); });
  if (!began) refuse_without_input(id_);
  const store::StartRequest request = client::start_request(
      core(), began->name,
      {.id = id_, .version = options.version, .reuse = Reuse::after_end, .attributes = began->attributes},
      std::move(began->input));
  return {core_, id_, client::start(core(), request, std::move(core().store().start({&request, 1}).front()))};
}

}  // namespace holdfast
