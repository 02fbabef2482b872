"""The output layer against F.cross_entropy on whole logits, and its gradients."""

import threading

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from lmlib.output_layer import (
    add_output_gradients,
    output_log_probabilities,
    output_loss,
    target_log_probabilities,
)
from lmlib.output_layer.chunks import CPU_TABLE_BYTES, default_chunk


def layer(
    examples=7,
    words=11,
    widths=(3,),
    bias=True,
    seed=0,
    size=1.0,
    dtype=torch.float64,
    transposed=False,
):
    """Random inputs, weights, bias and targets; leaves that ask for gradients."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64) * size

    inputs = [normal(examples, d) for d in widths]
    weights = [normal(d, words).t() if transposed else normal(words, d) for d in widths]
    b = normal(words) if bias else None
    targets = torch.randint(words, (examples,), generator=generator)
    leaves = [t.to(dtype).requires_grad_() for t in (*inputs, *weights)]
    n = len(widths)
    b = None if b is None else b.to(dtype).requires_grad_()
    return leaves[:n], leaves[n:], b, targets


def plain_loss(inputs, weights, bias, targets, **settings):
    """The oracle: every logit at once, PyTorch's own loss."""
    y = sum(x @ w.t() for x, w in zip(inputs, weights, strict=True))
    return F.cross_entropy(y if bias is None else y + bias, targets, **settings)


def gradients_of(loss, inputs, weights, bias):
    return torch.autograd.grad(
        loss, [*inputs, *weights, *([] if bias is None else [bias])]
    )


def assert_close(ours, theirs, tolerance=1e-10):
    """The largest difference, relative to the largest number, is in the tolerance.

    Where all numbers are below 0.01 (a loss or gradient near zero is a difference of
    rounded logits) it is measured against 0.01.
    """
    assert ours.shape == theirs.shape
    scale = max(theirs.abs().max().item(), 0.01)
    assert (ours.double() - theirs).abs().max().item() <= tolerance * scale


def with_a_table_of_its_own(work):
    """Run in a new thread, which has no table left over from work before."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Allocations(TorchDispatchMode):
    """Remembers the most numbers that any one operation's answer had memory for."""

    def __init__(self):
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        answer = function(*args, **(kwargs or {}))
        for part in answer if isinstance(answer, tuple) else (answer,):
            if isinstance(part, Tensor):
                stored = part.untyped_storage().nbytes() // part.element_size()
                self.largest = max(self.largest, stored)
        return answer


# The loss and its gradients -------------------------------------------------------


def test_the_loss_of_two_words_is_the_one_worked_out_by_hand():
    # One example x = 1, weights log 3 and 0, so softmax = (3/4, 1/4).
    x = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    w = torch.tensor([[3.0], [1.0]], dtype=torch.float64).log().requires_grad_()
    loss = output_loss((x,), (w,), None, torch.tensor([0]))
    loss.backward()
    assert loss.item() == pytest.approx(0.2876820724517809)  # log(4/3)
    # dloss/dy = (3/4 - 1, 1/4); times x for w, times w for x: -log(3)/4.
    assert w.grad[:, 0].tolist() == pytest.approx([-0.25, 0.25])
    assert x.grad.item() == pytest.approx(-0.27465307216702745)


@settings(deadline=None, max_examples=60)
@given(
    examples=st.integers(1, 20),
    words=st.integers(1, 70),
    widths=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    bias=st.booleans(),
    transposed=st.booleans(),
    chunk=st.one_of(st.none(), st.integers(1, 25)),
    reduction=st.sampled_from(["mean", "sum"]),
    size=st.sampled_from([0.1, 1.0, 5.0]),
    ignored=st.integers(0, 19),
    seed=st.integers(0, 1000),
)
def test_loss_and_every_gradient_equal_cross_entropy_with_autograd(
    examples, words, widths, bias, transposed, chunk, reduction, size, ignored, seed
):
    parts = layer(examples, words, widths, bias, seed, size, transposed=transposed)
    inputs, weights, b, targets = parts
    targets[: min(ignored, examples - 1)] = -100
    theirs = plain_loss(*parts, reduction=reduction)
    ours = output_loss(*parts, reduction=reduction, chunk=chunk)
    assert ours.dtype == torch.float64
    assert_close(ours, theirs)
    expected = gradients_of(theirs, inputs, weights, b)
    found = gradients_of(ours, inputs, weights, b)
    for gradient, reference in zip(found, expected, strict=True):
        assert_close(gradient, reference)


