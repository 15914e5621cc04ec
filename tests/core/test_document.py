from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import samples

from shorthaul.core.document import (
    convert,
    expect_kind,
    json_text,
    load_json,
    parse_json,
    read_bytes,
    save_json,
    write_text,
)
from shorthaul.core.errors import InputError
from shorthaul.core.files.outputs import expect_writable, promise_output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ('{"a": 1,}', "line 1 column"),
        ('{\n"a" 1}', "line 2 column 5"),
        ("[NaN]", "line 1 column 2: a number must be finite"),
        ('{"NaN": "NaN",\n  "\\"NaN": [-Infinity]}', "line 2 column 13: a number must be finite"),
        ('["-1e999",\n-1e999]', "line 2 column 1: a number must be finite"),
        ('{"a": {"b": 1},\n"c": 1e999-d}, {}}, {}}', "line 2 column 6: a number must be finite"),
        ('{"a": 1, "a": 2}', "line 1 column 10: a key is given twice"),
        ('{"a": 1,\n"a": 2,\n"b": NaN}', "line 3 column 6: a number must be finite"),
        ('{"a": 1,\n"a": {"c": 2,\n"c": 3}}', "line 3 column 1: a key is given twice"),
        ('{"a": {"b": 1},\n "c": [{"b": "b"}, {"b": "a"}],\n "\\u0061": 2}', "line 3 column 2: a key is given twice"),
        ('{"\\ud83d\\ude00": ["\\u0041",\n "a\\uDC00"]}', "line 2 column 2: holds half a character"),
        ('{"a": 1,\n "\\ud800": 2}', "line 2 column 2: holds half a character"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "9" * 10_000 + "]", "line 1 column 2: has an integer of hundreds of digits"),
        ('["\\ud83d\\ude00", ' + "9" * 10_000 + "]", "line 1 column 18: has an integer of hundreds of digits"),
        ('["9",\n -' + "9" * 309 + "]", "line 2 column 2: has an integer of hundreds of digits"),
    ],
)
def test_wrong_json_is_explained(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(text, file="x.json")
    assert says in str(caught.value)
    assert caught.value.file == "x.json"


def test_unreadable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_json(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a directory"):
        load_json(tmp_path)
    tmp_path.joinpath("latin.json").write_bytes(b'"\xe9"')
    with pytest.raises(InputError, match="is not UTF-8") as caught:
        load_json(tmp_path / "latin.json")
    assert caught.value.place == "offset 1"
    tmp_path.joinpath("big").write_bytes(b"12345")
    monkeypatch.setattr("shorthaul.core.document.LARGEST_FILE", 4)
    with pytest.raises(InputError, match="too large"):
        read_bytes(tmp_path / "big")
    with pytest.raises(InputError, match="cannot be a file name"):
        read_bytes("a\0b")


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    tmp_path.joinpath("bom.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert load_json(tmp_path / "bom.json") == [1]


def test_writing_is_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    with pytest.raises(TypeError):
        save_json(target, {"a": object()})
    assert target.read_text() == "old"
    save_json(target, {"a": np.int64(3), "b": np.array([1.5])})
    assert load_json(target) == {"a": 3, "b": [1.5]}
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    with pytest.raises(InputError, match="its folder does not exist"):
        write_text(tmp_path / "no" / "out", "x")
    with pytest.raises(InputError, match="is a directory"):
        write_text(tmp_path, "x")
    for name in ("a\0b", "\ud800", "x" * 300):
        with pytest.raises(InputError, match="is no name of a file"):
            write_text(tmp_path / name, "x")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no such file system")
def test_files_without_an_end_are_as_long_as_they_say() -> None:
    assert read_bytes("/proc/self/status") == b""  # as /proc/kmsg, which waits for what comes


def test_links_in_a_circle_and_pipes_without_a_reader(tmp_path: Path) -> None:
    circle, pipe = tmp_path / "circle", tmp_path / "pipe"
    circle.symlink_to("circle")
    for use in (lambda: promise_output(circle), lambda: write_text(circle, "x"), lambda: load_json(circle)):
        with pytest.raises(InputError, match="Too many levels"):
            use()
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="cannot be written"):
        write_text(pipe, "x")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "x" * 1000)
    assert os.read(reader, 2000) == b"x" * 1000
    os.close(reader)


def test_documents_have_a_kind_and_a_version() -> None:
    assert expect_kind({"kind": "k", "version": 1}, "k")["version"] == 1
    for document, says in (
        ([], "not a JSON object"),
        ({"kind": "j", "version": 1}, "another kind"),
        ({"version": 1}, "another kind"),
        ({"kind": "k"}, "unknown version"),
        ({"kind": "k", "version": True}, "unknown version"),
        ({"kind": "k", "version": 1.0}, "unknown version"),
        ({"kind": "k", "version": 2}, "use a newer shorthaul"),
    ):
        with pytest.raises(InputError) as caught:
            expect_kind(document, "k")
        assert says in str(caught.value)


@dataclass
class Inner:
    weight: int


@dataclass
class Outer:
    nodes: list[Inner]


def test_conversion_names_the_place() -> None:
    assert convert({"nodes": [{"weight": 2}]}, Outer) == Outer([Inner(2)])
    with pytest.raises(InputError) as caught:
        convert({"nodes": [{"weight": 2}, {"weight": "3"}]}, Outer, file="g.json")
    assert caught.value.place == "nodes[1].weight"
    assert caught.value.value == "3"
    with pytest.raises(InputError, match="missing required field 'weight'"):
        convert({"nodes": [{}]}, Outer)


#: Of few characters: Hypothesis lists those of Unicode for a second before it draws from all.
texts = st.text('a"\\\0\n\x7f\x80\u2028é😀')
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=40,
)


@settings(max_examples=len(samples(100)))
@given(json_values)
def test_json_round_trip(value: object) -> None:
    assert parse_json(json_text(value)) == value


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files_are_unpacked(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, packed = tmp_path / "graph.json.gz", pack(b"{}" + bytes(1000))
    path.write_bytes(packed)
    assert read_bytes(path) == b"{}" + bytes(1000)
    for damaged in (packed[:-9], packed[:20] + b"x" + packed[21:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="is a damaged archive"):
            read_bytes(path)
    monkeypatch.setattr("shorthaul.core.document.LARGEST_FILE", 1000)
    path.write_bytes(packed)
    with pytest.raises(InputError, match="unpacks to too much"):
        read_bytes(path)


def test_suffixes_of_what_is_written(tmp_path: Path) -> None:
    for name in ("x.txt", "x.npy", "x.npz.gz"):
        with pytest.raises(InputError, match=r"another format(.|\n)*allowed: .json, .npz"):
            expect_writable(tmp_path / name, (".json", ".npz"))
    for good in (tmp_path / "x", tmp_path / "x.NPZ", Path("/dev/stdout")):
        expect_writable(good, (".json", ".npz"))
    for path, says in ((Path("/proc/x.npz"), "cannot be written"), (tmp_path, "is a directory")):
        with pytest.raises(InputError, match=says):
            expect_writable(path, (".npz",))
