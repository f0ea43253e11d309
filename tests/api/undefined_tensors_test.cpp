// SPDX-License-Identifier: MIT
// An undefined tensor given to any public function is a GraphError that names the function, in both modes.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <tyto/audio.hpp>
#include <tyto/distributed.hpp>
#include <tyto/images.hpp>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using namespace tyto;

namespace {

/// Runs `f` and tells whether what it throws is a GraphError whose message begins with the function's name.
void refuses(const std::string& function, const std::function<void()>& f) {
  CAPTURE(function);
  std::string message = "nothing is thrown";
  try {
    f();
  } catch (const tyto::GraphError& error) {
    message = error.what();
  } catch (const std::exception& error) {
    message = std::string("another exception: ") + error.what();
  }
  CHECK(message.substr(0, function.size() + 2) == function + ": ");
  CHECK(message.find("undefined tensor") != std::string::npos);
}

}  // namespace

#define REFUSES(function, ...) refuses(function, [&] { (void)(__VA_ARGS__); })

TEST_CASE_TEMPLATE("an undefined tensor is refused by name: element-wise functions", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor none;
  const Tensor x = Tensor::ones({2});
#define TYTO_UNARY(name) REFUSES(#name, tyto::name(none));
#define TYTO_BINARY(name)              \
  REFUSES(#name, tyto::name(none, x)); \
  REFUSES(#name, tyto::name(x, none));
#define TYTO_TERNARY(name)                \
  REFUSES(#name, tyto::name(none, x, x)); \
  REFUSES(#name, tyto::name(x, none, x)); \
  REFUSES(#name, tyto::name(x, x, none));
#include <tyto/ops/elementwise_names.def>
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
  REFUSES("add", none + 1);
  REFUSES("logical_not", !none);
}

TEST_CASE_TEMPLATE("an undefined tensor is refused by name: shapes and places", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor none;
  const Tensor x = Tensor::ones({2, 2});
  REFUSES("reshape", reshape(none, {1}));
  REFUSES("reshape", none.reshape({-1}));
  REFUSES("transpose", transpose(none));
  REFUSES("transpose", none.T());
  REFUSES("matrix_transpose", matrix_transpose(none));
  REFUSES("swapaxes", swapaxes(none, 0, 1));
  REFUSES("moveaxis", moveaxis(none, 0, 1));
  REFUSES("squeeze", squeeze(none));
  REFUSES("expand_dims", expand_dims(none, 0));
  REFUSES("ravel", ravel(none));
  REFUSES("flatten", flatten(none));
  REFUSES("broadcast_to", broadcast_to(none, {2}));
  REFUSES("cast", cast(none, DType::f64));
  REFUSES("cast", none.astype(DType::f64));
  REFUSES("flip", flip(none));
  REFUSES("copy", copy(none));
  REFUSES("concat", tyto::concat<Mode>({x, none}));
  REFUSES("stack", tyto::stack<Mode>({none, x}));
  REFUSES("split", split(none, 2));
  REFUSES("split", split(none, tyto::IntList{1}));
  REFUSES("tile", tile(none, {2}));
  REFUSES("repeat", repeat(none, 2));
  REFUSES("roll", roll(none, {1}));
  REFUSES("pad", pad(none, {1}, {1}));
  REFUSES("diag", diag(none));
  REFUSES("diagonal", diagonal(none));
  REFUSES("trace", trace(none));
  REFUSES("tril", tril(none));
  REFUSES("triu", triu(none));
  REFUSES("meshgrid", tyto::meshgrid<Mode>({none}));
  REFUSES("zeros_like", zeros_like(none));
  REFUSES("ones_like", ones_like(none));
  REFUSES("full_like", full_like(none, 1));
}

TEST_CASE_TEMPLATE("an undefined tensor is refused by name: reductions, scans, losses", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor none;
  const Tensor x = Tensor::ones({2});
  const auto last = [](const Tensor&, const Tensor& each) { return each; };
  REFUSES("sum", sum(none));
  REFUSES("sum", none.sum());
  REFUSES("prod", prod(none));
  REFUSES("mean", mean(none));
  REFUSES("mean", none.mean());
  REFUSES("var", var(none));
  REFUSES("stddev", stddev(none));
  REFUSES("min", min(none));
  REFUSES("max", none.max());
  REFUSES("argmin", argmin(none));
  REFUSES("argmax", argmax(none, 0));
  REFUSES("any", any(none));
  REFUSES("all", tyto::all(none));
  REFUSES("logsumexp", logsumexp(none));
  REFUSES("l1_norm", l1_norm(none));
  REFUSES("l2_norm", l2_norm(none));
  REFUSES("l2_norm_sqr", l2_norm_sqr(none));
  REFUSES("cumsum", cumsum(none, 0));
  REFUSES("cumprod", cumprod(none, 0));
  REFUSES("cummin", cummin(none, 0));
  REFUSES("cummax", cummax(none, 0));
  REFUSES("scan", scan(none, 0, last));
  REFUSES("fold", fold(none, 0, x, last));
  REFUSES("fold", fold(x, 0, none, last));
  REFUSES("softmax", softmax(none));
  REFUSES("log_softmax", log_softmax(none));
  REFUSES("scaled_dot_product_attention", scaled_dot_product_attention(none, x, x));
  REFUSES("scaled_dot_product_attention", scaled_dot_product_attention(x, none, x));
  REFUSES("scaled_dot_product_attention", scaled_dot_product_attention(x, x, none));
  REFUSES("quantise", quantise(none));
  REFUSES("dequantise", dequantise(QuantisedWeights<Mode>{none, x}, 4));
  REFUSES("quantised_matmul", quantised_matmul(none, {x, x}));
  REFUSES("quantised_matmul", quantised_matmul(x, {none, x}));
  REFUSES("quantised_matmul", quantised_matmul(x, {x, none}));
  REFUSES("cross_entropy", cross_entropy(none, x));
  REFUSES("cross_entropy", cross_entropy(x, none));
  REFUSES("mean_squared_error", mean_squared_error(none, x));
  REFUSES("mean_squared_error", mean_squared_error(x, none));
  REFUSES("array_equal", array_equal(x, none));
  REFUSES("allclose", allclose(none, x));
}

TEST_CASE_TEMPLATE("an undefined tensor is refused by name: linear algebra", Mode, tyto::Eager, tyto::Lazy) {
  namespace linalg = tyto::linalg;
  using Tensor = tyto::Tensor<Mode>;
  const Tensor none;
  const Tensor x = Tensor::eye(3);
  REFUSES("solve", linalg::solve(none, x));
  REFUSES("solve", linalg::solve(x, none));
  REFUSES("inv", linalg::inv(none));
  REFUSES("det", linalg::det(none));
  REFUSES("slogdet", linalg::slogdet(none));
  REFUSES("triangular_solve", linalg::triangular_solve(none, x));
  REFUSES("triangular_solve", linalg::triangular_solve(x, none));
  REFUSES("lu", linalg::lu(none));
  REFUSES("lu_factor", linalg::lu_factor(none));
  REFUSES("lu_solve", linalg::lu_solve(linalg::LUFactor<Mode>{}, x));
  REFUSES("lu_solve", linalg::lu_solve(linalg::lu_factor(x), none));
  REFUSES("cholesky", linalg::cholesky(none));
  REFUSES("cholesky_solve", linalg::cholesky_solve(none, x));
  REFUSES("cholesky_solve", linalg::cholesky_solve(x, none));
  REFUSES("qr", linalg::qr(none));
  REFUSES("svd", linalg::svd(none));
  REFUSES("svdvals", linalg::svdvals(none));
  REFUSES("eigh", linalg::eigh(none));
  REFUSES("eigvalsh", linalg::eigvalsh(none));
  REFUSES("pinv", linalg::pinv(none));
  REFUSES("matrix_rank", linalg::matrix_rank(none));
  REFUSES("lstsq", linalg::lstsq(none, x));
  REFUSES("lstsq", linalg::lstsq(x, none));
  REFUSES("matrix_power", linalg::matrix_power(none, 2));
  REFUSES("expm", linalg::expm(none));
  REFUSES("multi_dot", linalg::multi_dot(std::vector<Tensor>{x, none}));
  REFUSES("norm", linalg::norm(none));
  REFUSES("vector_norm", linalg::vector_norm(none));
  REFUSES("matrix_norm", linalg::matrix_norm(none));
  REFUSES("cond", linalg::cond(none));
  REFUSES("trace", linalg::trace(none));
  REFUSES("diagonal", linalg::diagonal(none));
  REFUSES("vecdot", linalg::vecdot(none, x));
  REFUSES("cross", linalg::cross(x, none));
  REFUSES("vander", linalg::vander(none));
  REFUSES("cov", linalg::cov(none));
  REFUSES("corrcoef", linalg::corrcoef(none));
  REFUSES("eig", linalg::eig(none));
  REFUSES("eigvals", linalg::eigvals(none));
  REFUSES("schur", linalg::schur(none));
  REFUSES("ordschur", linalg::ordschur(linalg::Schur<Mode>{}, x));
  REFUSES("hess", linalg::hess(none));
  REFUSES("qz", linalg::qz(none, x));
  REFUSES("qz", linalg::qz(x, none));
  REFUSES("ordqz", linalg::ordqz(linalg::QZ<Mode>{}, x));
  REFUSES("qzvals", linalg::qzvals(x, none));
  REFUSES("ldl", linalg::ldl(none));
  REFUSES("gsvd", linalg::gsvd(x, none));
  REFUSES("gsvdvals", linalg::gsvdvals(none, x));
  REFUSES("eig", linalg::eig(x, none));
  REFUSES("eigvals", linalg::eigvals(x, none));
  REFUSES("eigh", linalg::eigh(none, x));
  REFUSES("eigvalsh", linalg::eigvalsh(none, x));
  REFUSES("null_space", linalg::null_space(none));
  REFUSES("sqrtm", linalg::sqrtm(none));
  REFUSES("logm", linalg::logm(none));
  REFUSES("funm", linalg::funm(none, [](const Tensor& w) { return w; }));
  REFUSES("sinm", linalg::sinm(none));
  REFUSES("cosm", linalg::cosm(none));
  REFUSES("tanm", linalg::tanm(none));
  REFUSES("sinhm", linalg::sinhm(none));
  REFUSES("coshm", linalg::coshm(none));
  REFUSES("tanhm", linalg::tanhm(none));
  REFUSES("sylvester", linalg::sylvester(x, x, none));
  REFUSES("lyapunov", linalg::lyapunov(x, none));
  REFUSES("discrete_lyapunov", linalg::discrete_lyapunov(none, x));
  REFUSES("care", linalg::care(x, x, x, none));
  REFUSES("dare", linalg::dare(x, none, x, x));
}

TEST_CASE_TEMPLATE("an undefined tensor is refused by name: complex numbers and transforms", Mode, tyto::Eager,
                   tyto::Lazy) {
  namespace fft = tyto::fft;
  using Tensor = tyto::Tensor<Mode>;
  const Tensor none, x = Tensor::ones({2, 2});
  REFUSES("view_as_real", view_as_real(none));
  REFUSES("view_as_complex", view_as_complex(none));
  REFUSES("complex", complex(none, x));
  REFUSES("complex", complex(x, none));
  REFUSES("polar", polar(x, none));
  REFUSES("real", real(none));
  REFUSES("imag", imag(none));
  REFUSES("angle", angle(none));
  REFUSES("fft", fft::fft(none));
  REFUSES("ifft", fft::ifft(none));
  REFUSES("rfft", fft::rfft(none));
  REFUSES("irfft", fft::irfft(none));
  REFUSES("hfft", fft::hfft(none));
  REFUSES("ihfft", fft::ihfft(none));
  REFUSES("fft2", fft::fft2(none));
  REFUSES("ifft2", fft::ifft2(none));
  REFUSES("rfft2", fft::rfft2(none));
  REFUSES("irfft2", fft::irfft2(none));
  REFUSES("fftn", fft::fftn(none));
  REFUSES("ifftn", fft::ifftn(none));
  REFUSES("rfftn", fft::rfftn(none));
  REFUSES("irfftn", fft::irfftn(none));
  REFUSES("fftshift", fft::fftshift(none));
  REFUSES("ifftshift", fft::ifftshift(none));
  REFUSES("fftconvolve", fft::fftconvolve(none, x));
  REFUSES("fftconvolve", fft::fftconvolve(x, none));
  REFUSES("stft", fft::stft(none, 2));
  REFUSES("istft", fft::istft(none, 2));
}

TEST_CASE_TEMPLATE("an undefined tensor is refused by name: indexing and ordering", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  Tensor none;
  Tensor x = Tensor::ones({2});
  const Tensor i = Tensor{0, 1};
  REFUSES("index", none(0));
  REFUSES("index", std::as_const(none)(0));
  REFUSES("index", x(none));
  REFUSES("index", none(0) = 1);
  REFUSES("set", x(0) = none);
  REFUSES("set", set(none, {0}, x));
  REFUSES("set", set(x, {0}, none));
  REFUSES("index", set(x, {none}, 1));
  REFUSES("take", take(none, i));
  REFUSES("take", take(x, none, 0));
  REFUSES("take_along_axis", take_along_axis(none, i, 0));
  REFUSES("take_along_axis", take_along_axis(x, none, 0));
  REFUSES("check_bounds", check_bounds(none, {}));
  REFUSES("all_reduce", distributed::all_reduce(none));
  REFUSES("all_gather", distributed::all_gather(none));
  REFUSES("reduce_scatter", distributed::reduce_scatter(none));
  REFUSES("broadcast", distributed::broadcast(none));
  REFUSES("barrier", distributed::barrier(none));
  REFUSES("send", distributed::send(none, 0));
  REFUSES("recv", distributed::recv(none, 0));
  REFUSES("average", distributed::average(none, 1));
  REFUSES("gather", gather<Mode>(none, {i}));
  REFUSES("gather", gather<Mode>(x, {none}));
  REFUSES("scatter", scatter<Mode>(none, {i}, x));
  REFUSES("scatter", scatter<Mode>(x, {none}, x));
  REFUSES("scatter", scatter<Mode>(x, {i}, none));
  REFUSES("scatter_add", scatter_add<Mode>(none, {i}, x));
  REFUSES("scatter_add", scatter_add<Mode>(x, {i}, none));
  REFUSES("scatter_multiply", scatter_multiply<Mode>(none, {i}, x));
  REFUSES("scatter_min", scatter_min<Mode>(x, {i}, none));
  REFUSES("scatter_max", scatter_max<Mode>(x, {none}, x));
  REFUSES("narrow", narrow(none, 0, 0, 1));
  REFUSES("resize", resize(none, 2));
  REFUSES("grid_sample", grid_sample(x, none));
  REFUSES("roi_align", roi_align(x, x, none));
  REFUSES("nms", nms(none, x));
  REFUSES("nms", nms(x, none));
  REFUSES("known", known(none));
  const Tensor v = Tensor::ones({3});
  REFUSES("nansum", nansum(none));
  REFUSES("nanprod", nanprod(none));
  REFUSES("nanmean", nanmean(none));
  REFUSES("nanvar", nanvar(none));
  REFUSES("nanstd", nanstd(none));
  REFUSES("nanmin", nanmin(none));
  REFUSES("nanmax", nanmax(none));
  REFUSES("nanargmin", nanargmin(none));
  REFUSES("nanargmax", nanargmax(none));
  REFUSES("nanmedian", nanmedian(none));
  REFUSES("nanquantile", nanquantile(none, 0.5));
  REFUSES("nancumsum", nancumsum(none, 0));
  REFUSES("nancumprod", nancumprod(none, 0));
  REFUSES("average", average(v, none));
  REFUSES("ptp", ptp(none));
  REFUSES("moving_sum", moving_sum(none, 1, 1));
  REFUSES("count_nonzero", count_nonzero(none));
  REFUSES("bincount", bincount(none, 3));
  REFUSES("digitize", digitize(v, none));
  REFUSES("histogram", histogram(none, 3, 0, 1));
  REFUSES("histogram2d", histogram2d(v, v, none, v));
  REFUSES("diff", diff(none));
  REFUSES("gradient", gradient(none));
  REFUSES("trapezoid", trapezoid(none));
  REFUSES("cumulative_trapezoid", cumulative_trapezoid(none));
  REFUSES("interp", interp(v, none, v));
  REFUSES("convolve", convolve(v, none));
  REFUSES("correlate", correlate(none, v));
  REFUSES("polyval", polyval(none, v));
  REFUSES("polyfit", polyfit(v, none, 1));
  REFUSES("polyder", polyder(none));
  REFUSES("polyint", polyint(none));
  REFUSES("polydiv", polydiv(v, none));
  REFUSES("poly", poly(none));
  REFUSES("roots", roots(none));
  REFUSES("packbits", packbits(none));
  REFUSES("unpackbits", unpackbits(none));
  REFUSES("histogramdd", histogramdd(none, {v}));
  REFUSES("matvec", matvec(none, v));
  REFUSES("vecmat", vecmat(v, none));
  REFUSES("tensorsolve", linalg::tensorsolve(none, v));
  REFUSES("tensorinv", linalg::tensorinv(none));
  REFUSES("logaddexp2", logaddexp2(v, none));
  REFUSES("cumulative_sum", cumulative_sum(none));
  REFUSES("cumulative_prod", cumulative_prod(none));
  REFUSES("result_type", result_type(v, none));
  REFUSES("isin", isin(v, none));
  REFUSES("unique_all", unique_all(none));
  REFUSES("choose", choose<Mode>(none, {v}));
  REFUSES("select", select<Mode>({none}, {v}));
  REFUSES("put", put(v, none, v));
  REFUSES("put_along_axis", put_along_axis(v, v, none, 0));
  REFUSES("lexsort", lexsort({none, v}));
  REFUSES("partition", partition(none, 0));
  REFUSES("unravel_index", unravel_index(none, {2}));
  REFUSES("atleast_2d", atleast_2d(none));
  REFUSES("vstack", vstack({v, none}));
  REFUSES("column_stack", column_stack({none, v}));
  REFUSES("unstack", unstack(none));
  REFUSES("array_split", array_split(none, 2));
  REFUSES("broadcast_arrays", broadcast_arrays({v, none}));
  REFUSES("rot90", rot90(none));
  REFUSES("insert", insert(v, 0, none));
  REFUSES("remove", remove(none, {0}));
  REFUSES("append", append(v, none));
  REFUSES("fill_diagonal", fill_diagonal(none, 0));
  REFUSES("resize_to", resize_to(none, {2}));
  REFUSES("float_power", float_power(none, 2));
  REFUSES("modf", modf(none));
  REFUSES("frexp", frexp(none));
  REFUSES("ldexp", ldexp(v, none));
  REFUSES("nextafter", nextafter(v, none));
  REFUSES("unwrap", unwrap(none));
  REFUSES("nan_to_num", nan_to_num(none));
  REFUSES("isclose", isclose(v, none));
  REFUSES("signbit", signbit(none));
  REFUSES("sinc", sinc(none));
  REFUSES("heaviside", heaviside(v, none));
  REFUSES("i0", i0(none));
  REFUSES("gcd", gcd(none, 2));
  REFUSES("bitwise_count", bitwise_count(none));
  REFUSES("gammainc", gammainc(v, none));
  REFUSES("betainc", betainc(v, v, none));
  REFUSES("vmap", vmap([](const Tensor& each) { return each; })(none));
  REFUSES("dstack", dstack({x, none}));
  REFUSES("pad", pad(none, 1));
  REFUSES("Normal::log_prob", distributions::Normal<Tensor>{}.log_prob(none));
  REFUSES("sample", distributions::Poisson<Tensor>{none}.sample());
  REFUSES("add", call("add", {x, none}));
  REFUSES("one_hot", one_hot(none, 3));
  REFUSES("sort", sort(none));
  REFUSES("argsort", argsort(none));
  REFUSES("topk", topk(none, 1));
  REFUSES("searchsorted", searchsorted(none, x));
  REFUSES("searchsorted", searchsorted(x, none));
  REFUSES("histogram", histogram(none, x));
  REFUSES("histogram", histogram(x, none));
  REFUSES("unique", unique(none));
  REFUSES("nonzero", nonzero(none));
  REFUSES("choice", choice(none, 1));
  REFUSES("categorical", categorical(none, 1));
  REFUSES("dropout_mask", dropout_mask(none, 0.5));
}

TEST_CASE_TEMPLATE("an undefined tensor is refused by name: products and windows", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor none;
  const Tensor x = Tensor::ones({2, 2});
  REFUSES("matmul", matmul(none, x));
  REFUSES("matmul", matmul(x, none));
  REFUSES("dot", dot(none, x));
  REFUSES("outer", outer(x, none));
  REFUSES("kron", kron(none, x));
  REFUSES("tensordot", tensordot(x, none));
  REFUSES("einsum", tyto::einsum<Mode>("ij,jk", {x, none}));
  REFUSES("convolution", convolution(none, x));
  REFUSES("convolution", convolution(x, none));
  REFUSES("conv1d", conv1d(none, x));
  REFUSES("conv2d", conv2d(x, none));
  REFUSES("conv3d", conv3d(none, x));
  REFUSES("transposed_convolution", transposed_convolution(none, x));
  REFUSES("transposed_convolution", transposed_convolution(x, none));
  REFUSES("max_pool", max_pool(none, 2));
  REFUSES("average_pool", average_pool(none, 2));
  REFUSES("global_average_pool", global_average_pool(none));
  REFUSES("upsample", upsample(none, 2));
}

TEST_CASE_TEMPLATE("an undefined tensor is refused by name: reading, states, gradients, files", Mode, tyto::Eager,
                   tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor none;
  const Tensor x = Tensor::ones({2});
  const auto total = [](const Tensor& at) { return sum(at); };
  REFUSES("item", none.template item<float>());
  REFUSES("data", none.template data<float>());
  REFUSES("to_string", none.to_string());
  REFUSES("bool", bool(none));
  REFUSES("variable", Tensor::variable(none));
  REFUSES("persistent", Tensor::persistent(none));
  REFUSES("constant", Tensor::constant(none));
  REFUSES("assign", assign(none, x));
  REFUSES("assign", assign(Tensor::variable(x), none));
  REFUSES("eval", tyto::eval({x, none}));
  REFUSES("stop_gradient", stop_gradient(none));
  REFUSES("grad", tyto::grad(total)(none));
  REFUSES("value_and_grad", tyto::grad([](const Tensor&) { return Tensor(); })(x));
  REFUSES("value_and_grad", tyto::value_and_grad(total, std::vector<Tensor>{none})(x));
  REFUSES("vjp", vjp([](auto& in) { return in[0]; }, std::vector<Tensor>{x}, none));
  REFUSES("jvp", jvp([](auto& in) { return in[0]; }, std::vector<Tensor>{x}, std::vector<Tensor>{none}));
  REFUSES("delay", tyto::delay<Mode>({2}, DType::f32, [](auto& in) { return in[0]; }, {none}));
  REFUSES("write_npy", write_npy("never.npy", none));
  REFUSES("write_png", tyto::write_png("never.png", none));
  REFUSES("write_jpeg", tyto::write_jpeg("never.jpg", none));
  REFUSES("write_wav", tyto::write_wav("never.wav", none, 8000));
  REFUSES("write_npz", tyto::write_npz<Mode>("never.npz", {{"x", none}}));
  REFUSES("write_safetensors", tyto::write_safetensors<Mode>("never.safetensors", {{"x", none}}));
  const char* told = "an undefined tensor (default-constructed or moved from) is used";
  CHECK_THROWS_WITH_AS(none.shape(), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS(none.dtype(), told, tyto::GraphError);
}

TEST_CASE("an undefined tensor is refused by name: graphs") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor none;
  const Tensor x = Tensor::placeholder({2}, DType::f32, "x");
  const Tensor w = Tensor::variable(Tensor::ones({2}), "w");
  const Tensor y = x + w;
  tyto::Graph graph{{.inputs = {x}, .outputs = {y}}};
  REFUSES("Graph", tyto::Graph({.inputs = {none}}));
  REFUSES("Graph", tyto::Graph({.outputs = {none}}));
  REFUSES("Graph", tyto::Graph({.updates = {{none, y}}}));
  REFUSES("Graph", tyto::Graph({.updates = {{w, none}}}));
  REFUSES("Graph::set", graph.set(none, y));
  REFUSES("Graph::set", graph.set(x, none));
  REFUSES("Graph", graph[none]);
  REFUSES("compile", tyto::compile([](const Tensor& a) { return a + 1; })(none));
  REFUSES("compile", tyto::compile([](const Tensor&) { return Tensor(); })(y));
}

TEST_CASE_TEMPLATE("an undefined tensor is refused by layers", Mode, tyto::Eager, tyto::Lazy) {
  const tyto::Tensor<Mode> none;
  CHECK_THROWS_AS(tyto::nn::Linear({.in = 2, .out = 2})(none), tyto::GraphError);
  CHECK_THROWS_AS(tyto::nn::Conv2d({.in = 2, .out = 2})(none), tyto::GraphError);
  CHECK_THROWS_AS(tyto::nn::MaxPool(2)(none), tyto::GraphError);
  CHECK_THROWS_AS(tyto::nn::AveragePool(2)(none), tyto::GraphError);
  CHECK_THROWS_AS(tyto::nn::Flatten()(none), tyto::GraphError);
  CHECK_THROWS_AS(tyto::nn::Dropout(0.5)(none, tyto::nn::training), tyto::GraphError);
}