# Bengio's x is (n-1)m wide and a is h wide: W and U, U alone, or (h = 0) W alone.
@pytest.mark.parametrize("widths", [(12, 10), (10,), (12,)])
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_with_and_without_direct_connections_and_hidden_layer(widths, bias):
    parts = layer(examples=9, words=23, widths=widths, bias=bias)
    expected = gradients_of(plain_loss(*parts), *parts[:3])
    found = gradients_of(output_loss(*parts, chunk=4), *parts[:3])
    for gradient, reference in zip(found, expected, strict=True):
        assert_close(gradient, reference)


def test_an_embedding_matrix_shared_with_the_output_gets_both_gradients():
    _, (shared,), _, targets = layer(examples=6, words=8, widths=(4,), bias=False)
    context = torch.tensor([0, 1, 2, 2, 5, 7])
    plain_loss((torch.tanh(shared[context]),), (shared,), None, targets).backward()
    expected, shared.grad = shared.grad, None
    output_loss((torch.tanh(shared[context]),), (shared,), None, targets).backward()
    assert_close(shared.grad, expected)


def test_an_input_and_a_weight_may_serve_twice():
    (x,), (w,), b, targets = layer()
    expected = gradients_of(plain_loss((x, x), (w, w), b, targets), [x], [w], b)
    found = gradients_of(output_loss((x, x), (w, w), b, targets), [x], [w], b)
    for gradient, reference in zip(found, expected, strict=True):
        assert_close(gradient, reference)


def test_gradients_pass_gradcheck():
    inputs, weights, b, targets = layer(examples=4, words=5, widths=(2, 3))

    def loss(x1, x2, w1, w2, b):
        return output_loss((x1, x2), (w1, w2), b, targets, chunk=3)

    assert torch.autograd.gradcheck(loss, (*inputs, *weights, b))


def test_a_loss_that_is_scaled_or_added_to_another_scales_its_gradients():
    parts = layer()
    auxiliary = 3 * plain_loss(*parts) + parts[0][0].square().sum()
    expected = gradients_of(auxiliary, *parts[:3])
    ours = 3 * output_loss(*parts) + parts[0][0].square().sum()
    for gradient, reference in zip(
        gradients_of(ours, *parts[:3]), expected, strict=True
    ):
        assert_close(gradient, reference)


def test_gradients_accumulate_over_two_backward_calls_like_any_others():
    parts = layer()
    for _ in range(2):
        output_loss(*parts).backward()
    once = gradients_of(plain_loss(*parts), *parts[:3])
    for leaf, gradient in zip([*parts[0], *parts[1], parts[2]], once, strict=True):
        assert_close(leaf.grad, 2 * gradient)


def test_a_graph_that_is_kept_gives_the_same_gradient_each_time():
    parts = layer()
    loss = output_loss(*parts)
    for times in (1, 2, 3):
        loss.backward(retain_graph=True)
        once = gradients_of(plain_loss(*parts), *parts[:3])
        assert_close(parts[1][0].grad, times * once[1])


def test_only_the_gradients_that_are_asked_for_are_made():
    (x,), (w,), b, targets = layer()
    output_loss((x,), (w.detach(),), b.detach(), targets).backward()
    assert_close(
        x.grad, gradients_of(plain_loss((x,), (w,), b, targets), [x], [w], b)[0]
    )
    assert w.grad is None
    assert b.grad is None


