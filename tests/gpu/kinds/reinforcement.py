"""Reinforcement learning: the host moves 256 poles, the device chooses how; 32 moves, then four rounds over what happened."""
import math

import torch

from loop import count, steps

ENVIRONMENTS, MOVES = 256, 32


def move(state, action):
    """A cart with a pole, on the host."""
    x, v, angle, spin = state.unbind(1)
    force = 20.0 * action - 10.0
    inertia = (force + 0.05 * spin**2 * torch.sin(angle)) / 1.1
    turn = (9.8 * torch.sin(angle) - torch.cos(angle) * inertia) / (0.5 * (4 / 3 - 0.1 * torch.cos(angle) ** 2 / 1.1))
    push = inertia - 0.05 * turn * torch.cos(angle) / 1.1
    state = torch.stack([x + 0.02 * v, v + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn], 1)
    fallen = (state[:, 2].abs() > 12 * math.pi / 180) | (state[:, 0].abs() > 2.4)
    state[fallen] = 0.05 * torch.randn(int(fallen.sum()), 4)
    return state, 1.0 - fallen.float()


torch.manual_seed(1)
torch.set_num_threads(1)
policy = torch.nn.Sequential(torch.nn.Linear(4, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 3)).cuda()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
state = 0.05 * torch.randn(ENVIRONMENTS, 4)
for step in steps(count(200), torch.cuda.synchronize):
    seen, actions, chances, rewards = [], [], [], []
    with torch.no_grad():
        for _ in range(MOVES):
            here = state.cuda()
            choice = torch.distributions.Categorical(logits=policy(here)[:, :2])
            action = choice.sample()
            seen.append(here)
            actions.append(action)
            chances.append(choice.log_prob(action))
            state, reward = move(state, action.cpu().float())
            rewards.append(reward)
    returns, sum_ = [], torch.zeros(ENVIRONMENTS)
    for reward in reversed(rewards):
        sum_ = reward * (1 + 0.99 * sum_)
        returns.append(sum_)
    returns = torch.stack(returns[::-1]).flatten().cuda()
    seen, actions, chances = torch.cat(seen), torch.cat(actions), torch.cat(chances)
    for _ in range(4):
        for part in torch.randperm(len(seen), device="cuda").chunk(4):
            out = policy(seen[part])
            choice = torch.distributions.Categorical(logits=out[:, :2])
            gain = returns[part] - out[:, 2]
            ratio = (choice.log_prob(actions[part]) - chances[part]).exp()
            advantage = gain.detach()
            better = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            loss = 0.5 * gain.square().mean() - better.mean() - 0.01 * choice.entropy().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
