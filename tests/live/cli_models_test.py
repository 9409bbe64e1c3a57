"""Finding models: index, queries, auto-pick, and folders that are not what they should be."""
import json
import pathlib
import socket
import struct


def listed(hearth, *args):
    done = hearth("ls", "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def failed(done, *words):
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert done.stdout == b""
    for word in words:
        assert word in done.stderr.decode(), done.stderr


def config_only(folder, **fields):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"} | fields))
    return folder


def test_without_a_model_it_says_where_to_put_one(hearth):
    failed(hearth("generate", "--prompt", "x"), "no chat model is on this machine", str(hearth.home / "models"),
           str(hearth.hub))
    failed(hearth("generate", "smol", "x"), "no model matches 'smol'", str(hearth.home / "models"))
    done = hearth("ls")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"No models yet" in done.stderr


def test_a_model_in_the_data_folder_is_found_by_part_of_its_name(hearth, model_copy):
    model_copy(at=hearth.home / "models/SmolTest-135M")
    [row] = listed(hearth)
    assert row["id"] == "SmolTest-135M"
    assert row["supported"] and row["type"] == "chat" and "chat" in row["capabilities"]
    assert 100e6 < row["parameters"] < 200e6
    assert row["size_bytes"] > 10e6
    done = hearth("generate", "smoltest", "Say ok", "--max-tokens", "3")
    assert done.returncode == 0, done.stderr
    done = hearth("generate", "--prompt", "Say ok", "--max-tokens", "3")  # picked
    assert done.returncode == 0, done.stderr


def test_a_hub_snapshot_goes_by_its_repository(hearth, model_copy):
    repository = hearth.hub / "models--org--tiny"
    model_copy(at=repository / "snapshots/0123abc")
    config_only(repository / "snapshots/fffffff")
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text("0123abc")
    [row] = listed(hearth)
    assert (row["id"], row["revision"], row["canonical"]) == ("org/tiny", "0123abc", True)
    both = listed(hearth, "--all-revisions", "--all")
    assert [row["canonical"] for row in both] == [True, False]
    assert "* org/tiny@0123abc" in hearth("ls", "--all-revisions").stdout.decode()


def test_several_matches_are_listed_and_none_is_guessed(hearth, model_copy):
    model_copy(at=hearth.home / "models/tiny-one")
    model_copy(at=hearth.home / "models/tiny-two")
    failed(hearth("generate", "tiny", "x"), "matches 2 models", "tiny-one", "tiny-two")
    failed(hearth("generate", "tiny-tree", "x"), "did you mean tiny-")


def test_scan_adds_a_folder_for_good(hearth, model_copy, tmp_path):
    model_copy(at=tmp_path / "elsewhere/mine")
    done = hearth("scan", "--dir", tmp_path / "elsewhere")
    assert done.stdout == b"1 model indexed\n"
    assert [row["id"] for row in listed(hearth)] == ["mine"]
    failed(hearth("scan", "--dir", tmp_path / "nowhere"), "nowhere", "folder of models")
    (tmp_path / "file").write_text("x")
    failed(hearth("scan", "--dir", tmp_path / "file"), str(tmp_path / "file"))
    report = json.loads(hearth("scan", "--json").stdout)
    assert (report["models"], report["broken"]) == (1, [])


def test_an_index_that_is_broken_is_rebuilt(hearth, model_copy):
    model_copy(at=hearth.home / "models/mine")
    cache = hearth.home / "cache"
    cache.mkdir(parents=True)
    (cache / "registry.sqlite").write_bytes(b"no database" * 500)
    assert [row["id"] for row in listed(hearth)] == ["mine"]
    assert (cache / "registry.sqlite.broken").exists()


def test_a_path_that_is_no_model_says_what_was_expected(hearth, tmp_path):
    failed(hearth("generate", "--model", tmp_path / "none", "x"), str(tmp_path / "none"), "no such folder")
    failed(hearth("generate", "--model", tmp_path, "x"), "no config.json", "tokenizer.json")
    (tmp_path / "file").write_text("x")
    failed(hearth("generate", "--model", tmp_path / "file", "x"), "expected a model folder")


def test_an_unknown_model_type_lists_the_known_ones(hearth, model, model_copy):
    folder = model_copy("config.json")
    config = json.loads((pathlib.Path(model) / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "martian"}))
    failed(hearth("generate", "--model", folder, "x"), "martian", "llama", "qwen3")
    (folder / "model.safetensors").unlink()
    failed(hearth("generate", "--model", folder, "x"), "martian", "llama", "qwen3")