def test_without_gradients_the_loss_is_the_same_number():
    parts = layer()
    with torch.no_grad():
        assert output_loss(*parts).item() == output_loss(*parts).item()
        assert not output_loss(*parts).requires_grad
    assert output_loss(*parts).requires_grad


def test_work_in_inference_mode_does_not_spoil_training_after_it():
    losses = []

    def work():
        parts = layer(words=13)
        with torch.inference_mode():
            losses.append(output_loss(*parts).item())
        loss = output_loss(*parts)
        loss.backward()
        losses.append(loss.item())

    with_a_table_of_its_own(work)
    assert len(losses) == 2
    assert losses[0] == losses[1]


def test_two_threads_do_not_write_into_each_others_table():
    parts = [layer(examples=64, words=501, seed=seed) for seed in range(2)]
    expected = [plain_loss(*p).item() for p in parts]
    found = [[], []]

    def work(i):
        found[i].extend(output_loss(*parts[i], chunk=8).item() for _ in range(30))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(2):
        assert found[i] == pytest.approx([expected[i]] * 30)


# Properties of the probabilities --------------------------------------------------


def test_probabilities_over_the_vocabulary_sum_to_one_and_match_the_targets_scored():
    inputs, weights, b, targets = layer(examples=5, words=40, widths=(3, 2))
    log_p = output_log_probabilities(inputs, weights, b)
    assert log_p.shape == (5, 40)
    assert_close(log_p.exp().sum(1), torch.ones(5, dtype=torch.float64))
    scored = target_log_probabilities(inputs, weights, b, targets, chunk=2)
    assert not scored.requires_grad
    assert_close(scored, log_p.gather(1, targets[:, None])[:, 0].detach())


def test_permuting_the_vocabulary_permutes_the_answer():
    inputs, weights, b, targets = layer(examples=5, words=40)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    place = torch.argsort(order)  # word j now has id place[j]
    permuted = [w[order] for w in weights]
    log_p = output_log_probabilities(inputs, weights, b)
    assert_close(
        output_log_probabilities(inputs, permuted, b[order]), log_p[:, order].detach()
    )
    assert_close(
        output_loss(inputs, permuted, b[order], place[targets]),
        output_loss(inputs, weights, b, targets),
    )


def test_the_sum_is_the_mean_times_the_number_of_counted_targets():
    inputs, weights, b, targets = layer(examples=7)
    targets[2] = targets[4] = -1
    parts = (inputs, weights, b, targets)
    total = output_loss(*parts, reduction="sum", ignore_index=-1)
    # 7 examples, 2 of them ignored.
    assert_close(total, 5 * output_loss(*parts, ignore_index=-1))


# Range and precision --------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_logits_of_ten_thousand_give_finite_losses_and_gradients(dtype, size):
    # Logits 0, size, 2 size; the target is the first word.
    x = torch.tensor([[size]], dtype=dtype, requires_grad=True)
    w = torch.tensor([[0.0], [1.0], [2.0]], dtype=dtype, requires_grad=True)
    loss = output_loss((x,), (w,), None, torch.tensor([0]))
    loss.backward()
    # The greatest logit is 2 size above the target's, or (size < 0) it is the target's.
    assert loss.item() == pytest.approx(max(2 * size, 0), rel=0.01)
    assert x.grad.item() == pytest.approx(2 if size > 0 else 0)
    assert torch.isfinite(w.grad).all()


def test_every_logit_far_below_zero_is_no_underflow():
    parts = layer(examples=6, words=9)
    shifted = parts[2].detach() - 5000
    assert_close(
        output_loss(parts[0], parts[1], shifted, parts[3], chunk=2), plain_loss(*parts)
    )


def test_a_word_ruled_out_by_its_bias_has_probability_zero_and_no_gradient():
    inputs, weights, b, targets = layer(examples=8, words=9)
    with torch.no_grad():
        b[4] = -torch.inf  # as <s>, which is never predicted
    targets[targets == 4] = 5
    parts = (inputs, weights, b, targets)
    assert_close(output_loss(*parts, chunk=3), plain_loss(*parts))
    assert output_log_probabilities(inputs, weights, b)[0, 4] == -torch.inf
    _, w_gradient, b_gradient = gradients_of(output_loss(*parts), *parts[:3])
    assert b_gradient[4] == 0
    assert not w_gradient[4].any()
    assert_close(w_gradient, gradients_of(plain_loss(*parts), *parts[:3])[1])


