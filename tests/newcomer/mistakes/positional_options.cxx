// The compiler must say: Linear({.in = 3, .out = 4})
// In lines, at most: 15
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

nn::Linear f() { return nn::Linear(3, 4); }
