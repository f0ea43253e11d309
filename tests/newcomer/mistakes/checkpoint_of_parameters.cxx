// The compiler must say: a checkpoint needs the names of states
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

void f(nn::Checkpoint c, nn::Sequential model) { c.add("model", model.parameters()); }