def test_one_chunk_of_large_logits_changes_nothing_for_the_others():
    inputs, weights, b, targets = layer(examples=8, words=9)
    with torch.no_grad():
        inputs[0][4] *= 1000  # the third of four chunks
    parts = (inputs, weights, b, targets)
    assert_close(output_loss(*parts, chunk=2), plain_loss(*parts))
    for gradient, reference in zip(
        gradients_of(output_loss(*parts, chunk=2), *parts[:3]),
        gradients_of(plain_loss(*parts), *parts[:3]),
        strict=True,
    ):
        assert_close(gradient, reference)


@pytest.mark.parametrize(
    ("compute", "tolerance"),
    # float32 keeps 24 binary digits, bfloat16 8 (2^-8 = 0.004 at each rounding).
    [(torch.float32, 3e-6), (torch.bfloat16, 2e-2)],
)
@pytest.mark.parametrize("widths", [(30,), (24, 30)])
def test_less_precise_products_stay_within_their_tolerance(compute, tolerance, widths):
    parts = layer(examples=40, words=300, widths=widths, size=0.3)
    single = [[t.detach().float() for t in group] for group in parts[:2]]
    leaves = [t.requires_grad_() for group in single for t in group]
    bias = parts[2].detach().float().requires_grad_()
    ours = output_loss(*single, bias, parts[3], compute_dtype=compute, chunk=16)
    assert ours.dtype == torch.float32
    theirs = plain_loss(*parts)
    assert_close(ours, theirs, tolerance / 10)
    found = torch.autograd.grad(ours, [*leaves, bias])
    for gradient, reference in zip(
        found, gradients_of(theirs, *parts[:3]), strict=True
    ):
        assert gradient.dtype == torch.float32
        assert_close(gradient, reference, tolerance)
    log_p = output_log_probabilities(*single, bias, compute_dtype=compute)
    assert log_p.dtype == torch.float32
    assert log_p.exp().sum(1).tolist() == pytest.approx([1] * 40, abs=1e-5)


def test_bfloat16_tensors_get_bfloat16_gradients_and_a_float32_loss():
    parts = layer(examples=20, words=50, dtype=torch.bfloat16)
    loss = output_loss(*parts)
    assert loss.dtype == torch.float32
    loss.backward()
    assert parts[1][0].grad.dtype == torch.bfloat16
    exact = [[t.detach().double() for t in group] for group in parts[:2]]
    assert_close(loss, plain_loss(*exact, parts[2].detach().double(), parts[3]), 1e-2)


def test_the_answer_does_not_depend_on_the_number_of_threads():
    parts = layer(examples=50, words=2000, widths=(40,))
    before = torch.get_num_threads()
    losses = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            losses.append(output_loss(*parts).item())
    finally:
        torch.set_num_threads(before)
    assert losses[0] == pytest.approx(losses[1], rel=1e-13)


def test_the_same_call_twice_gives_the_same_bits():
    parts = layer(examples=50, words=2000, widths=(40,), dtype=torch.float32)
    first = gradients_of(output_loss(*parts), *parts[:3])
    again = gradients_of(output_loss(*parts), *parts[:3])
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


# Memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("compute", [torch.float64, torch.bfloat16])
def test_the_logits_of_the_batch_never_exist_whole(compute):
    examples, words, width = 128, 1000, 4
    parts = layer(examples, words, (width,))
    with Allocations() as plain:
        plain_loss(*parts).backward()
    assert plain.largest >= examples * words  # the measure sees what it should
    seen = []

    def work():
        with Allocations() as ours:
            output_loss(*parts, compute_dtype=compute, chunk=16).backward()
        seen.append(ours.largest)

    with_a_table_of_its_own(work)
    # 16 x 1000 logits, their rows padded to a multiple of 64 numbers: 16 x 1024.
    assert seen == [16 * 1024]


