// SPDX-License-Identifier: MIT
// The orders in which greedy strategies place blocks.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "optimiser/memory/problem.hpp"

namespace tyto::memory {

enum class Order {
  size,           // largest first
  area,           // size x lifetime
  birth,          // earliest first, larger first among equals
  death,          // latest first: birth order of the instance with time reversed
  breadth,        // sections by descending load, then size
  load_area,      // T A W: load of the heaviest section crossed, then area, then lifetime
  lifetime_area,  // W A T
  area_lifetime,  // A W T
};

inline constexpr std::array<Order, 8> all_orders{Order::size,          Order::area,         Order::birth,
                                                 Order::death,         Order::breadth,      Order::load_area,
                                                 Order::lifetime_area, Order::area_lifetime};

std::string_view name(Order order);

/// All blocks of the problem, sorted by that order. Ties: longer lifetime, then earlier birth, then the caller's order.
std::vector<Index> arrange(const Problem& problem, Order order);

}  // namespace tyto::memory
