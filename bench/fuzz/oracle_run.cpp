// SPDX-License-Identifier: MIT
// Runs programs for the oracle: each line by the library's own functions, loops and branches among them.
#include "bench/fuzz/oracle_program.hpp"

namespace tyto::oracle {

namespace {

template <class M>
class Runner {
 public:
  using T = Tensor<M>;
  using List = std::vector<T>;
  using Values = std::map<int, T>;

  Runner(const Program& program, const List& states) : length_(program.length), states_(states) {}

  /// The region's results. What it makes is seen by its own regions and by nobody else.
  List run(const Region& region, Values values, const List& arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) values.insert_or_assign(region.parameters[i], arguments[i]);
    for (const Line& line : region.lines) {
      const List made = line.regions.empty() ? plain(line, values) : region_line(line, values);
      for (std::size_t i = 0; i < line.out.size(); ++i) values.insert_or_assign(line.out[i], made[i]);
    }
    List results;
    for (const int id : region.results) results.push_back(values.at(id));
    return results;
  }

 private:
  static T whole(double x) { return T::full({}, x, DType::i64); }
  static T real(double x) { return T::full({}, x, DType::f64); }

  List plain(const Line& line, const Values& values) const {
    const std::string& op = line.op;
    const auto in = [&](std::size_t i) -> const T& { return values.at(line.in[i]); };
    const auto constant = [&](std::size_t i) { return line.numbers[i]; };
    if (op == "tanh") return {tanh(in(0))};
    if (op == "sin") return {sin(in(0))};
    if (op == "cos") return {cos(in(0))};
    if (op == "sigmoid") return {sigmoid(in(0))};
    if (op == "negate") return {-in(0)};
    if (op == "add") return {in(0) + in(1)};
    if (op == "subtract") return {in(0) - in(1)};
    if (op == "multiply") return {in(0) * in(1)};
    if (op == "matmul") return {matmul(in(0), in(1))};
    if (op == "cumsum") return {cumsum(in(0), 0)};
    if (op == "sum") return {sum(in(0), {0})};
    if (op == "transpose") return {transpose(in(0))};
    if (op == "row") return {reshape(take(in(0), remainder(in(1), whole(double(length_))), 0), {length_})};
    if (op == "set_row") return {set(in(0), {remainder(in(1), whole(double(length_)))}, in(2))};
    if (op == "number") return {real(constant(0))};
    if (op == "whole") return {whole(constant(0))};
    if (op == "spread_line") return {broadcast_to(in(0), {length_}) * 1.0};
    if (op == "spread_page") return {broadcast_to(in(0), {length_, length_}) * 1.0};
    if (op == "whole_step") return {remainder(in(0) * whole(constant(0)) + whole(constant(1)), whole(constant(2)))};
    if (op == "is_even") return {remainder(in(0), whole(2)) == whole(0)};
    if (op == "less") return {in(0) < real(constant(0))};
    if (op == "where") return {where(in(0), in(1), in(2))};
    const T& state = states_[static_cast<std::size_t>(line.numbers[0])];
    if (op == "read") return {state * 1.0};
    assign(state, in(0));
    return {};
  }

  List region_line(const Line& line, const Values& values) const {
    const std::string& op = line.op;
    const Region& body = line.regions.back();
    List in;
    for (const int id : line.in) in.push_back(values.at(id));
    if (op == "cond") {
      return cond(
          in[0], [&] { return run(line.regions[0], values, {}); }, [&] { return run(line.regions[1], values, {}); });
    }
    if (op == "switch") {
      std::vector<std::function<List()>> arms;
      for (const Region& arm : line.regions) arms.push_back([&] { return run(arm, values, {}); });
      return switch_case(in[0], arms);
    }
    if (op == "while") {
      return while_loop(
          in, [&](const List& c) { return run(line.regions[0], values, c)[0]; },
          [&](const List& c) { return run(body, values, c); }, {.most = static_cast<std::int64_t>(line.numbers[0])});
    }
    const List carries(in.begin() + (op == "fori" ? 0 : 1), in.end());
    if (op == "fori" || op == "fori_data") {
      const auto from = static_cast<std::int64_t>(line.numbers[0]);
      const Count to = op == "fori" ? Count(from + static_cast<std::int64_t>(line.numbers[1])) : Count(in[0]);
      return fori_loop(from, to, carries,
                       [&](const T& i, const List& c) {
                         List given{i};
                         given.insert(given.end(), c.begin(), c.end());
                         return run(body, values, given);
                       },
                       {.most = static_cast<std::int64_t>(line.numbers[2])});
    }
    const auto step = [&](const List& c, const T& row) {
      List given = c;
      given.push_back(row);
      return run(body, values, given);
    };
    const auto next_of = [&](const List& made) {
      return List(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(carries.size()));
    };
    List results;
    if (op == "scan_until") {
      const auto [last, ys, count] = scan_until(
          [&](const List& c, const T& row) {
            const List made = step(c, row);
            return std::tuple(next_of(made), made[made.size() - 2], made.back());
          },
          carries, in[0]);
      results = last;
      results.push_back(ys);
      results.push_back(count);
    } else {
      const auto [last, ys] = scan(
          [&](const List& c, const T& row) {
            const List made = step(c, row);
            return std::pair(next_of(made), made.back());
          },
          carries, in[0], {.reverse = line.numbers[0] != 0});
      results = last;
      results.push_back(ys);
    }
    return results;
  }

  std::int64_t length_;
  const List& states_;
};

}  // namespace

template <class M>
std::vector<Tensor<M>> run(const Program& program, const std::vector<Tensor<M>>& inputs,
                           const std::vector<Tensor<M>>& states) {
  std::map<int, Tensor<M>> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values.insert_or_assign(static_cast<int>(i), inputs[i]);
  return Runner<M>(program, states).run(program.body, std::move(values), {});
}

template std::vector<Tensor<Eager>> run(const Program&, const std::vector<Tensor<Eager>>&,
                                        const std::vector<Tensor<Eager>>&);
template std::vector<Tensor<Lazy>> run(const Program&, const std::vector<Tensor<Lazy>>&,
                                       const std::vector<Tensor<Lazy>>&);

}  // namespace tyto::oracle