def test_the_default_chunk_fits_the_cache_and_divides_the_batch_evenly():
    # 10 MiB / (17,907 x 4 bytes) = 146 rows, so 144; 512 = 4 x 128.
    assert default_chunk(512, 17_907, torch.float32, "cpu") == 128
    assert CPU_TABLE_BYTES // (17_907 * 4) == 146
    assert default_chunk(512, 5, torch.float64, "cpu") == 512
    # Never fewer than 16 rows: matrix products of fewer are slow.
    assert default_chunk(64, 10_000_000, torch.float32, "cpu") == 16


@pytest.mark.parametrize("transposed", [False, True])
def test_a_leaf_takes_its_gradient_without_a_copy(transposed):
    # 3 x 5000 numbers are the gradient; a copy would be a second answer of that size.
    (x,), (w,), b, targets = layer(words=5000, transposed=transposed)
    sizes = []

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            answer = function(*args, **(kwargs or {}))
            if isinstance(answer, Tensor) and not function._schema.is_mutable:
                sizes.append((str(function), answer.numel()))
            return answer

    loss = output_loss((x,), (w,), b, targets, chunk=2)
    with Sizes():
        loss.backward()
    assert w.grad.stride() == w.stride()
    assert [entry for entry in sizes if entry[1] >= 3 * 5000] == [
        ("aten.detach.default", 3 * 5000)  # a view of the same memory
    ]


# Gradients added to given buffers -------------------------------------------------


def test_gradients_added_to_a_decayed_velocity_are_those_of_sgd_with_momentum():
    inputs, weights, b, targets = layer(examples=9, words=20, widths=(3, 4))
    parameters = [*weights, b]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    mine = [p.detach().clone() for p in parameters]
    velocity = [torch.zeros_like(p) for p in mine]
    for _ in range(3):
        optimizer.zero_grad()
        expected_loss = plain_loss(inputs, weights, b, targets)
        expected = torch.autograd.grad(expected_loss, inputs, retain_graph=True)
        expected_loss.backward()
        optimizer.step()
        loss, found = add_output_gradients(
            inputs,
            mine[:2],
            mine[2],
            targets,
            weight_gradients=velocity[:2],
            bias_gradient=velocity[2],
            keep=0.9,
            chunk=4,
        )
        for parameter, v in zip(mine, velocity, strict=True):
            parameter.sub_(v, alpha=0.1)
        assert_close(loss, expected_loss)
        for gradient, reference in zip(found, expected, strict=True):
            assert_close(gradient, reference)
    for parameter, reference in zip(mine, parameters, strict=True):
        assert_close(parameter, reference.detach())


@pytest.mark.parametrize("compute", [torch.float64, torch.bfloat16])
def test_keep_zero_overwrites_even_a_buffer_full_of_nan(compute):
    inputs, weights, b, targets = layer(examples=9, words=20)
    wide = torch.float32 if compute == torch.bfloat16 else compute
    buffers = [torch.full_like(t, torch.nan, dtype=wide) for t in (*weights, b)]
    add_output_gradients(
        inputs,
        weights,
        b,
        targets,
        weight_gradients=buffers[:1],
        bias_gradient=buffers[1],
        keep=0,
        compute_dtype=compute,
        chunk=4,
    )
    _, *expected = gradients_of(
        plain_loss(inputs, weights, b, targets), inputs, weights, b
    )
    for buffer, reference in zip(buffers, expected, strict=True):
        assert_close(buffer, reference, 1e-10 if wide == torch.float64 else 2e-2)


# Bad input ------------------------------------------------------------------------


def refused(message, change, **settings):
    parts = dict(zip(("inputs", "weights", "bias", "targets"), layer(), strict=True))
    change(parts)
    with pytest.raises(ValueError, match=message):
        output_loss(**parts, **settings)


