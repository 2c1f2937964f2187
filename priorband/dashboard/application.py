"""The web application: Starlette around the routes, behind the gate."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from priorband.dashboard.access import Access
from priorband.dashboard.answers import Question, Reply, error_reply
from priorband.dashboard.gate import Application, Gate
from priorband.dashboard.routes import Route, Routes
from priorband.dashboard.static_files import StaticFiles
from priorband.dashboard.studies import Studies
from priorband.dashboard.updates import study_updates
from priorband.errors import ExtraError, PriorbandError, StorageError, TrialError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def require_extra() -> None:
    """Raise `ExtraError` unless the packages of the dashboard are installed."""
    try:
        import starlette
        import uvicorn
    except ImportError:
        raise ExtraError(
            "The dashboard needs Starlette and uvicorn: pip install 'priorband[dashboard]'."
        ) from None
    del starlette, uvicorn


def application(
    studies: Studies, access: Access, closing: Callable[[], bool] = lambda: False
) -> Application:
    """The dashboard over some studies, as an ASGI application.

    Args:
        studies: the studies that it shows.
        access: what a request must have to be answered.
        closing: whether the server is about to end, so that open streams end too.

    Raises:
        ExtraError: if Starlette is not installed.
    """
    require_extra()
    from starlette.applications import Starlette
    from starlette.responses import StreamingResponse
    from starlette.routing import Route as Path

    routes, files = Routes(studies, access), StaticFiles()

    def page(question: Question) -> Reply:
        name = question.path.get("name", "index.html")
        return files.get(name) or error_reply("There is no such file.", 404)

    async def events(request: "Request") -> "Response":
        updates = study_updates(studies, request.query_params.get("study"), closing)
        return StreamingResponse(updates, media_type="text/event-stream")

    paths = [Path("/", _endpoint(page)), Path("/static/{name:path}", _endpoint(page))]
    paths += [Path("/api/events", events)]
    paths += [Path(path, _endpoint(route)) for path, route in routes.reading().items()]
    paths += [
        Path(path, _endpoint(route), methods=["POST"]) for path, route in routes.changing().items()
    ]
    return Gate(Starlette(routes=paths), access)


def _endpoint(route: Route) -> Callable[["Request"], Any]:
    """An endpoint that runs a route in a thread, so that others are answered meanwhile."""
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import Response

    async def endpoint(request: "Request") -> Response:
        body = await _body(request)
        path = {name: str(value) for name, value in request.path_params.items()}
        question = Question(path, dict(request.query_params), body)
        reply = await run_in_threadpool(_answered, route, question)
        return Response(reply.body, reply.status, media_type=reply.media_type)

    return endpoint


async def _body(request: "Request") -> Any:
    if request.method in ("GET", "HEAD"):
        return None
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError):
        return None


def _answered(route: Route, question: Question) -> Reply:
    try:
        return route(question)
    except TrialError as error:
        return error_reply(str(error), 404)
    except (StorageError, OSError) as error:
        return error_reply(str(error), 503)
    except PriorbandError as error:
        return error_reply(str(error), 409)
