// The compiler must say: adam(const AdamOptions& options
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

void f(nn::Sequential model) { auto o = nn::adam(model.parameters(), {.rate = 0.001}); }