def test_targets_outside_the_vocabulary_are_refused():
    refused(
        "target 11 is not a word: ids go from 0 to 10, or -100 to ignore",
        lambda p: p["targets"].__setitem__(3, 11),
    )
    refused("target -1 is not a word", lambda p: p["targets"].__setitem__(3, -1))
    inputs, weights, b, targets = layer()
    targets[0] = -100  # an ignored target has no probability
    with pytest.raises(ValueError, match="target -100 is not a word"):
        target_log_probabilities(inputs, weights, b, targets)


def test_targets_of_another_type_or_number_are_refused():
    refused(
        r"int32 of shape \(7,\): expected int64 word ids of shape \(7,\)",
        lambda p: p.update(targets=p["targets"].int()),
    )
    refused(
        r"shape \(6,\): expected int64", lambda p: p.update(targets=p["targets"][1:])
    )


def test_widths_and_counts_that_do_not_match_are_refused():
    refused(
        r"input 0 has shape \(7, 2\) and its weight \(11, 3\)",
        lambda p: p.update(inputs=[p["inputs"][0][:, 1:]]),
    )
    refused("1 inputs and 2 weights", lambda p: p.update(weights=p["weights"] * 2))
    refused("0 inputs and 0 weights", lambda p: p.update(inputs=[], weights=[]))
    refused(
        "input 1 has 6 examples and its weight 11 words, the first ones 7 and 11",
        lambda p: p.update(
            inputs=[p["inputs"][0], p["inputs"][0][1:]], weights=p["weights"] * 2
        ),
    )
    refused(
        r"bias has shape \(10,\): expected one number for each of the 11",
        lambda p: p.update(bias=p["bias"][1:]),
    )
    refused(
        r"inputs is a Tensor: expected a tuple or list of tensors, such as \(x,\)",
        lambda p: p.update(inputs=p["inputs"][0]),
    )


def test_an_empty_batch_and_one_that_is_all_ignored_are_refused():
    def empty(parts):
        parts.update(inputs=[parts["inputs"][0][:0]], targets=parts["targets"][:0])

    refused("the batch has 0 examples", empty)
    refused(
        "all 7 targets are ignore_index=-100.*leave such a batch out",
        lambda p: p["targets"].fill_(-100),
    )
    refused(
        "vocabulary has 0 words",
        lambda p: p.update(weights=[p["weights"][0][:0]], bias=None),
    )


def test_types_that_do_not_match_or_are_not_supported_are_refused():
    refused(
        "first input is torch.float64 on cpu, another tensor torch.float32 on cpu",
        lambda p: p.update(bias=p["bias"].float()),
    )
    refused(
        "torch.float16 is not supported: expected float64, float32 or bfloat16",
        lambda p: None,
        compute_dtype=torch.float16,
    )
    refused(
        "int64 is not supported",
        lambda p: p.update(
            inputs=[p["inputs"][0].long()], weights=[p["weights"][0].long()], bias=None
        ),
    )


def test_settings_that_mean_nothing_are_refused():
    refused(
        "reduction='none': expected 'mean' or 'sum'", lambda p: None, reduction="none"
    )
    refused("chunk=0: expected at least 1", lambda p: None, chunk=0)


def test_a_second_derivative_is_refused():
    parts = layer()
    with pytest.raises(ValueError, match="no second derivatives"):
        torch.autograd.grad(output_loss(*parts), parts[0], create_graph=True)


def test_gradient_buffers_that_do_not_match_are_refused():
    inputs, weights, b, targets = layer()

    def add(**buffers):
        add_output_gradients(inputs, weights, b, targets, **buffers)

    with pytest.raises(ValueError, match="1 weights and a bias need as many"):
        add(weight_gradients=[torch.zeros(11, 3)], bias_gradient=None)
    with pytest.raises(ValueError, match=r"in torch.float64, not \(11, 3\) in .*32"):
        add(
            weight_gradients=[torch.zeros(11, 3)],
            bias_gradient=torch.zeros(11, dtype=torch.float64),
        )
