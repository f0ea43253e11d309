// Calls on complex numbers: real inputs whose last axis holds the parts, and results as parts again, so that their
// gradients are those of real functions. Transforms and eigenvalues, which are complex, stand here too.
#include "tests/golden/calls.hpp"
#include "tyto/complex.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/fft.hpp"
#include "tyto/indexing.hpp"
#include "tyto/linalg.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

template <class M>
Tensors<M> as_parts(const Tensors<M>& results) {
  Tensors<M> out;
  for (const Tensor<M>& each : results) out.push_back(is_complex(each.dtype()) ? view_as_real(each) : each);
  return out;
}

/// The inputs that the case says are complex, as such: those listed in `parts`, without it all floating ones.
template <class M>
Tensors<M> as_complex(const json& arguments, const Tensors<M>& in) {
  Tensors<M> out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    bool pair = is_floating(in[i].dtype());
    if (arguments.contains("parts")) {
      const IntList parts = integers(arguments.at("parts"));
      pair = std::find(parts.begin(), parts.end(), static_cast<std::int64_t>(i)) != parts.end();
    }
    out.push_back(pair ? view_as_complex(in[i]) : in[i]);
  }
  return out;
}

/// Adds the call under its name behind "complex_".
template <class M, class F>
void add(Calls<M>& calls, const std::string& name, const F& function) {
  calls["complex_" + name] = [function](const json& arguments, const Tensors<M>& in) {
    return as_parts(Tensors<M>{function(arguments, as_complex(arguments, in))});
  };
}

