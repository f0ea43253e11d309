// The compiler must say: save
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

void f(nn::Sequential model) { nn::save("model.safetensors", model); }
