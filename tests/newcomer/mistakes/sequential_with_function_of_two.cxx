// The compiler must say: Step(
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

nn::Sequential f() { return nn::Sequential{nn::Linear({.in = 2, .out = 2}), tyto::softmax}; }
