// Instances are suspended and resumed.
#include "client/core.hpp"

#include <holdfast/client.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/run.hpp>

#include <stop_token>
#include <string>
#include <utility>

namespace holdfast {

namespace detail {

store::Suspension ClientCore::suspension_of(const std::string& id, InstanceKey life, bool resume) {
  return {.instance = id,
          .life = life,
          .resume = resume,
          .request = new_request(resume ? "resume" : "suspend", id, "")};
}

void ClientCore::set_suspended(const store::Suspension& wish) {
  call([&] { return std::move(store_->set_suspended({&wish, 1}).front()); });
}

ClientCall<void> ClientCore::set_suspended_async(store::Suspension wish) {
  return ClientCall<void>([core = shared_from_this(), wish = std::move(wish)](
                              ClientCall<void>::Callback done, const std::stop_token&) mutable {
    core->notifier().set_suspended(std::move(wish),
                                   [done = std::move(done)](const StoreResult<InstanceKey>& answer) {
                                     return callback_with(done, answer_of([&] {
                                                            if (!answer) refuse(answer.error());
                                                          }));
                                   });
  });
}

}  // namespace detail

void Run::suspend() const { core().set_suspended(core().suspension_of(id_, key_, false)); }
ClientCall<void> Run::suspend_async() const {
  return core().set_suspended_async(core().suspension_of(id_, key_, false));
}
void Run::resume() const { core().set_suspended(core().suspension_of(id_, key_, true)); }
ClientCall<void> Run::resume_async() const {
  return core().set_suspended_async(core().suspension_of(id_, key_, true));
}

namespace {

store::Suspension wish_for(detail::ClientCore& core, std::string_view id, bool resume) {
  return core.suspension_of(detail::checked_name("an instance", id), {}, resume);
}

}  // namespace

void Client::suspend(std::string_view id) const { core_->set_suspended(wish_for(*core_, id, false)); }
ClientCall<void> Client::suspend_async(std::string_view id) const {
  return core_->set_suspended_async(wish_for(*core_, id, false));
}
void Client::resume(std::string_view id) const { core_->set_suspended(wish_for(*core_, id, true)); }
ClientCall<void> Client::resume_async(std::string_view id) const {
  return core_->set_suspended_async(wish_for(*core_, id, true));
}

}  // namespace holdfast
