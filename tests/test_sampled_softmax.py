"""Sampled losses of the output layer against exact sums and the full softmax."""

import math

import pytest
import torch
import torch.nn.functional as F

from lmlib.sampled_softmax import importance_sampling_loss, nce_loss

WORDS, EXAMPLES, D = 12, 5, 3
LOSSES = [importance_sampling_loss, nce_loss]


def layer(seed=0, bias=True):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    a, W = normal(EXAMPLES, D), normal(WORDS, D)
    b = normal(WORDS) if bias else None
    targets = torch.randint(WORDS, (EXAMPLES,), generator=generator)
    q = torch.softmax(normal(WORDS) / 2, 0)
    for tensor in (a, W, b):
        if tensor is not None:
            tensor.requires_grad_()
    return a, W, b, targets, q


def full_softmax(a, W, b, targets):
    return F.cross_entropy(a @ W.mT + b, targets)


def gradients(loss, *tensors):
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, tensors)])


def draw(q, number, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.multinomial(q, number, replacement=True, generator=generator)


def sampled(loss, a, W, b, targets, drawn, log_q):
    """The loss; NCE is told log Z, so that its limit is the full softmax."""
    if loss is nce_loss:
        log_z = torch.logsumexp(a @ W.mT + b, 1).detach()
        return nce_loss(a, W, b, targets, drawn, log_q, log_normaliser=log_z)
    return loss(a, W, b, targets, drawn, log_q)


def test_importance_sampling_by_hand():
    # One example with y = (0, log 2, log 4), target 0; drawn 1, 2, 2 from Q = 1/4,
    # 1/4, 1/2: the estimate of Z = 7 is (2 * 4 + 4 * 2 + 4 * 2) / 3 = 8.
    a, W = torch.ones(1, 1), torch.tensor([[1.0], [2], [4]]).log()
    log_q = torch.tensor([0.25, 0.25, 0.5]).log()
    loss = importance_sampling_loss(
        a, W, None, torch.tensor([0]), torch.tensor([1, 2, 2]), log_q
    )
    assert float(loss) == pytest.approx(math.log(8))


def test_noise_contrastive_estimation_by_hand():
    # y = (0, log 3), target 1, drawn 0 and 0 from Q = 1/2 each, K = 2: K Q = 1. The
    # target is real with odds 3 : 1, each drawn word with odds 1 : 1.
    a, W = torch.ones(1, 1), torch.tensor([[1.0], [3]]).log()
    log_q = torch.tensor([0.5, 0.5]).log()
    loss = nce_loss(a, W, None, torch.tensor([1]), torch.tensor([0, 0]), log_q)
    assert float(loss) == pytest.approx(-math.log(3 / 4) - 2 * math.log(1 / 2))
    # With a normaliser c = log 3 the odds are 1 : 1 and 1 : 3.
    loss = nce_loss(
        a, W, None, torch.tensor([1]), torch.tensor([0, 0]), log_q,
        log_normaliser=math.log(3),
    )  # fmt: skip
    assert float(loss) == pytest.approx(-math.log(1 / 2) - 2 * math.log(3 / 4))


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_agree_with_finite_differences(loss):
    a, W, b, targets, q = layer()
    drawn = draw(q, 7, 0)
    torch.autograd.gradcheck(
        lambda *x: loss(*x, targets, drawn, q.log()), (a, W, b), eps=1e-6, atol=1e-7
    )


def test_drawing_every_word_once_from_a_uniform_q_is_the_full_softmax():
    a, W, b, targets, _ = layer()
    log_q = torch.full((WORDS,), -math.log(WORDS), dtype=torch.float64)
    # (1/K) sum exp(y) / (1/|V|) with K = |V| is Z itself.
    ours = importance_sampling_loss(a, W, b, targets, torch.arange(WORDS), log_q)
    full = full_softmax(a, W, b, targets)
    torch.testing.assert_close(ours, full)
    torch.testing.assert_close(gradients(ours, a, W, b), gradients(full, a, W, b))


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_converge_to_the_full_softmaxs_as_samples_grow(loss):
    a, W, b, targets, q = layer()
    exact = gradients(full_softmax(a, W, b, targets), a, W, b)

    def error(number):
        """Root mean square distance over 20 draws, relative to the gradient."""
        total = 0.0
        for seed in range(20):
            drawn = draw(q, number, seed)
            found = gradients(sampled(loss, a, W, b, targets, drawn, q.log()), a, W, b)
            total += float((found - exact).square().sum())
        return math.sqrt(total / 20) / float(exact.norm())

    few, many = error(100), error(10_000)
    # The error is a mean's over K draws, so it falls as 1 / sqrt(K): tenfold for a
    # hundredfold K. The bias falls as 1 / K, faster. With 20 repetitions either root
    # mean square is known to about 1 / sqrt(40) = 16 %, so the ratio to some 22 %; the
    # bounds are more than two of that away.
    assert 5 < few / many < 20
    assert many < 0.05


def expected_nce_gradient(a, W, b, targets, q, K, c):
    """The mean over all draws, exactly: K Q(w) drawn words w instead of a sample."""
    y = a @ W.mT + b - c[:, None]
    log_noise = (K * q).log()
    real = -F.logsigmoid(y - log_noise)  # (B, |V|), if w is the target
    noise = (K * q * F.softplus(y - log_noise)).sum(1)
    loss = (real.gather(1, targets[:, None])[:, 0] + noise).mean()
    return gradients(loss, a, W, b)


def test_the_expected_nce_gradient_differs_by_order_one_over_k():
    a, W, b, targets, q = layer()
    c = torch.logsumexp(a @ W.mT + b, 1).detach()
    exact = gradients(full_softmax(a, W, b, targets), a, W, b)
    away = [
        float((expected_nce_gradient(a, W, b, targets, q, K, c) - exact).norm())
        for K in (1e3, 1e4, 1e5)
    ]
    # Without sampling noise the difference is the O(1/K) term alone.
    assert away[0] / away[1] == pytest.approx(10, rel=0.05)
    assert away[1] / away[2] == pytest.approx(10, rel=0.05)


def test_nce_without_the_normaliser_pushes_log_z_to_zero():
    _, W, b, _, q = (t.detach() for t in layer())
    b = (b + 3).requires_grad_()
    optimiser = torch.optim.SGD([b], lr=0.5)
    targets = draw(torch.softmax(torch.arange(WORDS) / 4.0, 0), 400, 1)
    inputs = torch.zeros(len(targets), D, dtype=torch.float64)  # only b matters
    for step in range(150):
        optimiser.zero_grad()
        nce_loss(inputs, W, b, targets, draw(q, 50, step), q.log()).backward()
        optimiser.step()
    # Nobody told it to be normalised, and it began at Z = e^3 times something.
    assert abs(float(torch.logsumexp(b.detach(), 0))) < 0.15
    share = torch.bincount(targets, minlength=WORDS) / len(targets)
    torch.testing.assert_close(b.detach().exp().float(), share, atol=0.03, rtol=0.2)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_sparse_gradient_holds_the_used_rows_only(loss):
    a, W, b, targets, q = layer()
    drawn = torch.tensor([3, 3, 8])
    loss(a, W, b, targets, drawn, q.log(), sparse=True).backward()
    found = W.grad
    assert found.is_sparse
    used = set(found.coalesce().indices()[0].tolist())
    assert used == set(targets.tolist()) | {3, 8}
    W.grad = None
    loss(a, W, b, targets, drawn, q.log()).backward()
    torch.testing.assert_close(found.to_dense(), W.grad)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"targets": torch.tensor([0, 1])},
            r"targets has shape \(2,\): expected \(5,\)",
        ),
        (
            {"targets": torch.full((5,), 12)},
            "targets holds the id 12: expected 0 to 11",
        ),
        ({"drawn": torch.tensor([-1])}, "drawn holds the id -1"),
        ({"drawn": torch.empty(0, dtype=torch.long)}, "at least one word"),
        ({"log_q": torch.zeros(3)}, r"log_q has shape \(3,\): expected \(12,\)"),
        ({"b": torch.zeros(3)}, r"b has shape \(3,\): expected \(12,\)"),
        ({"a": torch.zeros(5, 2)}, r"a has shape \(5, 2\): expected \(5, 3\)"),
        ({"log_q": torch.full((12,), -math.inf)}, "word 1 was drawn, but log_q"),
    ],
)
def test_arguments_that_do_not_match_are_refused(loss, change, words):
    a, W, b, targets, q = layer()
    arguments = {"a": a, "W": W, "b": b, "targets": targets, "log_q": q.log()}
    arguments |= {"drawn": torch.tensor([1, 2])} | change
    with pytest.raises(ValueError, match=words):
        loss(**arguments)
