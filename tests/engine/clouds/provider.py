"""The provider of a simulated cloud, as the engine talks to it.

On what matters here it behaves as the real ones, which are Terraform providers behind Pulumi's bridge:

- A create that fails before the provider knows the id leaves nothing in Pulumi's state. One that fails later
  leaves the resource there with all that was asked for, marked as not initialised. The next `up` compares
  what is asked for with that, sees no difference, and calls an update without changes, which only reads:
  nothing is completed or awaited, and it succeeds. The `up` after that sees what was really there.
- So it is when an update fails: the state has what was asked for, and the next `up` succeeds without doing it
  (pulumi/pulumi#21458). With `--refresh` it does what is missing at once. That the empty update reads is the
  one thing here that is assumed, not known.
- Outputs are unknown in a preview where only the cloud can say them.
- A replacement is created first, unless the program fixed its name.
- A deleted resource that is gone already is deleted.
"""

# ruff: noqa: N802 (the service's methods, as the protocol names them)
import hashlib
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from google.protobuf import empty_pb2
from google.rpc import status_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2

from tests.engine.clouds import schema
from tests.engine.clouds.cloud import Cloud, CloudError, NoAnswer, Session
from tests.engine.clouds.resource import Inputs, Resource, Values
from tests.engine.clouds.wire import UNKNOWN, contains_unknown, from_struct, to_struct

METHODS = provider_pb2.DESCRIPTOR.services_by_name["ResourceProvider"].methods_by_name
DEFAULTS = "__defaults"  # which inputs are the provider's own, as the bridge notes it
OF_ENGINE = {"version", "pluginDownloadURL"}  # among a provider's inputs
PATIENCE_SECONDS = 3.0  # minutes, with the real ones
POLL_SECONDS = 0.01


class TimedOut(CloudError):  # noqa: N818 (as its base says, not all errors are called so)
    """The provider's patience is over, not the cloud's."""


