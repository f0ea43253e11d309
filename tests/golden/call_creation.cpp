// SPDX-License-Identifier: MIT
// Calls of operators that create tensors, or make them of class numbers.
#include "tests/golden/calls.hpp"
#include "tyto/indexing.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

DType dtype_of_call(const json& arguments) { return dtype_named(arguments.at("dtype").get<std::string>()); }

template <class M, class F>
Call<M> creation(F f) {
  return [f](const json& arguments, const Tensors<M>&) { return Tensors<M>{f(arguments)}; };
}

}  // namespace

template <class M>
void add_creation_calls(Calls<M>& calls) {
  using T = Tensor<M>;
  calls["zeros"] = creation<M>([](const json& a) { return T::zeros(integers(a.at("shape")), dtype_of_call(a)); });
  calls["ones"] = creation<M>([](const json& a) { return T::ones(integers(a.at("shape")), dtype_of_call(a)); });
  calls["full"] = creation<M>(
      [](const json& a) { return T::full(integers(a.at("shape")), number(a.at("value")), dtype_of_call(a)); });
  calls["eye"] = creation<M>([](const json& a) {
    return T::eye(a.at("rows"), optional_integer(a.at("columns")).value_or(-1), a.at("k"), dtype_of_call(a));
  });
  calls["tri"] = creation<M>([](const json& a) {
    return T::tri(a.at("rows"), optional_integer(a.at("columns")).value_or(-1), a.at("k"), dtype_of_call(a));
  });
  calls["arange"] = creation<M>([](const json& a) {
    return T::arange(number(a.at("start")), number(a.at("stop")), number(a.at("step")), dtype_of_call(a));
  });
  calls["linspace"] = creation<M>(
      [](const json& a) { return T::linspace(a.at("start"), a.at("stop"), a.at("count"), dtype_of_call(a)); });
  calls["logspace"] = creation<M>([](const json& a) {
    return T::logspace(a.at("start"), a.at("stop"), a.at("count"), a.at("base"), dtype_of_call(a));
  });
  calls["one_hot"] = [](const json& a, const Tensors<M>& in) {
    return Tensors<M>{one_hot(in.at(0), a.at("depth"), dtype_of_call(a))};
  };
}
template void add_creation_calls(Calls<Eager>&);
template void add_creation_calls(Calls<Lazy>&);

}  // namespace tyto::golden
