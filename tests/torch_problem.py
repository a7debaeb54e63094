"""What the tests of the torch optimisers share: a saddle, and settings that make runs short."""

import torch

import unsaddle.torch as front

CONSTANTS = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}
KICK = {"decrease_available": 1.0, "window": 15, "radius": 0.1, "decrease": 1e-3}
SHORT = {"accuracy": 1e-2, "ball": 0.3}  # of the inner problems: else four times as many queries
EASY = {
    front.Auto: {},
    front.AGDAuto: {},
    front.AGDLanczos: {},
    front.PGD: KICK,
    front.PAGD: KICK,
    front.PGDNC: {},
    front.ANCGD: {},
    front.NEON: {"window": 60},
    front.NEONPlus: {"window": 60},
    front.Neon2: SHORT | {"length": 0.3, "curvature_tol": 0.8},  # of a saddle with 1
    front.CDHS: SHORT,
    front.AdaNCG: {},
    front.FastCubic: {},
}


class Problem:
    """x^2/2 - y^2/2 + y^4/4 with x and y two parameters, started where descent leads to 0."""

    def __init__(self, dtype=torch.float64):
        self.x = torch.nn.Parameter(torch.ones(2, dtype=dtype))
        self.y = torch.nn.Parameter(torch.zeros(1, dtype=dtype))
        self.asked = []

    @property
    def params(self):
        return [self.x, self.y]

    def loss(self):
        self.asked.append(torch.cat([self.x.detach(), self.y.detach()]))
        return self.x @ self.x / 2 - (self.y**2).sum() / 2 + (self.y**4).sum() / 4

    def closure(self):
        for p in self.params:
            p.grad = None
        loss = self.loss()
        loss.backward()
        return loss


def make(cls, problem, **given):
    return cls(problem.params, **{**CONSTANTS, **EASY[cls], **given})


def run(opt, problem, steps=3000):
    for _ in range(steps):
        opt.step(problem.closure)
        if opt.outcome is not None:
            break
    return opt
