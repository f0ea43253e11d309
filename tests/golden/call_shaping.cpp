// SPDX-License-Identifier: MIT
// Calls of operators on shapes: views, joins, cuts, repetitions, padding, diagonals.
#include "tests/golden/calls.hpp"
#include "tyto/shaping.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

template <class M, class F>
Call<M> of_one(F f) {
  return [f](const json& arguments, const Tensors<M>& in) { return Tensors<M>{f(in.at(0), arguments)}; };
}

PaddingMode padding_named(const std::string& name) {
  if (name == "constant") return PaddingMode::constant;
  if (name == "edge") return PaddingMode::edge;
  if (name == "reflect") return PaddingMode::reflect;
  if (name == "symmetric") return PaddingMode::symmetric;
  if (name == "wrap") return PaddingMode::wrap;
  throw std::runtime_error("no padding is called '" + name + "'");
}

template <class M>
Tensor<M> pad_call(const Tensor<M>& x, const json& arguments) {
  IntList before, after;
  for (const auto& pair : arguments.at("widths")) {
    before.push_back(pair.at(0));
    after.push_back(pair.at(1));
  }
  return pad(x, before, after, padding_named(arguments.at("mode")), number(arguments.at("value")));
}

}  // namespace

template <class M>
void add_shaping_calls(Calls<M>& calls) {
  using T = const Tensor<M>&;
  using A = const json&;
  calls["reshape"] = of_one<M>([](T x, A a) { return reshape(x, integers(a.at("shape"))); });
  calls["transpose"] =
      of_one<M>([](T x, A a) { return a.at("axes").is_null() ? transpose(x) : transpose(x, integers(a.at("axes"))); });
  calls["matrix_transpose"] = of_one<M>([](T x, A) { return matrix_transpose(x); });
  calls["swapaxes"] = of_one<M>([](T x, A a) { return swapaxes(x, a.at("axis1"), a.at("axis2")); });
  calls["moveaxis"] = of_one<M>([](T x, A a) { return moveaxis(x, a.at("from"), a.at("to")); });
  calls["squeeze"] = of_one<M>([](T x, A a) { return squeeze(x, axes(a.at("axes"))); });
  calls["expand_dims"] = of_one<M>([](T x, A a) { return expand_dims(x, axes(a.at("axes"))); });
  calls["broadcast_to"] = of_one<M>([](T x, A a) { return broadcast_to(x, integers(a.at("shape"))); });
  calls["flip"] = of_one<M>([](T x, A a) { return flip(x, axes(a.at("axes"))); });
  calls["tile"] = of_one<M>([](T x, A a) { return tile(x, integers(a.at("counts"))); });
  calls["repeat"] = of_one<M>([](T x, A a) { return repeat(x, a.at("count"), optional_integer(a.at("axis"))); });
  calls["roll"] = of_one<M>([](T x, A a) { return roll(x, integers(a.at("shift")), axes(a.at("axes"))); });
  calls["pad"] = of_one<M>(pad_call<M>);
  calls["diag"] = of_one<M>([](T x, A a) { return diag(x, a.at("k")); });
  calls["diagonal"] = of_one<M>([](T x, A a) { return diagonal(x, a.at("k"), a.at("axis1"), a.at("axis2")); });
  calls["trace"] = of_one<M>([](T x, A a) { return trace(x, a.at("k")); });
  calls["tril"] = of_one<M>([](T x, A a) { return tril(x, a.at("k")); });
  calls["triu"] = of_one<M>([](T x, A a) { return triu(x, a.at("k")); });
  calls["concat"] = [](A a, const Tensors<M>& in) { return Tensors<M>{tyto::concat(in, a.at("axis"))}; };
  calls["stack"] = [](A a, const Tensors<M>& in) { return Tensors<M>{stack(in, a.at("axis"))}; };
  calls["meshgrid"] = [](A, const Tensors<M>& in) { return meshgrid(in); };
  calls["split"] = [](A a, const Tensors<M>& in) {
    const std::int64_t axis = a.at("axis");
    if (a.contains("parts")) return split(in.at(0), a.at("parts").template get<std::int64_t>(), axis);
    return split(in.at(0), integers(a.at("positions")), axis);
  };
}
template void add_shaping_calls(Calls<Eager>&);
template void add_shaping_calls(Calls<Lazy>&);

}  // namespace tyto::golden
