// The compiler must say: .in = 3, .out = 8, .window = 3
// In lines, at most: 18
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

nn::Conv2d f() { return nn::Conv2d({.in = 3, .out = 4, .kernel = 3}); }
