// The compiler must say: a layer, or a function of a tensor itself
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

nn::Sequential f(const nn::Linear& layer) { return nn::Sequential{layer, 3}; }
