"""One context of a user's kubeconfig, on its own."""

import base64

import pytest
import yaml

from providers.existing.kubeconfig import KubeconfigError, select

CONFIG = {
    "current-context": "production",
    "contexts": [
        {"name": "production", "context": {"cluster": "live", "user": "root"}},
        {"name": "staging", "context": {"cluster": "trial", "user": "dev", "namespace": "mine"}},
    ],
    "clusters": [
        {"name": "live", "cluster": {"server": "https://live"}},
        {"name": "trial", "cluster": {"server": "https://trial", "certificate-authority": "ca.crt"}},
    ],
    "users": [
        {"name": "root", "user": {"token": "root-token"}},
        {"name": "dev", "user": {"token": "dev-token"}},
    ],
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ca.crt").write_bytes(b"the certificate")
    return tmp_path


def changed_user(**user):
    return {**CONFIG, "users": [{"name": "dev", "user": user}]}


def selected(config, folder, context="staging"):
    return yaml.safe_load(select(yaml.safe_dump(config), context, folder))


def test_only_the_named_context_is_kept_whatever_the_current_one_is(folder):
    text = select(yaml.safe_dump(CONFIG), "staging", folder)
    assert yaml.safe_load(text)["current-context"] == "staging"
    assert "dev-token" in text
    assert "root-token" not in text
    assert "mine" not in text, "a fleet has a namespace of its own"


def test_files_are_embedded(folder):
    ((cluster),) = selected(CONFIG, folder)["clusters"]
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"the certificate"
    assert "certificate-authority" not in cluster["cluster"]


@pytest.mark.parametrize(
    ("command", "kept"),
    [("gke-gcloud-auth-plugin", "gke-gcloud-auth-plugin"), ("./bin/login", "{folder}/bin/login")],
)
def test_a_credential_plugin_is_kept_and_still_found(folder, command, kept):
    config = changed_user(exec={"command": command, "args": ["token"]})
    ((user),) = selected(config, folder)["users"]
    assert user["user"]["exec"] == {"command": kept.format(folder=folder), "args": ["token"]}


def test_a_token_that_is_renewed_stays_in_its_file(folder):
    ((user),) = selected(changed_user(tokenFile="token"), folder)["users"]
    assert user["user"] == {"tokenFile": str(folder / "token")}


@pytest.mark.parametrize(
    ("text", "context", "message"),
    [
        (yaml.safe_dump(CONFIG), "stagin", 'has no context "stagin"; it has: production, staging'),
        ("a: [", "staging", "is not YAML"),
        ("just text", "staging", "is no kubeconfig: its contexts are missing or not well-formed"),
        (
            "contexts: [{name: staging}]",
            "staging",
            "is no kubeconfig: its contexts are missing or not well-formed",
        ),
        (yaml.safe_dump({**CONFIG, "users": []}), "staging", 'has no user "dev"; it has: none'),
        (
            yaml.safe_dump({**CONFIG, "clusters": [{"name": "trial", "cluster": {}}]}),
            "staging",
            'its cluster "trial" has no server',
        ),
        (
            yaml.safe_dump(changed_user(**{"client-key": "gone.key"})),
            "staging",
            "names a file that can't be read: .*gone.key",
        ),
    ],
)
def test_what_is_wrong_with_it_is_said(folder, text, context, message):
    with pytest.raises(KubeconfigError, match=message):
        select(text, context, folder)


def test_no_message_quotes_a_credential(folder):
    with pytest.raises(KubeconfigError) as error:
        select("users: [{token: dev-token]", "staging", folder)
    assert "dev-token" not in str(error.value)
    assert error.value.__cause__ is None
