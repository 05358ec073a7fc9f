"""The HTTP API."""

import logging
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from kr8s.asyncio.objects import Pod, Service
from pydantic import BaseModel

from envfleet_server.environments import Environment, list_environments
from envfleet_server.kubernetes import Kubernetes, KubernetesError
from envfleet_server.reachability import Reachability, check_environments

logger = logging.getLogger(__name__)


class Status(BaseModel):
    """The answer of a probe that succeeds."""

    status: Literal["ok"] = "ok"


class Problem(BaseModel):
    """The answer of a request that failed."""

    detail: str


UNAVAILABLE: dict[int | str, dict[str, Any]] = {
    503: {"model": Problem, "description": "The Kubernetes API refused or did not answer: see the detail"}
}


def create_app(kubernetes: Kubernetes) -> FastAPI:
    """The API over the environments of one namespace."""
    app = FastAPI(title="envfleet server", version="0.1.0")

    @app.exception_handler(KubernetesError)
    async def unavailable(request: Request, error: KubernetesError) -> JSONResponse:
        logger.warning("%s: %s", request.url.path, error)
        return JSONResponse({"detail": str(error)}, status_code=503)

    @app.get("/healthz", tags=["probes"])
    async def healthz() -> Status:
        """The event loop answers. Kubernetes is left out: a restart would not mend it."""
        return Status()

    @app.get("/readyz", tags=["probes"], responses=UNAVAILABLE)
    async def readyz() -> Status:
        """The server can do its work: list the pods and services of its namespace."""
        await kubernetes.check(Pod)
        await kubernetes.check(Service)
        return Status()

    @app.get("/v1/environments", tags=["environments"], responses=UNAVAILABLE)
    async def environments() -> list[Environment]:
        """All environments of the fleet, by name, with what keeps each from being ready."""
        return await list_environments(kubernetes)

    @app.get("/v1/reachability", tags=["environments"], responses=UNAVAILABLE)
    async def reachability() -> list[Reachability]:
        """Ask every environment for its health through its Service, now, and say what it answered."""
        return await check_environments(kubernetes)

    return app
