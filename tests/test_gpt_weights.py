"""GPT-1 beside Hugging Face's and OpenAI's layouts: the same numbers both ways."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from lmlib.gpt import (
    GPT,
    GPTConfig,
    from_huggingface,
    from_openai,
    generate,
    to_huggingface,
    to_openai,
)
from lmlib.gpt.huggingface import huggingface_names
from lmlib.gpt.openai import openai_order
from lmlib.vocabulary import Vocabulary

WORDS = Vocabulary([f"w{i}" for i in range(97)], unknown=None)
SHAPE = GPTConfig(layers=3, width=48, heads=4, positions=20, dropout=0.1)


@pytest.fixture(scope="module")
def hugging_face(optional):
    """Their model with random weights, larger than at the start of training."""
    transformers = optional("transformers")
    config = transformers.OpenAIGPTConfig(
        vocab_size=97, n_positions=20, n_embd=48, n_layer=3, n_head=4
    )
    torch.manual_seed(0)
    model = transformers.OpenAIGPTLMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def ours(seed=0):
    model = GPT(WORDS, SHAPE, np.random.default_rng(seed)).eval()
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            values = np.random.default_rng(i).normal(0, 0.15, parameter.shape)
            parameter.add_(torch.tensor(values, dtype=torch.float32))
    return model


def texts(shape=(4, 20)):
    return torch.from_numpy(np.random.default_rng(1).integers(0, 97, shape))


def test_their_weights_in_our_model_give_their_logits_and_loss(hugging_face, tmp_path):
    hugging_face.save_pretrained(tmp_path)
    model = from_huggingface(tmp_path, WORDS)
    ids = texts()
    with torch.no_grad():
        theirs = hugging_face(ids, labels=ids)
        torch.testing.assert_close(model(ids), theirs.logits, rtol=0, atol=1e-5)
        assert model.loss(ids).item() == pytest.approx(theirs.loss.item(), abs=1e-5)
    assert model.config == SHAPE


def test_our_weights_in_their_model_give_our_logits_and_loss(optional, tmp_path):
    transformers = optional("transformers")
    model = ours()
    to_huggingface(model, tmp_path)
    theirs = transformers.OpenAIGPTLMHeadModel.from_pretrained(tmp_path).eval()
    ids = texts()
    with torch.no_grad():
        found = theirs(ids, labels=ids)
        torch.testing.assert_close(found.logits, model(ids), rtol=0, atol=1e-5)
        assert model.loss(ids).item() == pytest.approx(found.loss.item(), abs=1e-5)


def test_one_step_of_training_gives_the_same_gradients(hugging_face, tmp_path):
    hugging_face.save_pretrained(tmp_path)
    model = from_huggingface(tmp_path, WORDS)
    ids = texts()
    hugging_face.zero_grad()
    hugging_face(ids, labels=ids).loss.backward()
    model.loss(ids).backward()
    theirs = dict(hugging_face.named_parameters())
    mine = dict(model.named_parameters())
    names = huggingface_names(SHAPE.layers)
    assert set(names) == set(mine)
    assert {names[n] for n in mine} == {n for n in theirs if n != "lm_head.weight"}
    for name, other in names.items():
        torch.testing.assert_close(
            mine[name].grad, theirs[other].grad, rtol=0, atol=1e-5, msg=name
        )


def test_greedy_text_is_theirs(hugging_face, tmp_path):
    hugging_face.save_pretrained(tmp_path)
    model = from_huggingface(tmp_path, WORDS)
    prompt = texts((1, 5))
    theirs = hugging_face.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=15,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
    )
    mine = generate(
        model, prompt[0].tolist(), 15, np.random.default_rng(0), temperature=0
    )
    assert mine == theirs[0, 5:].tolist()


def test_hugging_faces_layout_and_back_is_the_same_model(tmp_path):
    model = ours()
    to_huggingface(model, tmp_path)
    again = from_huggingface(tmp_path, WORDS)
    for (name, a), b in zip(model.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b), name


def test_files_without_the_prefix_are_read_too(tmp_path):
    model = ours()
    to_huggingface(model, tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = {k.removeprefix("transformer."): v for k, v in load_file(path).items()}
    # Files of older versions also hold each block's mask.
    tensors["h.0.attn.bias"] = torch.ones(1, 1, 20, 20)
    save_file(tensors, path)
    ids = texts()
    assert torch.equal(from_huggingface(tmp_path, WORDS)(ids), model(ids))


def test_openais_layout_equals_hugging_face_on_synthetic_shards(hugging_face, tmp_path):
    # Written here by hand, as OpenAI's train.py reads it: positions first, then
    # subwords, then the blocks' variables in the order of their creation.
    p = dict(hugging_face.named_parameters())
    arrays = [
        p["transformer.positions_embed.weight"],
        p["transformer.tokens_embed.weight"],
    ]
    for i in range(3):
        for name in "attn.c_attn attn.c_proj ln_1 mlp.c_fc mlp.c_proj ln_2".split():
            weight = p[f"transformer.h.{i}.{name}.weight"]
            arrays.append(weight if name.startswith("ln") else weight[None])
            arrays.append(p[f"transformer.h.{i}.{name}.bias"])
    arrays = [a.detach().numpy() for a in arrays]
    flat = np.concatenate([a.ravel() for a in arrays])
    for i, piece in enumerate(np.array_split(flat, 10)):
        np.save(tmp_path / f"params_{i}.npy", piece)
    shapes = json.dumps([a.shape for a in arrays])
    (tmp_path / "params_shapes.json").write_text(shapes, encoding="utf-8")
    model = from_openai(tmp_path, WORDS, heads=4)
    ids = texts()
    with torch.no_grad():
        torch.testing.assert_close(
            model(ids), hugging_face(ids).logits, rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("pieces", [1, 3, 10])
def test_openais_layout_and_back_is_the_same_model(tmp_path, pieces):
    model = ours()
    to_openai(model, tmp_path, pieces)
    assert len(list(tmp_path.glob("params_*.npy"))) == pieces
    again = from_openai(tmp_path, WORDS, heads=4)
    assert again.config == SHAPE
    for (name, a), b in zip(model.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b), name


def test_openais_order_begins_with_positions():
    assert openai_order(1)[:4] == ["W_p", "W_e", "blocks.0.W_qkv.W", "blocks.0.W_qkv.b"]
    assert len(openai_order(12)) == 146  # 2 + 12 x 12, as in params_shapes.json


@pytest.fixture
def shards(tmp_path):
    to_openai(ours(), tmp_path)
    return tmp_path


def test_a_truncated_shard_is_named(shards):
    path = shards / "params_4.npy"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"params_4\.npy is missing, damaged or cut"):
        from_openai(shards, WORDS, heads=4)


def test_a_missing_shard_is_noticed(shards):
    (shards / "params_9.npy").unlink()
    with pytest.raises(ValueError, match="a piece is missing or cut short"):
        from_openai(shards, WORDS, heads=4)
    (shards / "params_3.npy").unlink()
    with pytest.raises(ValueError, match=r"params_3\.npy is missing"):
        from_openai(shards, WORDS, heads=4)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"params_shapes\.json is not OpenAI's"):
        from_openai(tmp_path, WORDS)
    (tmp_path / "params_shapes.json").write_text("[[1, 2]]", encoding="utf-8")
    with pytest.raises(ValueError, match=r"has no file params_0\.npy"):
        from_openai(tmp_path, WORDS)


def test_shapes_of_another_model_are_refused(shards):
    path = shards / "params_shapes.json"
    shapes = json.loads(path.read_text(encoding="utf-8"))
    size = shapes[-1][0] + shapes[-2][0]
    path.write_text(json.dumps([*shapes[:-2], [size]]), encoding="utf-8")
    with pytest.raises(ValueError, match="expected positions, subwords and 12 for"):
        from_openai(shards, WORDS, heads=4)


def test_weights_for_another_vocabulary_are_refused(shards, tmp_path):
    small = Vocabulary(["a", "b"], unknown=None)
    with pytest.raises(ValueError, match="over 97 symbols, the vocabulary has 2"):
        from_openai(shards, small, heads=4)
    to_huggingface(ours(), tmp_path / "hf")
    with pytest.raises(ValueError, match="over 97 symbols, the vocabulary has 2"):
        from_huggingface(tmp_path / "hf", small)


def test_damaged_hugging_face_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"config\.json does not describe"):
        from_huggingface(tmp_path, WORDS)
    to_huggingface(ours(), tmp_path)
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"model\.safetensors is missing, damaged"):
        from_huggingface(tmp_path, WORDS)
    path.write_bytes(whole)
    about = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    for change, words in (
        ({"model_type": "gpt2"}, "its model_type is 'gpt2'"),
        ({"n_embd": 96}, r"its W_e is \(97, 48\), expected \(97, 96\)"),
        ({"n_layer": 4}, r"blocks\.3\.\S+ is missing"),
        ({"n_layer": None}, "does not describe a model"),
        ({"layer_norm_epsilon": 1e-12}, "adds 1e-12 in its norms"),
    ):
        changed = json.dumps({**about, **change})
        (tmp_path / "config.json").write_text(changed, encoding="utf-8")
        with pytest.raises(ValueError, match=words):
            from_huggingface(tmp_path, WORDS)


def test_a_nan_in_foreign_weights_is_found_and_named(tmp_path):
    model = ours()
    with torch.no_grad():
        model.W_p[3, 4] = float("nan")
    to_openai(model, tmp_path / "openai")
    to_huggingface(model, tmp_path / "hf")
    with pytest.raises(ValueError, match="its W_p holds a NaN"):
        from_openai(tmp_path / "openai", WORDS, heads=4)
    with pytest.raises(ValueError, match="its W_p holds a NaN"):
        from_huggingface(tmp_path / "hf", WORDS)
