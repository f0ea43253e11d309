// SPDX-License-Identifier: MIT
// Calls of resampling, and of operators that write several values to one place.
#include <stdexcept>

#include "tests/golden/calls.hpp"
#include "tyto/indexing.hpp"
#include "tyto/resampling.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

/// The value of the first name that is the argument's.
template <class E>
E named(const json& arguments, const char* field, std::initializer_list<std::pair<const char*, E>> names, E other) {
  if (!arguments.contains(field)) return other;
  for (const auto& [name, value] : names) {
    if (arguments.at(field) == name) return value;
  }
  throw std::runtime_error("no " + std::string(field) + " is called " + arguments.at(field).dump());
}

Interpolation method(const json& a) {
  return named(
      a, "method",
      {{"nearest", Interpolation::nearest}, {"linear", Interpolation::linear}, {"cubic", Interpolation::cubic}},
      Interpolation::linear);
}

template <class M>
std::vector<Tensor<M>> between(const Tensors<M>& in) {
  return {in.begin() + 1, in.end() - 1};
}

}  // namespace

template <class M>
void add_resampling_calls(Calls<M>& calls) {
  using A = const json&;
  using Inputs = const Tensors<M>&;
  calls["resize"] = [](A a, Inputs in) {
    const ResizeOptions options{
        .method = method(a),
        .coordinates = named(a, "coordinates",
                             {{"half_pixel", Coordinates::half_pixel},
                              {"corners", Coordinates::corners},
                              {"asymmetric", Coordinates::asymmetric}},
                             Coordinates::half_pixel),
        .nearest =
            named(a, "nearest", {{"floor", Nearest::floor}, {"round_up", Nearest::round_up}}, Nearest::round_down)};
    return Tensors<M>{resize(in.at(0), integers(a.at("size")), options)};
  };
  calls["grid_sample"] = [](A a, Inputs in) {
    const GridSampleOptions options{
        .method = method(a),
        .outside = named(a, "outside",
                         {{"zeros", Outside::zeros}, {"edge", Outside::edge}, {"reflection", Outside::reflection}},
                         Outside::zeros),
        .corners = a.at("corners")};
    return Tensors<M>{grid_sample(in.at(0), in.at(1), options)};
  };
  calls["roi_align"] = [](A a, Inputs in) {
    const RoiAlignOptions options{.size = integers(a.at("size")),
                                  .scale = a.at("scale"),
                                  .samples = a.at("samples"),
                                  .aligned = a.at("aligned"),
                                  .maximum = a.at("maximum")};
    return Tensors<M>{roi_align(in.at(0), in.at(1), in.at(2), options)};
  };
  calls["nms"] = [](A a, Inputs in) {
    const Kept<M> kept =
        nms(in.at(0), in.at(1), {.count = a.at("count"), .overlap = a.at("overlap"), .score = a.at("score")});
    return Tensors<M>{kept.indices, kept.count};
  };
  calls["scatter_multiply"] = [](A, Inputs in) {
    return Tensors<M>{scatter_multiply(in.at(0), between(in), in.back())};
  };
  calls["scatter_min"] = [](A, Inputs in) { return Tensors<M>{scatter_min(in.at(0), between(in), in.back())}; };
  calls["scatter_max"] = [](A, Inputs in) { return Tensors<M>{scatter_max(in.at(0), between(in), in.back())}; };
}
template void add_resampling_calls(Calls<Eager>&);
template void add_resampling_calls(Calls<Lazy>&);

}  // namespace tyto::golden
