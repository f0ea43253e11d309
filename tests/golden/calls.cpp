// SPDX-License-Identifier: MIT
// The families' calls in one table, and the arguments of a case as the public functions take them.
#include "tests/golden/calls.hpp"

#include <stdexcept>

namespace tyto::golden {

template <class M>
const Calls<M>& calls() {
  static const Calls<M> table = [] {
    Calls<M> all;
    add_elementwise_calls(all);
    add_creation_calls(all);
    add_reduction_calls(all);
    add_shaping_calls(all);
    add_indexing_calls(all);
    add_product_calls(all);
    add_linalg_calls(all);
    add_window_calls(all);
    add_resampling_calls(all);
    add_numerics_calls(all);
    add_complex_calls(all);
    return all;
  }();
  return table;
}
template const Calls<Eager>& calls();
template const Calls<Lazy>& calls();

DType dtype_named(std::string_view name) {
  for (int i = 0; i < dtype_count; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  throw std::runtime_error("no element type is called '" + std::string(name) + "'");
}

Scalar number(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.get<double>();
}

IntList integers(const nlohmann::json& value) {
  IntList list;
  if (value.is_number()) {
    list.push_back(value.get<std::int64_t>());
    return list;
  }
  for (const auto& each : value) list.push_back(each.get<std::int64_t>());
  return list;
}

Axes axes(const nlohmann::json& value) { return value.is_null() ? Axes() : Axes(integers(value)); }

std::optional<std::int64_t> optional_integer(const nlohmann::json& value) {
  if (value.is_null()) return {};
  return value.get<std::int64_t>();
}

}  // namespace tyto::golden
