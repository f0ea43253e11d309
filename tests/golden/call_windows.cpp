// SPDX-License-Identifier: MIT
// Calls of convolutions, pooling and resizing.
#include "tests/golden/calls.hpp"
#include "tyto/windows.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

Padding padding_of(const json& padding) {
  if (padding == "same") return same;
  if (padding == "valid") return valid;
  IntList before, after;
  for (const auto& pair : padding) {
    before.push_back(pair.at(0));
    after.push_back(pair.at(1));
  }
  return Padding(before, after);
}

Layout layout(const json& arguments) { return arguments.value("layout", "nhwc") == "nchw" ? nchw : nhwc; }

PerAxis per_axis(const json& arguments, const char* name, PerAxis otherwise) {
  return arguments.contains(name) ? PerAxis(integers(arguments.at(name))) : otherwise;
}

PoolOptions pool_options(const json& a) {
  return {.stride = integers(a.at("stride")),
          .padding = padding_of(a.at("padding")),
          .dilation = per_axis(a, "dilation", 1),
          .count_padding = a.value("count_padding", false),
          .ceil_mode = a.value("ceil_mode", false),
          .layout = layout(a)};
}

}  // namespace

template <class M>
void add_window_calls(Calls<M>& calls) {
  using A = const json&;
  using Inputs = const Tensors<M>&;
  calls["convolution"] = [](A a, Inputs in) {
    const ConvolutionOptions options{.stride = integers(a.at("stride")),
                                     .padding = padding_of(a.at("padding")),
                                     .dilation = integers(a.at("dilation")),
                                     .groups = a.at("groups"),
                                     .layout = layout(a)};
    return Tensors<M>{convolution(in.at(0), in.at(1), options)};
  };
  calls["transposed_convolution"] = [](A a, Inputs in) {
    const TransposedConvolutionOptions options{.stride = integers(a.at("stride")),
                                               .padding = padding_of(a.at("padding")),
                                               .dilation = integers(a.at("dilation")),
                                               .output_padding = integers(a.at("output_padding")),
                                               .groups = a.at("groups"),
                                               .layout = layout(a)};
    return Tensors<M>{transposed_convolution(in.at(0), in.at(1), options)};
  };
  calls["max_pool"] = [](A a, Inputs in) {
    return Tensors<M>{max_pool(in.at(0), integers(a.at("window")), pool_options(a))};
  };
  calls["average_pool"] = [](A a, Inputs in) {
    return Tensors<M>{average_pool(in.at(0), integers(a.at("window")), pool_options(a))};
  };
  calls["global_average_pool"] = [](A a, Inputs in) {
    return Tensors<M>{global_average_pool(in.at(0), a.at("keepdims").get<bool>(), layout(a))};
  };
  calls["adaptive_average_pool"] = [](A a, Inputs in) {
    return Tensors<M>{adaptive_average_pool(in.at(0), integers(a.at("size")), layout(a))};
  };
  calls["upsample_nearest"] = [](A a, Inputs in) {
    return Tensors<M>{upsample(in.at(0), integers(a.at("scale")), Resampling::nearest, layout(a))};
  };
  calls["upsample_bilinear"] = [](A a, Inputs in) {
    return Tensors<M>{upsample(in.at(0), integers(a.at("scale")), Resampling::bilinear, layout(a))};
  };
}
template void add_window_calls(Calls<Eager>&);
template void add_window_calls(Calls<Lazy>&);

}  // namespace tyto::golden