template <class M>
void add_functions(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
#define TYTO_UNARY(name) add(calls, #name, [](const json&, Inputs in) { return tyto::name(in.at(0)); });
#define TYTO_BINARY(name) add(calls, #name, [](const json&, Inputs in) { return tyto::name(in.at(0), in.at(1)); });
#define TYTO_TERNARY(name) \
  add(calls, #name, [](const json&, Inputs in) { return tyto::name(in.at(0), in.at(1), in.at(2)); });
#include "tyto/ops/elementwise_names.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
  add(calls, "real", [](const json&, Inputs in) { return real(in.at(0)); });
  add(calls, "imag", [](const json&, Inputs in) { return imag(in.at(0)); });
  add(calls, "angle", [](const json&, Inputs in) { return angle(in.at(0)); });
  add(calls, "of_parts", [](const json&, Inputs in) { return complex(in.at(0), in.at(1)); });
  add(calls, "polar", [](const json&, Inputs in) { return polar(in.at(0), in.at(1)); });
  add(calls, "cast",
      [](const json& a, Inputs in) { return cast(in.at(0), dtype_named(a.at("dtype").template get<std::string>())); });
}

template <class M>
void add_reductions(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  add(calls, "sum", [](const json& a, Inputs in) { return sum(in.at(0), axes(a.at("axes")), a.at("keepdims")); });
  add(calls, "mean", [](const json& a, Inputs in) { return mean(in.at(0), axes(a.at("axes")), a.at("keepdims")); });
  add(calls, "prod", [](const json& a, Inputs in) { return prod(in.at(0), axes(a.at("axes")), a.at("keepdims")); });
  add(calls, "var", [](const json& a, Inputs in) { return var(in.at(0), axes(a.at("axes")), a.at("keepdims"), 1); });
  add(calls, "cumsum", [](const json& a, Inputs in) { return cumsum(in.at(0), a.at("axis")); });
  add(calls, "norm", [](const json&, Inputs in) { return linalg::norm(in.at(0)); });
  add(calls, "vecdot", [](const json&, Inputs in) { return linalg::vecdot(in.at(0), in.at(1)); });
  add(calls, "cov", [](const json&, Inputs in) { return linalg::cov(in.at(0)); });
  add(calls, "matmul", [](const json&, Inputs in) { return matmul(in.at(0), in.at(1)); });
  add(calls, "einsum", [](const json& a, Inputs in) {
    return einsum(a.at("equation").template get<std::string>(), Tensors<M>{in.at(0), in.at(1)});
  });
}

template <class M>
void add_moves(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  add(calls, "transpose", [](const json&, Inputs in) { return transpose(in.at(0)); });
  add(calls, "slice", [](const json&, Inputs in) { return in.at(0)(all, slice(3, {}, -2)); });
  add(calls, "roll", [](const json&, Inputs in) { return roll(in.at(0), {1}, 1); });
  add(calls, "concat", [](const json&, Inputs in) { return concat(Tensors<M>{in.at(0), in.at(1)}, 0); });
  add(calls, "pad", [](const json&, Inputs in) { return pad(in.at(0), {1, 0}, {0, 2}); });
  add(calls, "tril", [](const json&, Inputs in) { return tril(in.at(0)); });
  add(calls, "take", [](const json&, Inputs in) { return take(in.at(0), in.at(1), 0); });
  add(calls, "take_along_axis", [](const json&, Inputs in) { return take_along_axis(in.at(0), in.at(1), 1); });
  add(calls, "scatter_add", [](const json&, Inputs in) { return scatter_add(in.at(0), {in.at(1)}, in.at(2)); });
}

fft::Norm norm_of(const json& arguments) {
  const std::string name = arguments.value("norm", std::string("backward"));
  return name == "ortho" ? fft::Norm::ortho : name == "forward" ? fft::Norm::forward : fft::Norm::backward;
}

fft::AxisOptions along(const json& arguments) {
  return {.n = optional_integer(arguments.at("n")), .axis = arguments.at("axis"), .norm = norm_of(arguments)};
}
fft::AxesOptions over(const json& arguments) {
  const json &s = arguments.at("s"), &all = arguments.at("axes");
  return {.s = s.is_null() ? IntList() : integers(s), .axes = axes(all), .norm = norm_of(arguments)};
}

template <class M>
void add_transforms(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
#define TYTO_TRANSFORM(name, options) \
  add(calls, #name, [](const json& a, Inputs in) { return fft::name(in.at(0), options(a)); });
  TYTO_TRANSFORM(fft, along)
  TYTO_TRANSFORM(ifft, along)
  TYTO_TRANSFORM(rfft, along)
  TYTO_TRANSFORM(irfft, along)
  TYTO_TRANSFORM(hfft, along)
  TYTO_TRANSFORM(ihfft, along)
  TYTO_TRANSFORM(fftn, over)
  TYTO_TRANSFORM(ifftn, over)
  TYTO_TRANSFORM(rfftn, over)
  TYTO_TRANSFORM(irfftn, over)
#undef TYTO_TRANSFORM
  add(calls, "fftshift", [](const json& a, Inputs in) { return fft::fftshift(in.at(0), axes(a.at("axes"))); });
  add(calls, "ifftshift", [](const json& a, Inputs in) { return fft::ifftshift(in.at(0), axes(a.at("axes"))); });
  add(calls, "fftconvolve", [](const json& a, Inputs in) {
    const std::string mode = a.at("mode").template get<std::string>();
    const fft::Overlap overlap = mode == "full"   ? fft::Overlap::full
                                 : mode == "same" ? fft::Overlap::same
                                                  : fft::Overlap::valid;
    return fft::fftconvolve(in.at(0), in.at(1), overlap, axes(a.at("axes")));
  });
  const auto frames = [](const json& a) {
    return fft::FrameOptions{.hop = a.at("hop"),
                             .center = a.at("center"),
                             .normalized = a.at("normalized"),
                             .onesided = a.at("onesided"),
                             .length = optional_integer(a.at("length"))};
  };
  add(calls, "stft",
      [frames](const json& a, Inputs in) { return fft::stft(in.at(0), a.at("n"), in.at(1), frames(a)); });
  add(calls, "istft",
      [frames](const json& a, Inputs in) { return fft::istft(in.at(0), a.at("n"), in.at(1), frames(a)); });
}

/// What the order of eigenvalues and the phases of vectors do not change: sums of powers, and the lengths of the rows
/// of vectors weighted by the values' squares.
template <class M>
void add_eigen(Calls<M>& calls) {
  calls["eigvals"] = [](const json& arguments, const Tensors<M>& in) {
    const Tensor<M> values = linalg::eigvals(as_complex(arguments, in).at(0));
    return as_parts(Tensors<M>{sum(values, -1), sum(values * values, -1), sum(values * values * values, -1)});
  };
  calls["eig"] = [](const json& arguments, const Tensors<M>& in) {
    const auto [values, vectors] = linalg::eig(as_complex(arguments, in).at(0));
    const Tensor<M> weights = expand_dims(values * values, -2);
    return as_parts(Tensors<M>{sum(weights * square(abs(vectors)), -1)});
  };
}

}  // namespace

template <class M>
void add_complex_calls(Calls<M>& calls) {
  add_functions(calls);
  add_reductions(calls);
  add_moves(calls);
  add_transforms(calls);
  add_eigen(calls);
}
template void add_complex_calls(Calls<Eager>&);
template void add_complex_calls(Calls<Lazy>&);

}  // namespace tyto::golden
