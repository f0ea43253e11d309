// SPDX-License-Identifier: MIT
// Calls of reductions, scans, and what is made of them: softmax, attention and the losses.
#include "tests/golden/calls.hpp"
#include "tyto/attention.hpp"
#include "tyto/reduce.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

template <class M>
using Reduction = Tensor<M> (*)(const Tensor<M>&, const Axes&, KeepDims);
template <class M>
using Variance = Tensor<M> (*)(const Tensor<M>&, const Axes&, KeepDims, std::int64_t);
template <class M>
using Place = Tensor<M> (*)(const Tensor<M>&, std::optional<std::int64_t>, KeepDims);
template <class M>
using Scan = Tensor<M> (*)(const Tensor<M>&, std::optional<std::int64_t>, const ScanOptions&);
template <class M>
using ExtremeScan = Tensor<M> (*)(const Tensor<M>&, std::int64_t, Flag);

template <class M>
Call<M> call_of(Reduction<M> f) {
  return [f](const json& a, const Tensors<M>& in) {
    return Tensors<M>{f(in.at(0), axes(a.at("axes")), a.at("keepdims").get<bool>())};
  };
}
template <class M>
Call<M> call_of(Variance<M> f) {
  return [f](const json& a, const Tensors<M>& in) {
    return Tensors<M>{f(in.at(0), axes(a.at("axes")), a.at("keepdims").get<bool>(), a.at("ddof"))};
  };
}
template <class M>
Call<M> call_of(Place<M> f) {
  return [f](const json& a, const Tensors<M>& in) {
    return Tensors<M>{f(in.at(0), optional_integer(a.at("axis")), a.at("keepdims").get<bool>())};
  };
}
template <class M>
Call<M> call_of(Scan<M> f) {
  return [f](const json& a, const Tensors<M>& in) {
    const ScanOptions options{.exclusive = a.value("exclusive", false), .reverse = a.value("reverse", false)};
    return Tensors<M>{f(in.at(0), a.at("axis"), options)};
  };
}
template <class M>
Call<M> call_of(ExtremeScan<M> f) {
  return [f](const json& a, const Tensors<M>& in) {
    return Tensors<M>{f(in.at(0), a.at("axis"), a.value("reverse", false))};
  };
}

}  // namespace

template <class M>
void add_reduction_calls(Calls<M>& calls) {
  const std::pair<const char*, Reduction<M>> reductions[] = {
      {"sum", sum<M>},
      {"prod", prod<M>},
      {"mean", mean<M>},
      {"min", min<M>},
      {"max", max<M>},
      {"any", any<M>},
      {"logsumexp", logsumexp<M>},
      {"l1_norm", l1_norm<M>},
      {"l2_norm", l2_norm<M>},
      {"l2_norm_sqr", l2_norm_sqr<M>},
      {"all", [](const Tensor<M>& x, const Axes& over, KeepDims keepdims) { return all(x, over, keepdims); }},
  };
  for (const auto& [name, f] : reductions) calls[name] = call_of<M>(f);
  calls["var"] = call_of<M>(Variance<M>(var<M>));
  calls["std"] = call_of<M>(Variance<M>(stddev<M>));
  calls["argmin"] = call_of<M>(Place<M>(argmin<M>));
  calls["argmax"] = call_of<M>(Place<M>(argmax<M>));
  calls["cumsum"] = call_of<M>(Scan<M>(cumsum<M>));
  calls["cumprod"] = call_of<M>(Scan<M>(cumprod<M>));
  calls["cummin"] = call_of<M>(ExtremeScan<M>(cummin<M>));
  calls["cummax"] = call_of<M>(ExtremeScan<M>(cummax<M>));
  calls["softmax"] = [](const json& a, const Tensors<M>& in) { return Tensors<M>{softmax(in.at(0), a.at("axis"))}; };
  calls["log_softmax"] = [](const json& a, const Tensors<M>& in) {
    return Tensors<M>{log_softmax(in.at(0), a.at("axis"))};
  };
  calls["scaled_dot_product_attention"] = [](const json& a, const Tensors<M>& in) {
    AttentionOptions<M> options{.causal = a.at("causal"), .scale = a.at("scale").get<double>()};
    if (in.size() > 3) options.mask = in[3];
    return Tensors<M>{scaled_dot_product_attention(in.at(0), in.at(1), in.at(2), options)};
  };
  calls["cross_entropy"] = [](const json&, const Tensors<M>& in) {
    return Tensors<M>{cross_entropy(in.at(0), in.at(1))};
  };
  calls["mean_squared_error"] = [](const json&, const Tensors<M>& in) {
    return Tensors<M>{mean_squared_error(in.at(0), in.at(1))};
  };
}
template void add_reduction_calls(Calls<Eager>&);
template void add_reduction_calls(Calls<Lazy>&);

}  // namespace tyto::golden
