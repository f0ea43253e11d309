// SPDX-License-Identifier: MIT
// Calls of operators that gather, scatter and sort elements.
#include "tests/golden/calls.hpp"
#include "tyto/choosing.hpp"
#include "tyto/indexing.hpp"
#include "tyto/sets.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

std::vector<Index> index_list(const json& entries) {
  std::vector<Index> list;
  for (const json& entry : entries) {
    if (entry.is_number_integer()) {
      list.emplace_back(entry.get<std::int64_t>());
    } else if (entry.is_object()) {
      const json& ends = entry.at("slice");
      list.emplace_back(
          slice(optional_integer(ends.at(0)), optional_integer(ends.at(1)), optional_integer(ends.at(2)).value_or(1)));
    } else if (entry == "newaxis") {
      list.emplace_back(newaxis);
    } else if (entry == "ellipsis") {
      list.emplace_back(ellipsis);
    } else {
      throw std::runtime_error("no index is written " + entry.dump());
    }
  }
  return list;
}

/// The inputs from the second up to those `behind` at the end.
template <class M>
Tensors<M> coordinates(const Tensors<M>& in, std::ptrdiff_t behind) {
  return Tensors<M>(in.begin() + 1, in.end() - behind);
}

}  // namespace

template <class M>
void add_indexing_calls(Calls<M>& calls) {
  using A = const json&;
  using Inputs = const Tensors<M>&;
  calls["slice"] = [](A a, Inputs in) { return Tensors<M>{in.at(0).get(index_list(a.at("index")))}; };
  calls["set_slice"] = [](A a, Inputs in) { return Tensors<M>{set(in.at(0), index_list(a.at("index")), in.at(1))}; };
  calls["take"] = [](A a, Inputs in) { return Tensors<M>{take(in.at(0), in.at(1), optional_integer(a.at("axis")))}; };
  calls["take_along_axis"] = [](A a, Inputs in) {
    return Tensors<M>{take_along_axis(in.at(0), in.at(1), a.at("axis"))};
  };
  calls["check_bounds"] = [](A a, Inputs in) {
    return Tensors<M>{check_bounds(in.at(0), {.low = a.at("low"), .high = a.at("high")})};
  };
  calls["gather"] = [](A, Inputs in) { return Tensors<M>{gather(in.at(0), coordinates(in, 0))}; };
  calls["scatter"] = [](A, Inputs in) { return Tensors<M>{scatter(in.at(0), coordinates(in, 1), in.back())}; };
  calls["scatter_add"] = [](A, Inputs in) { return Tensors<M>{scatter_add(in.at(0), coordinates(in, 1), in.back())}; };
  calls["sort"] = [](A a, Inputs in) { return Tensors<M>{sort(in.at(0), a.at("axis"), a.at("descending"))}; };
  calls["argsort"] = [](A a, Inputs in) { return Tensors<M>{argsort(in.at(0), a.at("axis"), a.at("descending"))}; };
  calls["topk"] = [](A a, Inputs in) {
    const TopK<M> best = topk(in.at(0), a.at("k"), a.at("axis"), a.at("largest"));
    return Tensors<M>{best.values, best.indices};
  };
  calls["partition"] = [](A a, Inputs in) { return Tensors<M>{partition(in.at(0), a.at("kth"), a.at("axis"))}; };
  calls["argpartition"] = [](A a, Inputs in) { return Tensors<M>{argpartition(in.at(0), a.at("kth"), a.at("axis"))}; };
  calls["searchsorted"] = [](A a, Inputs in) {
    return Tensors<M>{searchsorted(in.at(0), in.at(1), a.at("side") == "right")};
  };
  calls["histogram"] = [](A, Inputs in) { return Tensors<M>{histogram(in.at(0), in.at(1))}; };
  calls["unique"] = [](A, Inputs in) { return Tensors<M>{unique(in.at(0))}; };
  calls["nonzero"] = [](A, Inputs in) { return Tensors<M>{nonzero(in.at(0))}; };
}
template void add_indexing_calls(Calls<Eager>&);
template void add_indexing_calls(Calls<Lazy>&);

}  // namespace tyto::golden
