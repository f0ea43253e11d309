// The compiler must say: a list of tensors is no operand
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

void f(nn::Descent& descent, const nn::Sequential& model, const std::vector<tyto::Tensor<tyto::Any>>& gradients) {
  descent.update(model.parameters(), 0.1 * gradients);
}
