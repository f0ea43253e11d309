// SPDX-License-Identifier: MIT
// Maps a golden's operator name and arguments to a call of the public functions, in either mode.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto::golden {

template <class M>
using Tensors = std::vector<Tensor<M>>;

/// The call that a case stands for: arguments as its `args`, and its inputs, to its outputs.
template <class M>
using Call = std::function<Tensors<M>(const nlohmann::json& arguments, const Tensors<M>& inputs)>;

/// Calls by the name that cases give the operator.
template <class M>
using Calls = std::map<std::string, Call<M>, std::less<>>;

/// The calls of every family.
template <class M>
const Calls<M>& calls();

template <class M>
void add_elementwise_calls(Calls<M>& calls);
template <class M>
void add_creation_calls(Calls<M>& calls);
template <class M>
void add_reduction_calls(Calls<M>& calls);
template <class M>
void add_shaping_calls(Calls<M>& calls);
template <class M>
void add_indexing_calls(Calls<M>& calls);
template <class M>
void add_product_calls(Calls<M>& calls);
template <class M>
void add_linalg_calls(Calls<M>& calls);
template <class M>
void add_window_calls(Calls<M>& calls);
template <class M>
void add_resampling_calls(Calls<M>& calls);
template <class M>
void add_numerics_calls(Calls<M>& calls);
template <class M>
void add_complex_calls(Calls<M>& calls);

/// The element type of that name; throws for a name that is none.
DType dtype_named(std::string_view name);

/// A number as it stands in the manifest: with a point, whole, or true and false.
Scalar number(const nlohmann::json& value);

/// A list of integers, or one.
IntList integers(const nlohmann::json& value);

/// Axes to work on; null stands for all of them.
Axes axes(const nlohmann::json& value);

/// An integer, or null for none.
std::optional<std::int64_t> optional_integer(const nlohmann::json& value);

}  // namespace tyto::golden
