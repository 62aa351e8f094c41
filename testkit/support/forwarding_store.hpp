// A store that hands every call on to another: for stores with one mistake.
#pragma once

#include "contract/store_forwarder.hpp"

#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace holdfast::support {

class ForwardingStore : public store::StoreForwarder<ForwardingStore> {
 public:
  explicit ForwardingStore(std::shared_ptr<Store> to) : StoreForwarder(std::move(to)) {}

 protected:
  Store& to() noexcept { return inner(); }

 private:
  friend class store::StoreForwarder<ForwardingStore>;
  template <class Call>
  auto one(std::string_view /*name*/, Call call) {
    return call();
  }
  template <class Item, class Call>
  auto each(std::string_view /*name*/, std::span<const Item> items, Call call) {
    return call(items);
  }
};

}  // namespace holdfast::support
