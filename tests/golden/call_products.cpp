// SPDX-License-Identifier: MIT
// Calls of the products of matrices and tensors.
#include "tests/golden/calls.hpp"
#include "tyto/products.hpp"
#include "tyto/quantisation.hpp"
#include "tyto/shaping.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

template <class M>
Tensors<M> matmul_call(const json& arguments, const Tensors<M>& in) {
  const auto side = [&](std::size_t i, const char* transposed) {
    return arguments.value(transposed, false) ? matrix_transpose(in.at(i)) : in.at(i);
  };
  return {matmul(side(0, "transpose_a"), side(1, "transpose_b"))};
}

template <class M>
Tensors<M> tensordot_call(const json& arguments, const Tensors<M>& in) {
  const json& over = arguments.at("axes");
  if (over.is_number()) return {tensordot(in.at(0), in.at(1), over.get<std::int64_t>())};
  return {tensordot(in.at(0), in.at(1), integers(over.at(0)), integers(over.at(1)))};
}

}  // namespace

template <class M>
void add_product_calls(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  calls["matmul"] = matmul_call<M>;
  calls["quantised_matmul"] = [](const json& a, Inputs in) {
    const Tensor<M> zero_points = in.size() > 3 ? in.at(3) : Tensor<M>();
    return Tensors<M>{
        quantised_matmul(in.at(0), {in.at(1), in.at(2), zero_points, a.at("bits").template get<std::int64_t>()})};
  };
  calls["tensordot"] = tensordot_call<M>;
  calls["dot"] = [](const json&, Inputs in) { return Tensors<M>{dot(in.at(0), in.at(1))}; };
  calls["outer"] = [](const json&, Inputs in) { return Tensors<M>{outer(in.at(0), in.at(1))}; };
  calls["kron"] = [](const json&, Inputs in) { return Tensors<M>{kron(in.at(0), in.at(1))}; };
  calls["einsum"] = [](const json& a, Inputs in) {
    return Tensors<M>{einsum(a.at("equation").template get<std::string>(), in)};
  };
}
template void add_product_calls(Calls<Eager>&);
template void add_product_calls(Calls<Lazy>&);

}  // namespace tyto::golden
