// The compiler must say: add(name, descent, model.named_parameters())
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

void f(nn::Checkpoint c, nn::Descent& descent) { c.add("descent", descent); }
