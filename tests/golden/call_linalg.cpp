// SPDX-License-Identifier: MIT
// Calls of linear algebra, on matrices made from the inputs so that they have what a case asks of them.
#include <limits>

#include "tests/golden/calls.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::golden {

namespace {

using nlohmann::json;

/// The matrix that a case is about: as `made` of recipes/linalg.py.
template <class M>
Tensor<M> made(const json& arguments, const Tensor<M>& input) {
  Tensor<M> x = input;
  if (arguments.value("definite", false)) x = matmul(x, matrix_transpose(x));
  if (arguments.value("symmetric", false)) x = (x + matrix_transpose(x)) / 2;
  if (!arguments.contains("shift") && !arguments.contains("spread")) return x;
  const std::int64_t rows = x.shape()[x.shape().size() - 2], columns = x.shape().back();
  const DType type = is_floating(x.dtype()) ? x.dtype() : DType::f32;
  const Tensor<M> diagonal = Tensor<M>::eye(rows, columns, 0, type);
  if (arguments.contains("shift")) x = x + arguments.at("shift").template get<double>() * diagonal;
  if (arguments.contains("spread")) {
    x = x + arguments.at("spread").template get<double>() * diagonal * Tensor<M>::arange(0, columns, 1, type);
  }
  return x;
}

linalg::NormOrder order_of(const json& arguments) {
  const json& order = arguments.at("order");
  if (order.is_null()) return {};
  if (order.is_number()) return order.get<double>();
  const std::string name = order.get<std::string>();
  if (name == "fro") return linalg::MatrixNorm::frobenius;
  if (name == "nuc") return linalg::MatrixNorm::nuclear;
  return name == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

/// A reconstruction, and what the free signs of vectors do not change.
template <class M>
Tensors<M> svd_call(const json& arguments, const Tensors<M>& in) {
  const bool whole = arguments.at("complete").template get<bool>();
  const auto [u, s, vh] =
      linalg::svd(made(arguments, in.at(0)), whole ? linalg::Columns::complete : linalg::Columns::reduced);
  const Tensor<M> scaled = expand_dims(s, -2);
  if (!whole) return {s, u * u, vh * vh, matmul(u * scaled, vh)};
  const std::int64_t least = s.shape().back();
  const Tensor<M> first = u(ellipsis, slice({}, least)), second = vh(ellipsis, slice({}, least), all);
  const Tensor<M> rest = u(ellipsis, slice(least, {})), other = vh(ellipsis, slice(least, {}), all);
  return {s, matmul(first * scaled, second), matmul(rest, matrix_transpose(rest)),
          matmul(matrix_transpose(other), other)};
}

template <class M>
Tensors<M> eigh_call(const json& arguments, const Tensors<M>& in) {
  const auto [values, vectors] = linalg::eigh(made(arguments, in.at(0)));
  return {values, vectors * vectors, matmul(vectors * expand_dims(values, -2), matrix_transpose(vectors))};
}

std::optional<double> tolerance(const json& arguments) {
  if (!arguments.contains("rtol")) return {};
  return arguments.at("rtol").get<double>();
}

/// A matrix of rank two, whatever x is: pseudo-inverses have a gradient only while the rank stays.
template <class M>
Tensor<M> with_rank_kept(const json& arguments, const Tensor<M>& x) {
  if (!arguments.value("kept_rank", false)) return x;
  return matmul(x, Tensor<M>{{1, 0, 1}, {0, 1, 1}, {0, 0, 0}}.astype(x.dtype()));
}

template <class M>
void add_systems(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  calls["inv"] = [](const json& a, Inputs in) { return Tensors<M>{linalg::inv(made(a, in.at(0)))}; };
  calls["det"] = [](const json& a, Inputs in) { return Tensors<M>{linalg::det(made(a, in.at(0)))}; };
  calls["slogdet"] = [](const json& a, Inputs in) {
    const auto [sign, logabsdet] = linalg::slogdet(made(a, in.at(0)));
    return Tensors<M>{sign, logabsdet};
  };
  calls["lu"] = [](const json& a, Inputs in) {
    const auto [p, l, u] = linalg::lu(made(a, in.at(0)));
    return Tensors<M>{p, l, u};
  };
  calls["solve"] = [](const json& a, Inputs in) { return Tensors<M>{linalg::solve(made(a, in.at(0)), in.at(1))}; };
  calls["lu_solve"] = [](const json& a, Inputs in) {
    return Tensors<M>{
        linalg::lu_solve(linalg::lu_factor(made(a, in.at(0))), in.at(1), a.at("transposed").template get<bool>())};
  };
  calls["triangular_solve"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::triangular_solve(
        made(a, in.at(0)), in.at(1),
        {.upper = a.at("upper").template get<bool>(), .unit = a.at("unit").template get<bool>()})};
  };
  calls["cholesky"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::cholesky(made(a, in.at(0)), a.value("upper", false))};
  };
  calls["cholesky_solve"] = [](const json& a, Inputs in) {
    const bool upper = a.at("upper").template get<bool>();
    return Tensors<M>{linalg::cholesky_solve(linalg::cholesky(made(a, in.at(0)), upper), in.at(1), upper)};
  };
}

