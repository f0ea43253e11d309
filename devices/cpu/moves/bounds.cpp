// SPDX-License-Identifier: MIT
// Checks that integers lie in a range: compares all of them before it names one.
#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "core/graph/index_messages.hpp"
#include "core/graph/op_ids.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

namespace {

template <class T>
void check_all(std::span<const T> values, const core::BoundsAttributes& bounds) {
  const auto is_outside = [&](T value) {
    return std::cmp_less(value, bounds.low) | std::cmp_greater(value, bounds.high);
  };
  bool outside = false;
  for (const T value : values) outside |= is_outside(value);
  if (!outside) return;
  const T first = *std::find_if(values.begin(), values.end(), is_outside);
  core::throw_out_of_bounds(bounds, static_cast<std::conditional_t<(sizeof(T) < 8), std::int64_t, T>>(first));
}

KernelRef prepare_check_bounds(const core::Step& step) {
  const core::View in = step.inputs[0].view;
  const auto count = static_cast<std::size_t>(in.count());
  return with_element(step.inputs[0].dtype, [&]<class T>(std::type_identity<T>) -> KernelRef {
    if constexpr (std::is_integral_v<T>) {
      return make_kernel([=, bounds = std::get<core::BoundsAttributes>(*step.attributes), begin = in.offset](
                             Addresses inputs, Addresses outputs, core::Address) {
        if (count == 0) return;
        const T* values = reinterpret_cast<const T*>(inputs[0].pointer()) + begin;
        check_all<T>({values, count}, bounds);
        std::memmove(outputs[0].pointer(), values, count * sizeof(T));
      });
    } else {
      core::refuse_operator("cpu", step.op);
    }
  });
}

constexpr KernelEntry bounds_entries[] = {{core::OpId::check_bounds, prepare_check_bounds, all_dense}};

}  // namespace

std::span<const KernelEntry> bounds_kernels() { return bounds_entries; }

}  // namespace tyto::cpu