def test_missing_weights_are_named(hearth, model_copy):
    folder = model_copy("model.safetensors", "model.safetensors.index.json")
    failed(hearth("generate", "--model", folder, "x"), str(folder), "safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "model-00002-of-00003.safetensors"}}))
    failed(hearth("generate", "--model", folder, "x"), "model-00002-of-00003.safetensors")


def test_truncated_weights_are_named_and_not_listed_as_ready(hearth, model, model_copy):
    folder = model_copy("model.safetensors", at=hearth.home / "models/cut")
    whole = (pathlib.Path(model) / "model.safetensors").read_bytes()
    for size in (len(whole) // 2, 100, 0):
        (folder / "model.safetensors").write_bytes(whole[:size])
        failed(hearth("generate", "--model", folder, "x"), "model.safetensors", "incomplete")
        assert listed(hearth) == []
        [row] = listed(hearth, "--all")
        assert "incomplete" in row["error"]
        failed(hearth("generate", "cut", "x"), "incomplete")
    (folder / "model.safetensors").write_bytes(whole)
    (folder / "model.safetensors.part").write_bytes(b"left over")
    assert len(listed(hearth)) == 1


def test_a_wrong_shape_names_the_tensor_and_both_shapes(hearth, model, model_copy):
    folder = model_copy("model.safetensors")
    data = (pathlib.Path(model) / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    name = "model.layers.3.post_attention_layernorm.weight"
    [width] = header[name]["shape"]
    header[name]["shape"] = [width // 2, 2]
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length:])
    failed(hearth("generate", "--model", folder, "x"), name, f"[{width // 2}, 2]", str(width))


def test_a_missing_tokenizer_is_named(hearth, model_copy):
    folder = model_copy("tokenizer.json")
    failed(hearth("generate", "--model", folder, "x"), "tokenizer.json")


def test_without_a_template_only_raw_text_goes_on(hearth, model, model_copy):
    folder = model_copy("chat_template.jinja", "tokenizer_config.json")
    config = json.loads((pathlib.Path(model) / "tokenizer_config.json").read_text())
    config.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    failed(hearth("generate", "--model", folder, "x"), "no chat template", "--raw")
    failed(hearth("chat", "--model", folder, input=b"x\n"), "no chat template")
    failed(hearth("serve", "--model", folder, "--port", "0"), "no chat template", "--chat-template")
    done = hearth("generate", "--raw", "--model", folder, "The capital of France is", "--max-tokens", "8")
    assert done.returncode == 0 and b"Paris" in done.stdout, done.stderr


def test_a_template_that_raises_is_quoted(hearth, model_copy):
    folder = model_copy("chat_template.jinja")
    (folder / "chat_template.jinja").write_text("{{ raise_exception('only poets may ask') }}")
    failed(hearth("generate", "--model", folder, "x"), "only poets may ask")


def test_a_prompt_beyond_the_context_tells_both_numbers(hearth, model):
    context = json.loads((pathlib.Path(model) / "config.json").read_text())["max_position_embeddings"]
    done = hearth("generate", "--model", model, input=b"word " * (40 * 1024))
    failed(done, str(context), "tokens")


def test_an_absent_device_is_an_error(hearth, model):
    failed(hearth("generate", "--model", model, "--device", "cuda:99", "x"), "cuda")


def test_a_folder_that_cannot_be_read_is_named(hearth, tmp_path):
    # A socket in place of the file: opening it fails for everybody, root too.
    folder = tmp_path / "m"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(folder / "config.json"))
        failed(hearth("generate", "--model", folder, "x"), str(folder / "config.json"))