template <class M>
void add_spectra(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  calls["qr"] = [](const json& a, Inputs in) {
    const bool whole = a.at("complete").template get<bool>();
    const auto [q, r] = linalg::qr(made(a, in.at(0)), whole ? linalg::Columns::complete : linalg::Columns::reduced);
    return Tensors<M>{q, r};
  };
  calls["svd"] = svd_call<M>;
  calls["eigh"] = eigh_call<M>;
  calls["svdvals"] = [](const json& a, Inputs in) { return Tensors<M>{linalg::svdvals(made(a, in.at(0)))}; };
  calls["eigvalsh"] = [](const json& a, Inputs in) { return Tensors<M>{linalg::eigvalsh(made(a, in.at(0)))}; };
  calls["pinv"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::pinv(with_rank_kept(a, made(a, in.at(0))))};
  };
  calls["matrix_rank"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::matrix_rank(made(a, in.at(0)), tolerance(a))};
  };
  calls["lstsq"] = [](const json& a, Inputs in) {
    const auto found = linalg::lstsq(made(a, in.at(0)), in.at(1));
    return Tensors<M>{found.solution, found.residuals, found.rank, found.singular_values};
  };
}

template <class M>
void add_powers(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  calls["matrix_power"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::matrix_power(made(a, in.at(0)), a.at("power").template get<std::int64_t>())};
  };
  calls["expm"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::expm(in.at(0) * a.at("scale").template get<double>())};
  };
  calls["multi_dot"] = [](const json&, Inputs in) { return Tensors<M>{linalg::multi_dot(in)}; };
}

template <class M>
void add_norms(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  calls["norm"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::norm(in.at(0), order_of(a), axes(a.at("axes")), a.value("keepdims", false))};
  };
  calls["vector_norm"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::vector_norm(in.at(0), *order_of(a).number(), axes(a.at("axes")))};
  };
  calls["matrix_norm"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::matrix_norm(in.at(0), order_of(a))};
  };
  calls["cond"] = [](const json& a, Inputs in) { return Tensors<M>{linalg::cond(made(a, in.at(0)), order_of(a))}; };
}

}  // namespace

template <class M>
void add_linalg_calls(Calls<M>& calls) {
  using Inputs = const Tensors<M>&;
  add_systems(calls);
  add_spectra(calls);
  add_powers(calls);
  add_norms(calls);
  calls["cross"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::cross(in.at(0), in.at(1), a.at("axis").template get<std::int64_t>())};
  };
  calls["vecdot"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::vecdot(in.at(0), in.at(1), a.at("axis").template get<std::int64_t>())};
  };
  calls["matrix_trace"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::trace(in.at(0), a.at("k").template get<std::int64_t>())};
  };
  calls["vander"] = [](const json& a, Inputs in) {
    return Tensors<M>{
        linalg::vander(in.at(0), optional_integer(a.at("columns")), a.at("increasing").template get<bool>())};
  };
  calls["cov"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::cov(in.at(0), {.rows_are_variables = a.at("rows").template get<bool>(),
                                             .ddof = a.at("ddof").template get<std::int64_t>()})};
  };
  calls["corrcoef"] = [](const json& a, Inputs in) {
    return Tensors<M>{linalg::corrcoef(in.at(0), a.at("rows").template get<bool>())};
  };
}
template void add_linalg_calls(Calls<Eager>&);
template void add_linalg_calls(Calls<Lazy>&);

}  // namespace tyto::golden
