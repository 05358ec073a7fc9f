"""The documentation says what is so."""

import ast
import re
from pathlib import Path
from typing import get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel

from config import StackConfig
from docs import generate
from toolchain.layout import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS = ("cli", "components", "config", "live", "plugin", "providers", "toolchain")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=name)


def test_the_configuration_page_is_what_the_generator_writes():
    assert generate.PAGE.read_text() == generate.page(), "run `make docs`"


def test_the_cluster_role_is_what_the_generator_writes():
    assert generate.CLUSTER_ROLE.read_text() == generate.cluster_role(), "run `make docs`"


def test_the_example_sets_every_key_there_is():
    examples = generate.read_examples()
    for _, model, place in generate.SECTIONS:
        parts = [generate.at(each, place) for each in generate.those_of(model, place, examples)]
        entries = [entry for part in parts for entry in (part if isinstance(part, list) else [part])]
        assert set().union(*entries) == set(model.model_fields), place


def test_every_model_has_a_section():
    def within(annotation):
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
            for field in annotation.model_fields.values():
                yield from within(field.annotation)
        for argument in get_args(annotation):
            yield from within(argument)

    sections = [model for _, model, _ in generate.SECTIONS]
    assert len(sections) == len(set(sections))
    assert set(sections) == set(within(StackConfig))


def test_the_example_is_a_stack_file_whose_secrets_are_encrypted():
    written = yaml.safe_load(generate.EXAMPLE.read_text())["config"]
    assert all(list(secret) == ["secure"] for secret in written["envfleet:secrets"].values())
    assert "hunter2" not in generate.PAGE.read_text()


def test_a_constraint_in_the_page_is_the_answer_of_the_check():
    row = next(line for line in generate.PAGE.read_text().splitlines() if line.startswith("| `host_port`"))
    assert "Write a whole number from 1 to 65535." in row


@every_page
def test_make_targets_that_are_mentioned_exist(page):
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text()
    code = " ".join(re.findall(r"^```.*?^```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL))
    mentioned = set(re.findall(r"\bmake (?:-s )?([a-z0-9-]+)", code))
    assert mentioned <= targets


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_relative_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", page.read_text())
    for target in filter(None, (inline or source for inline, source in targets)):
        assert "://" not in target, f"{target}: pages link to nothing outside the repository"
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_every_page_is_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
        waiting += [(page.parent / link).resolve() for link in links]
    assert reached == set(PAGES)


def test_the_project_declares_the_keys_and_types_of_the_models():
    declared = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
    kinds = {key: schema["type"] for key, schema in declared.items() if not key.startswith("pulumi:")}
    words = {str: "string", list: "array"}
    assert kinds == {
        key: words.get(get_origin(field.annotation) or field.annotation, "object")
        for key, field in StackConfig.model_fields.items()
    }


def test_the_project_declares_the_defaults_of_the_models():
    declared = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
    for key, field in StackConfig.model_fields.items():
        default = None if field.is_required() else field.default
        written = default.model_dump(exclude_defaults=True) if isinstance(default, BaseModel) else default
        assert declared[key].get("default") == written, key


def messages() -> list[str]:
    """Every string in the code, with nothing in the place of its `{…}`."""
    files = [file for folder in PROGRAMS for file in (ROOT / folder).rglob("*.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    templates = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
    plain = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return plain + [
        "".join(str(part.value) for part in parts if isinstance(part, ast.Constant)) for parts in templates
    ]


def test_the_messages_in_troubleshooting_are_those_of_the_code():
    known = messages()
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    blocks = re.findall(r"^```text\n(.*\n)```$", page, re.MULTILINE)
    assert len(blocks) > 10
    for quoted in blocks:
        # Its fixed parts stand in this order in one message; a message within another is its end.
        parts = quoted.strip().removeprefix("error: ").split("…")
        fixed = re.compile(".*".join(map(re.escape, parts)))
        assert any(fixed.search(message) for message in known), quoted
