// The compiler must say: Tensor(std::vector<double>{...})
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

Tensor f() { return Tensor({1.0, 2.0}, tyto::DType::f64); }
