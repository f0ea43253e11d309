// SPDX-License-Identifier: MIT
// What the debugger is asked to show when it stops in here().
#include <tyto/tyto.hpp>

__attribute__((noinline)) void here() { asm volatile(""); }

int main() {
  using Eager = tyto::Tensor<tyto::Eager>;
  using Lazy = tyto::Tensor<tyto::Lazy>;
  Eager numbers{{1.5, 2.0}, {3.0, 4.0}};
  Eager column = numbers(tyto::all, 0);
  Eager many = Eager::arange(20);
  Lazy input = Lazy::placeholder({2, 3}, tyto::DType::f32, "input");
  Lazy waiting = input * 2.0;
  Lazy weights = Lazy::variable(Lazy{1.0, 2.0}, "weights");
  Eager undefined;
  here();
}
