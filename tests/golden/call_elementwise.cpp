// SPDX-License-Identifier: MIT
// Calls of the element-wise operators, one for each line of their list, and of the two that take arguments.
#include "tests/golden/calls.hpp"
#include "tyto/activations.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/shaping.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

/// The two operands: both inputs, or the input and a number on the side that the arguments name.
template <class M>
std::pair<Tensor<M>, Tensor<M>> operands(const json& arguments, const Tensors<M>& in) {
  if (!arguments.contains("scalar")) return {in.at(0), in.at(1)};
  const Tensor<M> scalar(number(arguments.at("scalar")));
  if (arguments.at("scalar_side") == "left") return {scalar, in.at(0)};
  return {in.at(0), scalar};
}

/// Between bounds that are inputs or numbers; a bound that is null leaves one of the two limits.
template <class M>
Tensors<M> clip_call(const json& arguments, const Tensors<M>& in) {
  if (in.size() == 3) return {clip(in[0], in[1], in[2])};
  const json &low = arguments.at("min"), &high = arguments.at("max");
  if (low.is_null()) return {minimum(in.at(0), number(high))};
  if (high.is_null()) return {maximum(in.at(0), number(low))};
  return {clip(in.at(0), number(low), number(high))};
}

}  // namespace

template <class M>
void add_elementwise_calls(Calls<M>& calls) {
#define TYTO_UNARY(name) calls[#name] = [](const json&, const Tensors<M>& in) { return Tensors<M>{name(in.at(0))}; };
#define TYTO_BINARY(name)                                          \
  calls[#name] = [](const json& arguments, const Tensors<M>& in) { \
    const auto [a, b] = operands(arguments, in);                   \
    return Tensors<M>{name(a, b)};                                 \
  };
#define TYTO_TERNARY(name) \
  calls[#name] = [](const json&, const Tensors<M>& in) { return Tensors<M>{name(in.at(0), in.at(1), in.at(2))}; };
#include "tyto/ops/elementwise_names.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
  calls["clip"] = clip_call<M>;
  calls["leaky_relu"] = [](const json& arguments, const Tensors<M>& in) {
    return Tensors<M>{leaky_relu(in.at(0), number(arguments.at("slope")))};
  };
  calls["elu"] = [](const json& arguments, const Tensors<M>& in) {
    return Tensors<M>{elu(in.at(0), number(arguments.at("alpha")))};
  };
  calls["cast"] = [](const json& arguments, const Tensors<M>& in) {
    return Tensors<M>{cast(in.at(0), dtype_named(arguments.at("dtype").get<std::string>()))};
  };
}
template void add_elementwise_calls(Calls<Eager>&);
template void add_elementwise_calls(Calls<Lazy>&);

}  // namespace tyto::golden
