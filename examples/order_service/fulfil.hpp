// The process of an order, from the reservation to the parcel, as a saga.
#pragma once

#include "orders.hpp"

#include <holdfast/context.hpp>

namespace orders {

holdfast::Task<Outcome> fulfil_order(holdfast::Context& ctx, Order order);

}  // namespace orders
