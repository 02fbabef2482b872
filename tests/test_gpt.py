"""GPT-1: eq. 2 against plain formulas and PyTorch, causality, generation, bad input."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import lmlib.gpt.dropped_attention as blocks
from lmlib import generation
from lmlib.gpt import (
    GPT,
    PAPER,
    SMALL,
    TOY,
    GPTConfig,
    attention,
    attention_by_hand,
    generate,
)
from lmlib.gpt.dropout import add_dropped, drop, effective_rate
from lmlib.gpt.dropped_attention import dropped_attention
from lmlib.gpt.gelu import gelu
from lmlib.language_model import NO_WORD, LanguageModel
from lmlib.vocabulary import Vocabulary

WORDS = Vocabulary(["<unk>", *"abcdefghijkl"])
TINY = GPTConfig(layers=2, width=12, heads=3, positions=8, dropout=0.0)


def tiny(config=TINY, seed=0, scale=8.0, **more):
    """A small model in float64 with weights large enough to make it opinionated."""
    more = {"dtype": torch.float64, **more}
    model = GPT(WORDS, config, np.random.default_rng(seed), **more)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale if parameter.ndim > 1 else 1)
    return model.eval()


def texts(shape, seed=1):
    ids = np.random.default_rng(seed).integers(0, len(WORDS), shape)
    return torch.from_numpy(ids)


def plain_gpt(p, config, ids):
    """Eq. 2 for one text, one head and one token at a time."""
    d, d_k = config.width, config.width // config.heads
    h = [p["W_e"][i] + p["W_p"][t] for t, i in enumerate(ids.tolist())]

    def norm(x, name):
        mean = x.mean()
        variance = ((x - mean) ** 2).mean()
        return (
            p[name + ".g"] * (x - mean) / torch.sqrt(variance + 1e-5) + p[name + ".b"]
        )

    for layer in range(config.layers):
        name = f"blocks.{layer}."
        qkv = [x @ p[name + "W_qkv.W"] + p[name + "W_qkv.b"] for x in h]
        out = []
        for t in range(len(h)):
            mixed = []
            for j in range(config.heads):
                part = slice(j * d_k, (j + 1) * d_k)
                scores = torch.stack(
                    [
                        qkv[t][:d][part] @ qkv[s][d : 2 * d][part] / math.sqrt(d_k)
                        for s in range(t + 1)
                    ]
                )
                weights = scores.exp() / scores.exp().sum()
                mixed.append(
                    sum(w * qkv[s][2 * d :][part] for s, w in enumerate(weights))
                )
            a = torch.cat(mixed) @ p[name + "W_o.W"] + p[name + "W_o.b"]
            n = norm(h[t] + a, name + "norm_1")
            u = n @ p[name + "W_1.W"] + p[name + "W_1.b"]
            c = math.sqrt(2 / math.pi)
            g = 0.5 * u * (1 + torch.tanh(c * (u + 0.044715 * u**3)))
            m = g @ p[name + "W_2.W"] + p[name + "W_2.b"]
            out.append(norm(n + m, name + "norm_2"))
        h = out
    return torch.stack(h) @ p["W_e"].T  # (T, |V|)


def test_logits_are_those_of_the_plain_formula():
    model = tiny()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:  # make biases and gains matter
                values = np.random.default_rng(len(name)).normal(
                    1, 0.3, parameter.shape
                )
                parameter.copy_(torch.from_numpy(values))
    ids = texts((3, 8))
    p = dict(model.named_parameters())
    expected = torch.stack([plain_gpt(p, TINY, row) for row in ids])
    torch.testing.assert_close(model(ids), expected, rtol=1e-10, atol=1e-10)


def test_every_gradient_is_that_of_the_plain_formula():
    model = tiny().train()
    ids = texts((2, 6))
    plain = {
        k: v.detach().clone().requires_grad_() for k, v in model.named_parameters()
    }
    logits = torch.stack([plain_gpt(plain, TINY, row) for row in ids[:, :-1]])
    expected = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    expected.backward()
    loss = model.loss(ids)
    loss.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(
            parameter.grad, plain[name].grad, rtol=1e-8, atol=1e-10, msg=name
        )


# Sizes


def test_the_paper_has_116_million_parameters_on_the_meta_device():
    vocabulary = Vocabulary([str(i) for i in range(40_478)], unknown=None)
    model = GPT(vocabulary, PAPER, np.random.default_rng(0), device="meta")
    # 40,478 x 768 + 512 x 768 + 12 x 7,087,872
    assert sum(p.numel() for p in model.parameters()) == 116_534_784
    assert PAPER.parameters(40_478) == 116_534_784
    assert PAPER.block_parameters == 7_087_872
    assert PAPER.feed_forward == 3072
    assert PAPER.head_width == 64


@pytest.mark.parametrize("config", [TINY, TOY, SMALL])
def test_the_formulas_count_is_the_tensors_count(config):
    model = GPT(WORDS, config, np.random.default_rng(0), device="meta")
    numbers = sum(p.numel() for p in model.parameters())
    assert numbers == config.parameters(len(WORDS))


def test_presets_have_the_counts_they_claim():
    assert SMALL.parameters(8192) == 6_868_480
    assert TOY.parameters(0) == 102_016
    assert 4 * TOY.parameters(200) < 2e6  # bytes, for 200 words: fits a repository


def test_starting_weights_are_normal_with_002_and_biases_zero():
    config = GPTConfig(layers=1, width=96, heads=2, positions=50)
    model = GPT(WORDS, config, np.random.default_rng(0))
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            # Standard error of the deviation: 0.02 / sqrt(2 n)
            n = parameter.numel()
            assert abs(parameter.std().item() - 0.02) < 0.02 * 4 / math.sqrt(2 * n)
            assert abs(parameter.mean().item()) < 0.02 * 4 / math.sqrt(n)
        else:
            assert (parameter == (1 if name.endswith(".g") else 0)).all()


def test_the_same_generator_gives_the_same_model():
    a, b, c = (GPT(WORDS, TINY, np.random.default_rng(s)) for s in (3, 3, 4))
    assert torch.equal(a.blocks[1].W_1.W, b.blocks[1].W_1.W)
    assert not torch.equal(a.blocks[1].W_1.W, c.blocks[1].W_1.W)


# Attention


def test_attention_of_two_tokens_by_hand():
    # d_k = 1. Token 1 sees itself alone. Token 2: scores 1*0 = 0 and 1*log 3, so
    # weights 1/4 and 3/4, and 1/4 * 8 + 3/4 * 4 = 5.
    q = torch.tensor([[1.0], [1.0]])
    k = torch.tensor([[0.0], [math.log(3)]])
    v = torch.tensor([[8.0], [4.0]])
    mixed, weights = attention_by_hand(q, k, v)
    torch.testing.assert_close(weights, torch.tensor([[1.0, 0.0], [0.25, 0.75]]))
    torch.testing.assert_close(mixed, torch.tensor([[8.0], [5.0]]))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 9), st.integers(0, 5), st.sampled_from([1.0, 1e4]), st.integers())
def test_fast_attention_equals_the_written_one(queries, earlier, scale, seed):
    torch.manual_seed(abs(seed) % 2**32)
    q = torch.randn(2, 3, queries, 4, dtype=torch.float64) * scale
    k, v = torch.randn(2, 2, 3, queries + earlier, 4, dtype=torch.float64)
    expected, weights = attention_by_hand(q, k, v)
    torch.testing.assert_close(attention(q, k, v), expected)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 6), st.integers(0, 12), st.sampled_from([1.0, 30.0, 1e4]))
def test_a_later_token_never_changes_an_earlier_logit(position, other, scale):
    # scale 1e4 makes scores of 1e4 and more, which beat a finite mask of -10,000
    model = tiny()
    with torch.no_grad():
        for block in model.blocks:
            block.W_qkv.W.mul_(math.sqrt(scale))
    ids = texts((1, 8))
    changed = ids.clone()
    changed[0, position + 1 :] = other
    with torch.no_grad():
        before, after = model(ids), model(changed)
    assert torch.equal(before[:, : position + 1], after[:, : position + 1])


def test_scores_in_that_test_do_reach_ten_thousand():
    model = tiny()
    with torch.no_grad():
        h = model.blocks[0](model.embed(texts((1, 8))))
        model.blocks[1].W_qkv.W.mul_(100.0)
        q, k, _ = model.blocks[1].heads(h)
        assert (q @ k.transpose(-2, -1)).abs().max() / math.sqrt(4) > 1e4


def test_a_finite_mask_lets_the_model_look_ahead():
    # Why minus infinity: with -10,000 for "may not look", a later key with a score of
    # 20,000 still wins, 20,000 - 10,000 > 0.
    q, k = torch.tensor([[1.0], [1.0]]), torch.tensor([[0.0], [20_000.0]])
    finite = torch.softmax(q @ k.T + torch.tensor([[0.0, -1e4], [0.0, 0.0]]), -1)
    assert finite[0, 1] == 1
    assert attention_by_hand(q, k, k)[1][0, 1] == 0


def test_attention_weights_are_shown_by_layer_and_head():
    model = tiny()
    weights = model.attention_weights(texts((2, 5)))
    assert [w.shape for w in weights] == [(2, 3, 5, 5)] * 2
    for w in weights:
        assert (w.triu(1) == 0).all()
        torch.testing.assert_close(w.sum(-1), torch.ones_like(w[..., 0]))


# Dropout, with gradients by hand


@pytest.mark.parametrize("tokens", [1, 3, 7, 8])
def test_gradients_of_dropped_attention_are_right(tokens, monkeypatch):
    monkeypatch.setattr(blocks, "_ROWS", 3)
    qkv = torch.randn(1, tokens, 12, dtype=torch.float64, requires_grad=True)

    def same_drops(x):
        torch.manual_seed(5)
        return dropped_attention(x, 2, 0.3)

    assert torch.autograd.gradcheck(same_drops, qkv)


def test_attention_that_drops_almost_nothing_is_attention():
    torch.manual_seed(0)
    qkv = torch.randn(2, 150, 24, dtype=torch.float64)
    q, k, v = qkv.view(2, 150, 3, 2, 4).permute(2, 0, 3, 1, 4)
    expected = attention_by_hand(q, k, v)[0].transpose(1, 2).flatten(2)
    # 1e-9 is below the granularity of 1/65,536: nothing at all is dropped.
    torch.testing.assert_close(dropped_attention(qkv, 2, 1e-9), expected)


def test_dropped_attention_is_right_in_the_mean():
    torch.manual_seed(0)
    qkv = torch.randn(1, 6, 12, dtype=torch.float64)
    expected = dropped_attention(qkv, 1, 1e-9)
    many = dropped_attention(qkv.expand(20_000, -1, -1), 1, 0.25)
    error = many.std(0) / math.sqrt(20_000)
    assert ((many.mean(0) - expected).abs() <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_drops_are_independent_at_the_stated_rate(p):
    torch.manual_seed(1)
    n = 400_000
    kept = drop(torch.ones(n), p) != 0
    rate = 1 - kept.double().mean().item()
    # 0.1 is 6,554 / 65,536 = 0.100006 here.
    assert abs(effective_rate(p) - p) <= 0.5 / 65_536
    assert abs(rate - effective_rate(p)) < 5 * math.sqrt(p * (1 - p) / n)
    for lag in (1, 2, 4, 64, 12_345):  # neighbours share a generator's word
        both = (kept[lag:] & kept[:-lag]).double().mean().item()
        assert abs(both - (1 - p) ** 2) < 5 * math.sqrt(0.25 / n)


def test_what_is_kept_is_scaled_so_that_the_mean_stays():
    torch.manual_seed(2)
    x = drop(torch.ones(1000, dtype=torch.float64), 0.25)
    assert set(x.tolist()) == {0.0, 1 / 0.75}


def test_gradients_of_dropout_and_gelu_are_right():
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    a = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)

    def seeded(function):
        def call(*inputs):
            torch.manual_seed(3)
            return function(*inputs)

        return call

    assert torch.autograd.gradcheck(seeded(lambda x: drop(x, 0.4)), x)
    assert torch.autograd.gradcheck(seeded(lambda x, a: add_dropped(x, a, 0.4)), (x, a))
    assert torch.autograd.gradcheck(gelu, x)


def test_gelu_is_pytorchs_tanh_form_also_over_several_pieces():
    u = torch.linspace(-30, 30, 300_001, requires_grad=True)
    g = gelu(u)
    (slope,) = torch.autograd.grad(g.sum(), u)
    v = u.detach().requires_grad_()
    expected = F.gelu(v, approximate="tanh")
    (expected_slope,) = torch.autograd.grad(expected.sum(), v)
    torch.testing.assert_close(g, expected)
    torch.testing.assert_close(slope, expected_slope)


def test_training_drops_and_answering_does_not():
    model = tiny(GPTConfig(layers=2, width=12, heads=3, positions=8, dropout=0.5))
    ids = texts((2, 8))
    with torch.no_grad():
        assert model.loss(ids) == model.loss(ids)
        model.train()
        torch.manual_seed(0)
        first, second = model.loss(ids), model.loss(ids)
        torch.manual_seed(0)
        assert first == model.loss(ids) != second


# Loss


def test_targets_are_the_inputs_shifted_by_one():
    model = tiny()
    ids = texts((2, 7))
    log_p = torch.log_softmax(model(ids), -1)
    # log P(u_i | before) stands at position i - 1 of the logits.
    expected = [
        -log_p[b, i - 1, ids[b, i]].item() for b in range(2) for i in range(1, 7)
    ]
    assert model.loss(ids).item() == pytest.approx(np.mean(expected), rel=1e-12)


def test_padding_changes_no_loss():
    model = tiny()
    ids = texts((1, 6))
    padded = torch.cat([ids, torch.full((1, 3), NO_WORD)], dim=1)
    assert model.loss(padded).item() == pytest.approx(model.loss(ids).item(), rel=1e-12)
    # Together with a full row: 5 + 8 predicted tokens, each of the same weight.
    full = texts((1, 9), seed=4)
    both = model.loss(torch.cat([padded, full])).item()
    parts = (5 * model.loss(ids).item() + 8 * model.loss(full).item()) / 13
    assert both == pytest.approx(parts, rel=1e-12)


def test_bfloat16_loss_is_near_the_exact_one():
    exact = tiny(scale=4.0, dtype=torch.float32)
    half = tiny(scale=4.0, dtype=torch.float32, compute_dtype=torch.bfloat16)
    ids = texts((8, 9))
    assert half.loss(ids).item() == pytest.approx(exact.loss(ids).item(), rel=0.02)
    half.loss(ids).backward()
    assert half.W_e.grad.dtype == torch.float32
    half.train()
    half.config = GPTConfig(2, 12, 3, 8, dropout=0.2)
    assert math.isfinite(half.loss(ids).item())


def test_a_few_updates_learn_a_text_by_heart():
    config = GPTConfig(layers=2, width=32, heads=2, positions=8, dropout=0.0)
    model = GPT(WORDS, config, np.random.default_rng(0))
    ids = texts((4, 9), seed=3)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    first = model.loss(ids).item()
    for _ in range(80):
        optimiser.zero_grad()
        loss = model.loss(ids)
        loss.backward()
        optimiser.step()
    # At the start all 13 words are about equally likely: log 13 = 2.56.
    assert first == pytest.approx(math.log(13), abs=0.1)
    assert model.loss(ids).item() < 0.5


# One interface


def test_answers_sum_to_one_and_are_uniform_without_context():
    model = tiny()
    contexts = np.array(
        [[NO_WORD, NO_WORD, 3], [1, 2, 3], [NO_WORD] * 3, [NO_WORD, 4, 5]]
    )
    log_p = model.next_log_probabilities(contexts)
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, rtol=1e-12)
    np.testing.assert_allclose(log_p[2], -np.log(len(WORDS)))
    assert model.next_log_probabilities(np.empty((2, 0), int)).shape == (2, 13)


def test_the_answer_after_a_context_is_that_of_the_logits():
    model = tiny()
    ids = texts((1, 5))
    expected = torch.log_softmax(model(ids)[0, -1], -1).detach().numpy()
    given_ = np.concatenate([[[NO_WORD] * 2], ids.numpy()], axis=1)
    np.testing.assert_allclose(
        model.next_log_probabilities(given_)[0], expected, rtol=1e-10
    )


@pytest.mark.parametrize("start", [0, 1, 5, 8, 9, 20, 29, 30])
def test_a_text_is_scored_as_if_asked_word_by_word(start):
    model = tiny()
    ids = texts((30,)).numpy()
    asked = LanguageModel.token_log_probabilities(model, ids, start)
    np.testing.assert_allclose(
        model.token_log_probabilities(ids, start), asked, rtol=1e-9
    )


@pytest.mark.parametrize("stride", [2, 3, 7, 8])
def test_with_a_stride_each_window_predicts_its_last_tokens(stride):
    model = tiny(stride=stride)
    ids = texts((40,)).numpy()
    found = model.token_log_probabilities(ids)
    for t in range(9, 40):
        # The window whose targets hold t ends at the next multiple of the stride.
        end = min(9 + (t - 9) // stride * stride + stride, 40)
        context = ids[end - 9 : t]
        expected = model.next_log_probabilities(context[None])[0, ids[t]]
        assert found[t] == pytest.approx(expected, rel=1e-9)
    from_17 = model.token_log_probabilities(ids, 17)
    np.testing.assert_allclose(from_17, found[17:], rtol=1e-12)


def test_a_vocabulary_with_a_sentence_start_is_refused():
    with pytest.raises(ValueError, match="part its texts by a mark"):
        GPT(Vocabulary(["<unk>", "<s>", "a"]), TINY, np.random.default_rng(0))


# Generation


@pytest.mark.parametrize("keep", [None, 1, 3, 8])
@pytest.mark.parametrize("prompt", [1, 7, 8, 12])
def test_generation_with_and_without_cache_agree(keep, prompt):
    model = tiny()
    ids = texts((prompt,), seed=5).tolist()
    with_cache, without = (
        generate(model, ids, 30, np.random.default_rng(2), keep=keep, cache=cache)
        for cache in (True, False)
    )
    assert with_cache == without
    assert len(set(with_cache)) > 3


@pytest.mark.parametrize(
    "filters", [{}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.6}]
)
def test_generation_draws_what_the_common_interface_draws(filters):
    # Past the window too: with keep=8 the last 8 tokens are always the context.
    model = tiny()
    prompt = ["a", "b", "c"]
    common = generation.generate(model, 20, np.random.default_rng(3), prompt, **filters)
    ids = WORDS.encode(prompt)
    own = generate(model, ids, 20, np.random.default_rng(3), keep=8, **filters)
    assert WORDS.decode(own) == common


def test_past_the_window_half_of_it_is_read_again():
    model = tiny()
    ids = texts((8,)).tolist()
    first, second = generate(model, ids, 2, np.random.default_rng(0), temperature=0)
    assert first == model.next_log_probabilities(np.array([ids])).argmax()
    # 9 tokens do not fit the window of 8: the last 4 are the context.
    context = np.array([[*ids, first][-4:]])
    assert second == model.next_log_probabilities(context).argmax()


def test_generation_stops_at_the_stop_id():
    model = tiny()
    whole = generate(model, [1], 20, np.random.default_rng(0))
    stop = whole[4]
    cut = generate(model, [1], 20, np.random.default_rng(0), stop=stop)
    assert cut == whole[: whole.index(stop) + 1]


# Files and bad input


def test_what_is_saved_is_loaded_again(tmp_path):
    model = tiny()
    model.save(tmp_path / "gpt.safetensors")
    again = GPT.load(tmp_path / "gpt.safetensors", WORDS)
    ids = texts((2, 8))
    assert again.config == TINY
    assert torch.equal(again.eval()(ids), model(ids))


def test_a_checkpoint_of_another_vocabulary_is_refused(tmp_path):
    tiny().save(tmp_path / "gpt.safetensors")
    with pytest.raises(ValueError, match="its vocabulary is"):
        GPT.load(tmp_path / "gpt.safetensors", Vocabulary(["<unk>", "x"]))


def test_weights_of_another_shape_are_refused_by_name():
    tensors = dict(tiny().named_parameters())
    wide = GPTConfig(layers=2, width=24, heads=3, positions=8)
    model = GPT(WORDS, wide, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"its W_e is \(13, 12\), expected \(13, 24\)"):
        model.assign(tensors, "the file")
    deep = GPTConfig(layers=3, width=12, heads=3, positions=8)
    model = GPT(WORDS, deep, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"blocks\.2\.W_1\.W is missing"):
        model.assign(tensors, "the file")


def test_a_nan_in_the_weights_is_found_and_named(tmp_path):
    model = tiny()
    with torch.no_grad():
        model.blocks[1].W_2.b[3] = math.nan
    model.save(tmp_path / "gpt.safetensors")
    with pytest.raises(ValueError, match=r"blocks\.1\.W_2\.b holds a NaN"):
        GPT.load(tmp_path / "gpt.safetensors", WORDS)


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "gpt.safetensors"
    model = tiny()
    model.save(path)
    before = path.read_bytes()

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lmlib.checkpoints.save_file", full)
    with pytest.raises(ValueError, match="No space left on device"):
        tiny(seed=1).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"width": 10, "heads": 3}, "width 10 cannot be shared among 3 heads"),
        ({"layers": 0}, "layers=0 makes no model"),
        ({"dropout": 1.0}, r"dropout=1\.0 is a share"),
    ],
)
def test_impossible_sizes_are_refused(sizes, words):
    with pytest.raises(ValueError, match=words):
        GPTConfig(**sizes)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([[1, 13]], "id 13 is outside 0 to 12"),
        ([[1, -2]], "id -2 is outside 0 to 12"),
        ([[NO_WORD, 1]], "padding"),
        ([[1]], r"shape \(1, 1\).* at least one text and 2 tokens"),
        ([1, 2], r"shape \(2,\)"),
        ([[1] * 10], "10 tokens does not fit the window of 8 and one target"),
        ([[1, NO_WORD]], "nothing is predicted"),
    ],
)
def test_bad_batches_are_refused(ids, words):
    with pytest.raises(ValueError, match=words):
        tiny().loss(torch.tensor(ids))


def test_bad_prompts_are_refused():
    model, generator = tiny(), np.random.default_rng(0)
    with pytest.raises(ValueError, match="the prompt is empty"):
        generate(model, [], 3, generator)
    with pytest.raises(ValueError, match="id 13 is outside 0 to 12"):
        generate(model, [13], 3, generator)
    with pytest.raises(ValueError, match="length=-1"):
        generate(model, [1], -1, generator)
    with pytest.raises(ValueError, match="keep=9 tokens of a window of 8"):
        generate(model, [1], 3, generator, keep=9)
    with pytest.raises(ValueError, match="9 tokens does not fit the window of 8"):
        model(torch.ones(1, 9, dtype=torch.int64))
    with pytest.raises(ValueError, match="stride=9: expected 1 to the window's 8"):
        tiny(stride=9)


def test_an_unseen_character_in_a_prompt_is_the_unknown_word():
    model = tiny()
    ids = WORDS.encode(["a", "€"])
    assert ids.tolist() == [1, 0]
    assert len(generate(model, ids, 3, np.random.default_rng(0))) == 3