class ProviderError(Exception):
    """An error for the engine. The status says that what was done is not known, as a plain error does."""

    def __init__(self, message: str, status: str = "UNKNOWN", details: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.details = details

    def answer(self) -> tuple[str, str, bytes]:
        if self.details is None:
            return self.status, str(self), b""
        status = status_pb2.Status(code=2, message=str(self))  # 2: UNKNOWN
        status.details.add().Pack(self.details)
        return self.status, str(self), status.SerializeToString()


class Provider(ABC):
    """One call of the engine; `config` is shared by all calls of a plugin process."""

    package: ClassVar[str]
    table: ClassVar[Mapping[str, type[Resource]]]
    own_inputs: ClassVar[frozenset[str]] = frozenset()
    """Inputs of all types that `completed` deals with."""

    def __init__(self, cloud: Cloud, session: Session, config: dict[str, Any]) -> None:
        self.cloud = cloud
        self.session = session
        self.config = config

    def handle(self, method: str, request: bytes) -> bytes:
        handler = getattr(self, method, None)
        if handler is None or method not in METHODS:
            raise ProviderError(f"the simulated provider has no {method}", "UNIMPLEMENTED")
        message = METHODS[method].input_type._concrete_class.FromString(request)
        try:
            return handler(message).SerializeToString()
        except (CloudError, NoAnswer) as error:
            raise ProviderError(str(error)) from error

    def wait(self, is_done: Callable[[], bool], what: str) -> None:
        """Ask again and again, as the real provider does for up to half an hour."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_done():
            if time.monotonic() > deadline:
                raise TimedOut("Timeout", f"timeout while waiting for {what}")
            time.sleep(POLL_SECONDS)

    # What a cloud's own provider adds.

    def completed(self, resource: Resource, inputs: Values) -> dict[str, Any]:
        """The inputs, with what the provider's configuration adds to each."""
        return dict(inputs)

    def shown(self, resource: Resource, inputs: Values, state: dict[str, Any]) -> dict[str, Any]:
        """The outputs, with what the provider's configuration adds to each."""
        return state

    @abstractmethod
    def invoke(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer a function of the SDK."""

    # The service, by the protocol's names.

    def Handshake(self, request: Any) -> Any:
        return provider_pb2.ProviderHandshakeResponse()

    def GetPluginInfo(self, request: Any) -> Any:
        return plugin_pb2.PluginInfo(version=self.cloud.sdk_version)

    def GetSchema(self, request: Any) -> Any:
        nothing = {"name": self.package, "version": self.cloud.sdk_version}
        return provider_pb2.GetSchemaResponse(schema=json.dumps(nothing))

    def Attach(self, request: Any) -> Any:
        return empty_pb2.Empty()

    def Cancel(self, request: Any) -> Any:
        return empty_pb2.Empty()

    def CheckConfig(self, request: Any) -> Any:
        given = from_struct(request.news)
        allowed = schema.inputs(f"{self.package}:index/provider:Provider")
        return self._checked(given, schema.failures(allowed, self._decoded(given)))

    def DiffConfig(self, request: Any) -> Any:
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        return _diff(sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key)), [])

    def Configure(self, request: Any) -> Any:
        self.config.update(self._decoded(from_struct(request.args)))
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    def Invoke(self, request: Any) -> Any:
        answer = self.invoke(request.tok, from_struct(request.args))
        return provider_pb2.InvokeResponse(**{"return": to_struct(answer)})

    def Check(self, request: Any) -> Any:
        resource, given = self._resource(request.urn), from_struct(request.news)
        if (name := resource.named) and name not in given:
            old = from_struct(request.olds)
            unique = hashlib.sha256(request.randomSeed).hexdigest()[:7]
            inherited = old.get(name) if name in old.get(DEFAULTS, []) else None
            given |= {name: inherited or f"{request.name}-{unique}", DEFAULTS: [name]}
        return self._checked(given, schema.failures(schema.inputs(resource.type), given))

    def Diff(self, request: Any) -> Any:
        resource, state = self._resource(request.urn), from_struct(request.olds)
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        changed = self._changes(resource, state, old, new)
        replaces = sorted(changed & resource.replaced_by)
        fixed = resource.named in new and resource.named not in {*replaces, *new.get(DEFAULTS, [])}
        return _diff(sorted(changed), replaces, deleted_first=fixed or resource.deleted_first)

    def Create(self, request: Any) -> Any:
        resource, inputs = self._resource(request.urn), from_struct(request.properties)
        completed = self.completed(resource, inputs)
        if request.preview:
            foreseen = _foreseen(resource, completed)
            return provider_pb2.CreateResponse(properties=to_struct(foreseen))
        given = Inputs(completed)
        id_ = ""
        try:
            for known in resource.create(given):
                id_ = known
                self._refuse_ignored(resource, given)
            state = self._read(resource, id_, inputs, completed)
        except (CloudError, NoAnswer) as error:
            if not id_:
                raise ProviderError(f"creating {resource.type}: {error}") from error
            raise _not_initialised(id_, inputs, completed, error) from error
        if state is None:
            raise ProviderError(f"creating {resource.type}: {id_} can't be found although it was created")
        _insist_on_promised(resource, state)
        self._insist_on_given(resource, state, inputs)
        return provider_pb2.CreateResponse(id=id_, properties=to_struct(state))

    def Read(self, request: Any) -> Any:
        resource, known = self._resource(request.urn), from_struct(request.properties)
        inputs = from_struct(request.inputs)
        state = self._read(resource, request.id, inputs, known)
        if state is None:
            return provider_pb2.ReadResponse()
        actual = {
            key: value if key == DEFAULTS else resource.as_given(key, value, state.get(key))
            for key, value in inputs.items()
        }
        return provider_pb2.ReadResponse(id=request.id, properties=to_struct(state), inputs=to_struct(actual))

    def Update(self, request: Any) -> Any:
        resource, state = self._resource(request.urn), from_struct(request.olds)
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        changed = self._changes(resource, state, old, new)
        completed = self.completed(resource, new)
        if request.preview:
            unknown = dict.fromkeys(resource.recomputed if changed else [], UNKNOWN)
            return provider_pb2.UpdateResponse(properties=to_struct({**state, **completed, **unknown}))
        try:
            if asked := changed - resource.local:
                resource.update(request.id, state, completed, asked)
            updated = self._read(resource, request.id, new, {**state, **completed})
        except (CloudError, NoAnswer) as error:
            raise _not_initialised(request.id, new, {**state, **completed}, error) from error
        if updated is None:
            raise ProviderError(f"updating {resource.type}: {request.id} does not exist")
        if changed:  # else it went unnoticed that an earlier command failed: see above
            self._insist_on_given(resource, updated, new)
        return provider_pb2.UpdateResponse(properties=to_struct(updated))

    def Delete(self, request: Any) -> Any:
        resource = self._resource(request.urn)
        try:
            resource.delete(request.id, from_struct(request.properties))
        except (CloudError, NoAnswer) as error:
            raise ProviderError(f"deleting {resource.type} {request.id}: {error}") from error
        return empty_pb2.Empty()

    def _resource(self, urn: str) -> Resource:
        type_ = urn.split("::")[2].rpartition("$")[2]
        if type_ not in self.table:
            raise ProviderError(f"the simulated cloud has no {type_}", "UNIMPLEMENTED")
        return self.table[type_](self)

    def _read(self, resource: Resource, id_: str, inputs: Values, known: Values) -> dict[str, Any] | None:
        if (state := resource.read(id_, known)) is None:
            return None
        if wrong := list(schema.failures(_optional(schema.outputs(resource.type)), state)):
            raise AssertionError(f"the table's {resource.type} has wrong outputs: {wrong}")
        return self.shown(resource, inputs, {**_without_notes(known), **state})

    def _changes(self, resource: Resource, state: Values, old: Values, new: Values) -> set[str]:
        """Which inputs differ from the outputs: the real providers, too, compare with those."""
        changed = {
            key
            for key, value in _without_notes(self.completed(resource, new)).items()
            if contains_unknown(value) or resource.as_given(key, value, state.get(key)) != value
        }
        # What is no longer given stays as it is where the cloud has a value of its own for it.
        computed = {key for key, field in schema.outputs(resource.type).items() if field.required}
        return changed | (old.keys() - new.keys() - computed - {DEFAULTS})

    def _refuse_ignored(self, resource: Resource, given: Inputs) -> None:
        if ignored := given.unseen() - resource.local - self.own_inputs:
            what = ", ".join(sorted(ignored))
            raise AssertionError(f"the table's {resource.type} makes nothing of {what}")

    def _insist_on_given(self, resource: Resource, state: Values, inputs: Values) -> None:
        if other := self._changes(resource, state, {}, inputs):
            what = ", ".join(sorted(other))
            raise AssertionError(f"the table's {resource.type} was given {what}, and the cloud has another")

    def _decoded(self, config: dict[str, Any]) -> dict[str, Any]:
        """A provider's inputs, of which all but texts arrive as JSON."""
        declared = schema.inputs(f"{self.package}:index/provider:Provider")
        return {
            key: value if key not in declared or declared[key].type is str else _from_json(value)
            for key, value in config.items()
            if key not in OF_ENGINE
        }

    def _checked(self, given: dict[str, Any], failures: Iterator[schema.Failure]) -> Any:
        found = [provider_pb2.CheckFailure(property=each.path, reason=each.reason) for each in failures]
        return provider_pb2.CheckResponse(inputs=to_struct(given), failures=found)


def _diff(changed: list[str], replaces: list[str], *, deleted_first: bool = False) -> Any:
    kinds = provider_pb2.DiffResponse
    return kinds(
        changes=kinds.DIFF_SOME if changed else kinds.DIFF_NONE,
        diffs=changed,
        replaces=replaces,
        deleteBeforeReplace=bool(replaces) and deleted_first,
    )


def _foreseen(resource: Resource, completed: Values) -> dict[str, Any]:
    """What a preview knows of the outputs: the inputs, and that the cloud adds what only it can say."""
    foreseen = _without_notes(completed)
    declared = schema.outputs(resource.type)
    inputs = schema.inputs(resource.type)
    for name, field in declared.items():
        if name not in foreseen and (field.required or name not in inputs):
            foreseen[name] = UNKNOWN
    for path in resource.computed:
        name, nested = path.split(".")
        if isinstance(foreseen.get(name), dict):
            foreseen[name] = {nested: UNKNOWN, **foreseen[name]}
    return foreseen


def _not_initialised(id_: str, inputs: Values, outputs: Values, error: Exception) -> ProviderError:
    details = provider_pb2.ErrorResourceInitFailed(
        id=id_,
        inputs=to_struct(dict(inputs)),
        properties=to_struct(_without_notes(outputs)),
        reasons=[str(error)],
    )
    return ProviderError(str(error), details=details)


def _insist_on_promised(resource: Resource, state: Values) -> None:
    given = schema.inputs(resource.type)
    promised = {
        name
        for name, field in schema.outputs(resource.type).items()
        if field.required and name not in given and name not in resource.without
    }
    if missing := promised - state.keys():
        raise AssertionError(f"the table's {resource.type} lacks the outputs {sorted(missing)}")


def _optional(fields: Mapping[str, schema.Field]) -> dict[str, schema.Field]:
    return {name: schema.Field(field.type, required=False) for name, field in fields.items()}


def _without_notes(values: Values) -> dict[str, Any]:
    return {key: value for key, value in values.items() if not key.startswith("__")}


def _from_json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value != UNKNOWN else value
