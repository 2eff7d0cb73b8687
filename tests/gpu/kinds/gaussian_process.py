"""A Gaussian process of GPyTorch in FP64: the marginal likelihood by Cholesky's decomposition."""
import gpytorch
import torch

from loop import count, steps

torch.manual_seed(1)
x = torch.rand(3000, 4, device="cuda", dtype=torch.float64)
y = torch.sin(6 * x[:, 0]) + 0.1 * torch.randn(3000, device="cuda", dtype=torch.float64)


class Process(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(x, y, likelihood)
        self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=4))

    def forward(self, at):
        return gpytorch.distributions.MultivariateNormal(self.mean(at), self.kernel(at))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Process(likelihood).cuda().double().train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
margin = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
with gpytorch.settings.max_cholesky_size(10_000):
    for step in steps(count(150), torch.cuda.synchronize):
        optimizer.zero_grad(set_to_none=True)
        (-margin(model(x), y)).backward()
        optimizer.step()
