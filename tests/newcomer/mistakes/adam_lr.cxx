// The compiler must say: AdamOptions
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

void f() { auto o = nn::adam({.lr = 0.001}); }
