// SPDX-License-Identifier: MIT
// Compiled scaled_dot_product_attention against the same scores written out, forward and with all three gradients, in
// microseconds on one thread: the fastest of alternating rounds.
//
// Usage: attention_bench [WORD...] runs the cases whose names hold every word. attention_peers.py is PyTorch's side.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <tyto/tyto.hpp>

#include "bench/process_usage.hpp"

namespace {

using namespace tyto;
using T = Tensor<Lazy>;
using bench::thread_seconds;

enum class Kind { plain, causal, mask, bias };
constexpr const char* names[] = {"plain", "causal", "mask", "bias"};
constexpr std::int64_t heads = 8;

/// The fastest call of each body in alternating rounds of about half a millisecond.
std::vector<double> compare(const std::vector<std::function<void()>>& bodies) {
  std::vector<double> best(bodies.size(), std::numeric_limits<double>::infinity());
  std::vector<int> calls;
  for (const auto& body : bodies) {
    body();
    const double start = thread_seconds();
    body();
    calls.push_back(std::max(1, static_cast<int>(5e-4 / (thread_seconds() - start))));
  }
  double spent = 0;
  for (int round = 0; round < 300 && (round < 5 || spent < 0.15 * static_cast<double>(bodies.size())); ++round) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const double start = thread_seconds();
      for (int call = 0; call < calls[i]; ++call) bodies[i]();
      const double seconds = thread_seconds() - start;
      best[i] = std::min(best[i], seconds / calls[i]);
      spent += seconds;
    }
  }
  return best;
}

T by_hand(Kind kind, const T& q, const T& k, const T& v, const T& m) {
  constexpr double nowhere = -std::numeric_limits<double>::infinity();
  T s = matmul(q, swapaxes(k, -1, -2)) * (1 / std::sqrt(static_cast<double>(q.shape().back())));
  if (kind == Kind::causal) s = where(T::tri(s.shape()[2], s.shape()[3], 0, DType::boolean), s, nowhere);
  if (kind == Kind::mask) s = where(m, s, nowhere);
  if (kind == Kind::bias) s = s + m;
  return matmul(softmax(s, -1), v);
}

T by_operator(Kind kind, const T& q, const T& k, const T& v, const T& m) {
  AttentionOptions<Lazy> options;
  options.causal = kind == Kind::causal;
  if (kind == Kind::mask || kind == Kind::bias) options.mask = m;
  return scaled_dot_product_attention(q, k, v, options);
}

void report(const std::string& name, std::int64_t batch, std::int64_t length, std::int64_t features, Kind kind) {
  const Shape shape{batch, heads, length, features};
  const T q = T::normal(shape), k = T::normal(shape), v = T::normal(shape), g = T::normal(shape);
  // A query sees itself, whatever else it may see.
  const T drawn = T::normal({length, length});
  const T m = kind == Kind::mask ? greater(drawn, -0.5) || T::eye(length).astype(DType::boolean) : drawn;
  eval({q, k, v, g, m});
  const auto forward = [&](auto f) { return compile([=](T a, T b, T c, T d) { return f(kind, a, b, c, d); }); };
  const auto gradients = [&](auto f) {
    return compile([=](T a, T b, T c, T d, T e) {
      const auto loss = [=](T x, T y, T z) { return sum(f(kind, x, y, z, d) * e); };
      return value_and_grad(loss, {0, 1, 2})(a, b, c);  // the loss too: without it the result need not be computed
    });
  };
  auto own = forward(by_operator), hand = forward(by_hand);
  auto own_gradients = gradients(by_operator), hand_gradients = gradients(by_hand);
  const std::vector<double> t =
      compare({[&] { own(q, k, v, m); }, [&] { hand(q, k, v, m); }, [&] { own_gradients(q, k, v, m, g); },
               [&] { hand_gradients(q, k, v, m, g); }});
  std::printf("%-28s %10.1f %10.1f %6.2f %10.1f %10.1f %6.2f\n", name.c_str(), 1e6 * t[0], 1e6 * t[1], t[0] / t[1],
              1e6 * t[2], 1e6 * t[3], t[2] / t[3]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  threads(1);
  seed(1);
  std::printf("%-28s %10s %10s %6s %10s %10s %6s\n", "batch x 8 heads", "operator", "by hand", "ratio", "gradients",
              "by hand", "ratio");
  for (const std::int64_t batch : {1, 8}) {
    for (const std::int64_t features : {32, 64}) {
      for (const std::int64_t length : {16, 64, 128, 256, 512, 1024, 2048}) {
        for (const Kind kind : {Kind::plain, Kind::causal, Kind::mask, Kind::bias}) {
          const std::string name = "b" + std::to_string(batch) + " l" + std::to_string(length) + " e" +
                                   std::to_string(features) + " " + names[static_cast<int>(kind)];
          const bool wanted = std::all_of(argv + 1, argv + argc, [&](const char* word) {
            return (name + " ").find(std::string(word) + " ") != std::string::npos;
          });
          if (wanted && batch * length * length * heads <= std::int64_t(1) << 26)
            report(name, batch, length, features, kind);
        }
      }
    }
  }
}
