// SPDX-License-Identifier: MIT
// Falls back to step-by-step evaluation for bodies that a recorded graph cannot hold.
#pragma once

#include "onnx/program/operator_call.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

/// Calls `record`. Bodies that a graph cannot hold (arms of several shapes, carries that grow) are left to be computed
/// where their data is known.
template <class F>
Outputs recorded(const OperatorCall& call, const F& record) {
  try {
    return record();
  } catch (const DataDependence&) {
    throw;
  } catch (const LimitError&) {
    throw;
  } catch (const core::AllocationRefused&) {
    throw;
  } catch (const Error& error) {
    throw DataDependence(
        core::text(call.where(), ": data decides what it does, and a graph cannot hold it: ", error.what()));
  }
}

/// f(axis) for the axis that input `i` names of those from 0 to `rank`. Where it comes with the data it is a branch for
/// each, so all must yield one shape; one beyond them is taken for the nearest.
template <class F>
Array along_named_axis(const OperatorCall& call, std::size_t i, std::int64_t rank, const F& f) {
  if (call[i].size() != 1) call.refuse("input ", i + 1, " has ", call[i].size(), " elements, expected one");
  if (call.known(i)) return f(call.integer_in(i));
  if (rank == 1) return f(0);
  const Array named = cast(reshape(call[i], {}), DType::i64);
  std::vector<std::function<std::vector<Value>()>> arms;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    arms.push_back([&f, axis] { return std::vector<Value>{f(axis).value()}; });
  }
  const Array index = where(less(named, 0), named + rank, named);
  return Array(detail::run_branch("axis", detail::RegionMode::lazy, index.value(), false, arms)[0]);
}

}  // namespace tyto::onnx
