// SPDX-License-Identifier: MIT
// Moves through loops and branches whose bodies are moves themselves: carries that are computed, shifted, exchanged or
// kept, rows in and out, counts that are known or not, early exits.
#include "tests/fuzz/drawing.hpp"
#include "tests/fuzz/sequence_as_before.hpp"
#include "tyto/flow.hpp"

namespace tyto::fuzz {

namespace {

template <class M>
using List = std::vector<Tensor<M>>;

/// The moves that a region's function makes on its arguments, the same in every call.
template <class M>
struct Body {
  std::uint64_t seed;
  std::int64_t moves;
  Noise noise;
  Nesting nesting;

  explicit Body(Drawing<M>& d)
      : seed(d.dice().seed()), moves(d.dice().between(1, 4)), noise(d.noise()), nesting(d.nesting()) {
    noise.seed += 17;
    ++nesting.depth;
    nesting.in_differentiated_region = nesting.in_gradient;
  }
  Drawing<M> run(Drawing<M>& outer, const List<M>& leaves) const {
    outer.note_border(leaves);
    Drawing<M> inner(seed, leaves, noise, nesting);
    for (std::int64_t i = 0; i < moves; ++i) inner.step();
    outer.take_in(inner);
    return inner;
  }
};

/// Where each carry's next value comes from: another carry, or (as many as there are carries) what the body makes.
template <class M>
std::vector<std::int64_t> sources(Drawing<M>& d, std::int64_t carries) {
  std::vector<std::int64_t> from;
  for (std::int64_t i = 0; i < carries; ++i) {
    from.push_back(d.dice().one_in(2) ? carries : d.dice().below(carries));
  }
  return from;
}

template <class M>
List<M> next_of(Drawing<M>& inner, const List<M>& carries, const std::vector<std::int64_t>& from) {
  List<M> next;
  for (std::size_t i = 0; i < carries.size(); ++i) {
    const auto source = static_cast<std::size_t>(from[i]);
    const bool passed = source < carries.size() && carries[source].dtype() == carries[i].dtype() &&
                        carries[source].shape() == carries[i].shape();
    next.push_back(passed ? carries[source] : inner.shaped(carries[i].shape(), carries[i].dtype()));
  }
  return next;
}

/// Carries of few shapes, so that they can change places.
template <class M>
List<M> some_carries(Drawing<M>& d) {
  List<M> carries;
  const std::int64_t count = d.dice().between(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool alike = i > 0 && d.dice().one_in(2);
    const Tensor<M> x = d.any();
    carries.push_back(alike ? d.shaped(carries[0].shape(), carries[0].dtype()) : x);
    const bool weak = carries.back().ndim() == 0;
    if (weak) carries.back() = reshape(carries.back(), {1});
  }
  return carries;
}

/// The results, which give `from` gradients of zero beside those that they depend on.
template <class M>
List<M> with_zero_gradients(const List<M>& results, const List<M>& from) {
  List<M> linked;
  for (const Tensor<M>& result : results) {
    List<M> operands{result};
    for (const Tensor<M>& x : from) {
      if (is_floating(x.dtype())) operands.push_back(x);
    }
    const auto link = custom_gradient<Tensor<M>>([](const List<M>& in) { return in[0]; },
                                                 [](const List<M>& in, const Tensor<M>&, const Tensor<M>& gradient) {
                                                   List<M> gradients{gradient};
                                                   for (std::size_t i = 1; i < in.size(); ++i) {
                                                     gradients.push_back(zeros_like(in[i]));
                                                   }
                                                   return gradients;
                                                 });
    linked.push_back(is_floating(result.dtype()) ? link(operands) : result);
  }
  return linked;
}

/// One of the results of a loop. Where `open`, what the loop was given and all of its results have gradients of zero,
/// as a graph gives them to what no iteration used and to carries that nothing reads after the last one.
template <class M>
Tensor<M> first_of(Drawing<M>& d, const List<M>& results, bool open, const List<M>& given) {
  d.note_border(results);
  const Tensor<M>& chosen = d.dice().from(results);
  if (!open) return d.perturbed(chosen);
  List<M> from = results;
  from.insert(from.end(), given.begin(), given.end());
  return d.perturbed(with_zero_gradients<M>({chosen}, from)[0]);
}

template <class M>
Tensor<M> number(std::int64_t value) {
  return Tensor<M>::full({}, static_cast<double>(value), DType::i64);
}

template <class M>
Tensor<M> counted_loop(Drawing<M>& d) {
  if (d.depth() >= 2) return d.any();
  const SequenceAsBefore sequence;
  const List<M> init = some_carries(d);
  const Tensor<M> captured = d.any();
  const auto from = sources(d, static_cast<std::int64_t>(init.size()));
  const Body<M> body(d);
  const std::int64_t trips = d.dice().between(0, 5);
  const bool known = d.dice().one_in(2);
  const Count upper = known ? Count(trips) : Count(number<M>(trips));
  const std::int64_t most = d.depth() > 0 ? 6 : 0;
  const bool open = d.gives_open_gradients();
  const auto result = fori_loop(0, upper, init,
                                [&](const Tensor<M>& i, const List<M>& carries) {
                                  List<M> leaves{captured, cast(i, DType::f32)};
                                  leaves.insert(leaves.end(), carries.begin(), carries.end());
                                  Drawing<M> inner = body.run(d, leaves);
                                  const List<M> next = next_of(inner, carries, from);
                                  return open && !known ? with_zero_gradients(next, leaves) : next;
                                },
                                {.most = most});
  List<M> given;
  if (!known) {
    given = init;
    given.push_back(captured);
  }
  return first_of(d, result, open, given);
}

template <class M>
Tensor<M> tested_loop(Drawing<M>& d) {
  if (d.depth() >= 2) return d.any();
  const SequenceAsBefore sequence;
  const List<M> init = some_carries(d);
  const auto from = sources(d, static_cast<std::int64_t>(init.size()));
  const Body<M> body(d);
  const std::int64_t trips = d.dice().between(0, 5);
  // A nested region may be part of a function whose gradient is taken.
  const std::int64_t most = d.depth() > 0 || d.dice().one_in(2) ? d.dice().between(1, 6) : 0;
  const bool open = d.gives_open_gradients();
  using State = std::pair<Tensor<M>, List<M>>;
  const State last = while_loop(
      State(number<M>(0), init), [&](const State& s) { return s.first < trips; },
      [&](const State& s) {
        Drawing<M> inner = body.run(d, s.second);
        const List<M> next = next_of(inner, s.second, from);
        return State(s.first + 1, open ? with_zero_gradients(next, s.second) : next);
      },
      {.most = most});
  return first_of(d, last.second, open, init);
}

template <class M>
Tensor<M> scanned(Drawing<M>& d) {
  if (d.depth() >= 2) return d.any();
  const SequenceAsBefore sequence;
  const List<M> init = some_carries(d);
  const Tensor<M> xs = d.ranked(1);
  // Of no rows eager mode asks the body for types alone, where a drawing cannot look at its tensors.
  if (xs.shape()[0] == 0 || xs.shape()[0] > 9) return xs;
  const auto from = sources(d, static_cast<std::int64_t>(init.size()));
  const Body<M> body(d);
  const Tensor<M> captured = d.any();
  const bool carries_out = d.dice().one_in(3);
  const bool stops = d.dice().one_in(3);
  const bool open = d.gives_open_gradients();
  const auto step = [&](const List<M>& carries, const Tensor<M>& row) {
    List<M> leaves{captured, row};
    leaves.insert(leaves.end(), carries.begin(), carries.end());
    Drawing<M> inner = body.run(d, leaves);
    List<M> next = next_of(inner, carries, from);
    if (open && stops) next = with_zero_gradients(next, leaves);
    return std::pair(next, carries_out ? next[0] : inner.tensors().back());
  };
  List<M> results, given;
  if (stops) {
    const std::int64_t stop = d.dice().between(0, 9);
    using State = std::pair<Tensor<M>, List<M>>;
    const auto [last, ys, count] = scan_until(
        [&](const State& s, const Tensor<M>& row) {
          const auto [next, y] = step(s.second, row);
          return std::tuple(State(s.first + 1, next), y, s.first >= stop);
        },
        State(number<M>(0), init), xs);
    results = last.second;
    results.push_back(ys);
    results.push_back(count);
    given = init;
    given.insert(given.end(), {xs, captured});
  } else {
    const auto [last, ys] = scan(step, init, xs, {.reverse = d.dice().one_in(3)});
    results = last;
    results.push_back(ys);
  }
  return first_of(d, results, open, given);
}

template <class M>
Tensor<M> branched(Drawing<M>& d) {
  if (d.depth() >= 3) return d.any();
  const SequenceAsBefore sequence;
  const Tensor<M> x = d.any();
  const Tensor<M> captured = d.any();
  const Tensor<M> like = reshape(x, x.ndim() == 0 ? Shape{1} : x.shape());
  std::vector<Body<M>> bodies;
  const std::int64_t arms = d.dice().between(1, 4);
  for (std::int64_t i = 0; i < arms; ++i) bodies.emplace_back(d);
  const std::int64_t passing = d.dice().below(2 * arms);  // an arm that gives back what it takes, or none
  const bool open = d.gives_open_gradients();
  using Arm = std::function<Tensor<M>()>;
  std::vector<Arm> functions;
  for (std::int64_t i = 0; i < arms; ++i) {
    functions.push_back([&, i]() -> Tensor<M> {
      if (i == passing) return like;
      Drawing<M> inner = bodies[static_cast<std::size_t>(i)].run(d, {captured, x});
      return inner.shaped(like.shape(), like.dtype());
    });
  }
  // By data that rounding does not touch, or by chance.
  const Tensor<M> index = is_floating(captured.dtype()) || captured.size() == 0
                              ? number<M>(d.dice().between(-1, arms))
                              : remainder(cast(sum(captured), DType::i64), number<M>(arms + 1));
  const bool tested = arms == 2 && d.dice().one_in(2);
  const Tensor<M> made = tested ? cond(index == 0, functions[0], functions[1]) : switch_case(index, functions);
  d.note_border({made});
  return d.perturbed(open ? with_zero_gradients<M>({made}, {captured, x})[0] : made);
}

// Numbers that a smooth loop keeps finite. Where a branch is not taken, a graph multiplies the gradient 0 by what eager
// mode never works out, so that infinities and NaN in there would differ.
template <class M>
Tensor<M> moderate(Drawing<M>& d, const Shape& shape) {
  const Tensor<M> x = d.shaped(shape, DType::f64);
  return d.perturbed(where(isfinite(x), clip(x, -8, 8), 0.5));
}

// The gradient of a loop over smooth moves with respect to its carry, its rows and what it captures.
template <class M>
Tensor<M> loop_gradient(Drawing<M>& d) {
  if (d.depth() >= 1) return d.any();
  const SequenceAsBefore sequence;
  const Shape shape{d.dice().between(1, 4)};
  const Tensor<M> x = moderate(d, shape);
  const Tensor<M> w = moderate(d, shape);
  const Tensor<M> xs = moderate(d, {d.dice().between(1, 4), shape[0]});
  const std::int64_t kind = d.dice().below(6);
  const bool reverse = d.dice().one_in(3);
  const std::int64_t wanted = d.dice().below(3);
  using State = std::pair<Tensor<M>, Tensor<M>>;
  const auto loss = [&](const Tensor<M>& h, const Tensor<M>& weights, const Tensor<M>& stack) {
    const auto [last, ys] = scan(
        [&](const State& state, const Tensor<M>& row) {
          const Tensor<M> c = state.first;
          const Tensor<M> mixed = d.perturbed(tanh(c * weights + row));
          const Tensor<M> next =
              kind < 3 ? mixed
                       : cond(
                             remainder(state.second, 2) == 0, [&] { return mixed * weights; }, [&] { return sin(c); });
          const Tensor<M> y = kind % 3 == 0 ? next : kind % 3 == 1 ? c * next : sin(next) * weights;
          return std::pair(State(next, state.second + 1), y);
        },
        State(h, number<M>(wanted)), stack, {.reverse = reverse});
    return sum(last.first * weights) + sum(ys);
  };
  const auto gradients = value_and_grad(loss, {0, 1, 2})(x, w, xs).second;
  // A graph adds zeros where eager mode has nothing to add, so the sign of a zero is left open (docs/semantics.md).
  const Tensor<M> gradient = gradients[static_cast<std::size_t>(wanted)];
  return where(gradient == 0, 0.0, gradient);
}

}  // namespace

TYTO_FUZZ_MOVES(region_moves, {"counted_loop", 5, counted_loop<M>}, {"tested_loop", 4, tested_loop<M>},
                {"scanned", 6, scanned<M>}, {"branched", 6, branched<M>}, {"loop_gradient", 3, loop_gradient<M>})

}  // namespace tyto::fuzz
