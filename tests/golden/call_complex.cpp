// SPDX-License-Identifier: MIT
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
  add(calls, "sum",
      [](const json& a, Inputs in) { return sum(in.at(0), axes(a.at("axes")), a.at("keepdims").get<bool>()); });
  add(calls, "mean",
      [](const json& a, Inputs in) { return mean(in.at(0), axes(a.at("axes")), a.at("keepdims").get<bool>()); });
  add(calls, "prod",
      [](const json& a, Inputs in) { return prod(in.at(0), axes(a.at("axes")), a.at("keepdims").get<bool>()); });
  add(calls, "var",
      [](const json& a, Inputs in) { return var(in.at(0), axes(a.at("axes")), a.at("keepdims").get<bool>(), 1); });
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
    const Overlap overlap = mode == "full" ? Overlap::full : mode == "same" ? Overlap::same : Overlap::valid;
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

template <class M>
Tensor<M> adjoint(const Tensor<M>& x) {
  return conj(matrix_transpose(x));
}

/// The matrix that a case is about: as `made` of recipes/complex_linalg.py.
template <class M>
Tensor<M> complex_made(const json& arguments, const Tensor<M>& input) {
  Tensor<M> x = input;
  if (arguments.value("definite", false)) x = matmul(x, adjoint(x));
  if (arguments.value("hermitian", false)) x = (x + adjoint(x)) / 2;
  const std::int64_t rows = x.shape()[x.shape().size() - 2], columns = x.shape().back();
  const DType part = real_type(x.dtype());
  const Tensor<M> diagonal = Tensor<M>::eye(rows, columns, 0, part);
  if (arguments.contains("shift")) x = x + arguments.at("shift").template get<double>() * diagonal;
  if (arguments.contains("spread")) {
    x = x + arguments.at("spread").template get<double>() * diagonal * Tensor<M>::arange(0, columns, 1, part);
  }
  return x;
}

/// Adds a call of a function with several results on matrices that a case makes.
template <class M, class F>
void add_all(Calls<M>& calls, const std::string& name, const F& function) {
  calls["complex_" + name] = [function](const json& arguments, const Tensors<M>& in) {
    Tensors<M> given = as_complex(arguments, in);
    given[0] = complex_made(arguments, given[0]);
    return as_parts(function(arguments, given));
  };
}

template <class M>
void add_linalg(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  using Out = Tensors<M>;
  add_all(calls, "inv", [](const json&, Inputs in) { return Out{linalg::inv(in.at(0))}; });
  add_all(calls, "det", [](const json&, Inputs in) { return Out{linalg::det(in.at(0))}; });
  add_all(calls, "slogdet", [](const json&, Inputs in) {
    const auto [sign, size] = linalg::slogdet(in.at(0));
    return Out{sign, size};
  });
  add_all(calls, "lu", [](const json&, Inputs in) {
    const auto [p, l, u] = linalg::lu(in.at(0));
    return Out{p, l, u};
  });
  add_all(calls, "matrix_power", [](const json& a, Inputs in) {
    return Out{linalg::matrix_power(in.at(0), a.at("power").template get<std::int64_t>())};
  });
  add_all(calls, "cholesky",
          [](const json& a, Inputs in) { return Out{linalg::cholesky(in.at(0), a.value("upper", false))}; });
  add_all(calls, "solve", [](const json&, Inputs in) { return Out{linalg::solve(in.at(0), in.at(1))}; });
  add_all(calls, "lu_solve", [](const json& a, Inputs in) {
    return Out{linalg::lu_solve(linalg::lu_factor(in.at(0)), in.at(1), a.at("transposed").template get<bool>())};
  });
  add_all(calls, "triangular_solve", [](const json& a, Inputs in) {
    return Out{linalg::triangular_solve(
        in.at(0), in.at(1), {.upper = a.at("upper").template get<bool>(), .unit = a.at("unit").template get<bool>()})};
  });
  add_all(calls, "cholesky_solve", [](const json& a, Inputs in) {
    const bool upper = a.at("upper").template get<bool>();
    return Out{linalg::cholesky_solve(linalg::cholesky(in.at(0), upper), in.at(1), upper)};
  });
  add_all(calls, "qr", [](const json& a, Inputs in) {
    const auto [q, r] = linalg::qr(
        in.at(0), a.at("complete").template get<bool>() ? linalg::Columns::complete : linalg::Columns::reduced);
    return Out{q, r};
  });
  add_all(calls, "svd", [](const json&, Inputs in) {
    const auto [u, s, vh] = linalg::svd(in.at(0), linalg::Columns::reduced);
    return Out{s, square(abs(u)), square(abs(vh)), matmul(u * expand_dims(s, -2), vh)};
  });
  add_all(calls, "svdvals", [](const json&, Inputs in) { return Out{linalg::svdvals(in.at(0))}; });
  add_all(calls, "pinv", [](const json&, Inputs in) { return Out{linalg::pinv(in.at(0))}; });
  add_all(calls, "eigh", [](const json&, Inputs in) {
    const auto [values, vectors] = linalg::eigh(in.at(0));
    return Out{values, square(abs(vectors)), matmul(vectors * expand_dims(values, -2), adjoint(vectors))};
  });
  add_all(calls, "eigvalsh", [](const json&, Inputs in) { return Out{linalg::eigvalsh(in.at(0))}; });
  add_all(calls, "lstsq", [](const json&, Inputs in) {
    const auto [x, residuals, rank, values] = linalg::lstsq(in.at(0), in.at(1));
    return Out{x, residuals, rank, values};
  });
}

}  // namespace

template <class M>
void add_complex_calls(Calls<M>& calls) {
  add_functions(calls);
  add_reductions(calls);
  add_moves(calls);
  add_transforms(calls);
  add_eigen(calls);
  add_linalg(calls);
}
template void add_complex_calls(Calls<Eager>&);
template void add_complex_calls(Calls<Lazy>&);

}  // namespace tyto::golden
