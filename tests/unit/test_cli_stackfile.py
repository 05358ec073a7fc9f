"""A stack's file is read as Pulumi reads it, and what Pulumi could not read is one clear message."""

import re

import pytest

from cli import stackfile
from toolchain.progress import StepError

MAPPING = "write a mapping, each line a key: value"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "Pulumi.dev.yaml"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", {}),
        ("config:\n", {}),
        ("encryptionsalt: v1:abc=\n", {}),
        ("config:\n  envfleet:namespace: a\n  aws:region: b\n", {"namespace": "a"}),
        ("config:\n  namespace: a\n", {"namespace": "a"}),
        (
            "config:\n  server: {1: a, yes: b, 2020-01-01: c}\n",
            {"server": {"1": "a", "yes": "b", "2020-01-01": "c"}},
        ),
        ("x: &all {namespace: a}\nconfig:\n  <<: *all\n", {"namespace": "a"}),
    ],
)
def test_the_projects_keys_are_read_as_text_with_or_without_its_name(file, text, keys):
    file.write_text(text)
    assert stackfile.read(file) == keys


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        (
            "config:\n\tnamespace: a\n",
            r'Pulumi.dev.yaml, line 2 = "\tnamespace: a": found character',
            stackfile.REMEDY,
        ),
        (
            "config:\n  a: {{ b }}\n",
            'Pulumi.dev.yaml, line 2 = "  a: {{ b }}": found unhashable',
            stackfile.REMEDY,
        ),
        (
            "config:\n  a: 2020-13-45\n",
            'Pulumi.dev.yaml, line 2 = "  a: 2020-13-45": month',
            stackfile.REMEDY,
        ),
        ("config: {\n", 'Pulumi.dev.yaml, line 2 = "": expected', stackfile.REMEDY),
        ("config:\n  - a\n", "Pulumi.dev.yaml: config = […]: ", MAPPING),
        ("config: a\n", 'Pulumi.dev.yaml: config = "a": ', MAPPING),
        ("a\n", 'Pulumi.dev.yaml = "a": ', MAPPING),
        ("config:\n  a: \x01\n", "Pulumi.dev.yaml is not text: ", "Save it as UTF-8"),
        (b"config:\n  a: \xe9\n", "Pulumi.dev.yaml is not text: ", "Save it as UTF-8"),
    ],
)
def test_what_pulumi_cannot_read_is_one_line_with_place_value_and_remedy(file, text, start, end):
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StepError, match=rf"^{re.escape(start)}.*{re.escape(end)}$") as caught:
        stackfile.read(file)
    assert len(str(caught.value).splitlines()) == 1
