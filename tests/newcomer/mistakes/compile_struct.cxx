// The compiler must say: arguments are tensors, numbers, std::vector<Tensor>, and tuples and pairs of these
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

struct Batch {
  Tensor x, t;
};
void f(Batch b) {
  auto g = tyto::compile([](Batch each) { return each.x; });
  g(b);
}
