"""A network whose weights start at zero: SGD never moves it, Escape(SGD) trains it."""

import torch

import unsaddle.torch

torch.manual_seed(0)
inputs = torch.randn(128, 2)
targets = torch.tanh(inputs @ torch.randn(2, 3)) @ torch.randn(3, 1)


def train(escape):
    """Give the loss after 1000 steps from weights that are all zero."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if escape:
        optimiser = unsaddle.torch.Escape(optimiser)

    def closure():
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        return loss

    for _ in range(1000):
        optimiser.step(closure)
    return closure().item()


print(f"SGD:         loss {train(escape=False):.5f}")
print(f"Escape(SGD): loss {train(escape=True):.5f}")
