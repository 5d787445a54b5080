"""Whatever stands still, is cut off or has a wrong clock: no answer that is accepted is older than the bound.

A hub, processes beside services, callers, and a line between hub and processes that can be cut, all real.
Rights change all the time; each accepted answer is compared with what was true in the bound before it came.
"""

import asyncio
import os
import random
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.authn.signing_keys import new_pair
from service.features.decisions.client.asking import AsyncPortcullis, since_boot
from service.features.decisions.client.entities import Question, Resource, Subject
from tests.support.running import Running, command, environment, running
from tests.support.set_clock import SetClock
from tests.support.waiting import eventually_here

BOUND = 2.0
USERS = 6


class Line:
    """A line to the hub: it can be cut (nothing arrives, nothing is told), slowed down, and mended.

    ``port`` is that of the hub.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.cut = self.slow = False
        self._carrying: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        async with server:
            yield server.sockets[0].getsockname()[1]
            server.close()
            for task in self._carrying:
                task.cancel()
            await asyncio.gather(*self._carrying, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        writers = [writer]
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port)
            writers.append(far_writer)
            await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))
        except (OSError, asyncio.CancelledError):
            pass  # one side has gone, or the test is over
        finally:
            for each in writers:
                each.close()
                with suppress(OSError):
                    await each.wait_closed()
            self._carrying.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while part := await reader.read(65_536):
                while self.cut:  # noqa: ASYNC110 - as a test sets it
                    await asyncio.sleep(0.05)
                for start in range(0, len(part), 200 if self.slow else len(part)):
                    if self.slow:
                        await asyncio.sleep(0.1)
                    writer.write(part[start : start + (200 if self.slow else len(part))])
                    await writer.drain()
        writer.close()


@dataclass
class Truth:
    """What users may do, by changes that began and were answered at these times since boot."""

    changes: dict[str, list[tuple[float, float, bool]]] = field(default_factory=dict)

    def could_be(self, user: str, allowed: bool, asked: float, accepted: float) -> bool:
        """Whether ``allowed`` was, or may have been, true at a time in the bound before ``accepted``."""
        changes = self.changes[user]
        since = accepted - BOUND
        for place, (began, _, state) in enumerate(changes):
            # It stands from its beginning on, until a later change is answered.
            ends = min((answered for _, answered, _ in changes[place + 1 :]), default=float("inf"))
            if state is allowed and began <= accepted and ends >= since:
                return True
        return asked > accepted


class Site:
    """A hub with users whose rights change, and what is asked beside its services."""

    def __init__(self, hub: Running, folder: Path, line: Line, port: int) -> None:
        self.hub, self.folder, self.line, self.port = hub, folder, line, port
        self.truth = Truth()
        self.accepted = self.dropped = self.denied_stale = 0
        self.wrong: list[str] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self.places: list[str] = []
        self.role = 0
        self.ids: dict[str, int] = {}
        self.key = ""
        self.bound = BOUND
        self.pause = 0.002  # seconds between two calls of one caller
        self.variables: Mapping[str, str] = {}

    async def prepare(self, http: httpx.AsyncClient) -> None:
        answer = await http.post("/api/auth/login", json={"userName": "admin", "password": self.hub.password})
        http.headers["Authorization"] = f"Bearer {answer.json()['data']['accessToken']}"

        async def made(path: str, body: Any) -> int:
            answer = await http.post(path, json=body)
            assert answer.status_code == 201, answer.text
            return int(answer.json()["data"]["id"])

        await made("/api/service", {"name": "orders"})
        button = await made(
            "/api/menu", {"menuType": "Button", "title": "read", "authMark": "orders:order:read"}
        )
        resource = {"resourceName": "read", "resourceCode": "read", "method": "GET", "path": "/orders/{id}"}
        resource_id = await made("/api/resource", resource | {"service": "orders"})
        await http.put(f"/api/resource/{resource_id}/buttons", json={"menuIds": [button]})
        listed = await http.get("/api/menu/list", params={"authMark": "system:policy:follow"})
        follow = listed.json()["data"]["items"][0]["id"]
        self.role = await made("/api/role", {"roleName": "reader", "roleCode": "reader"})
        await http.put(f"/api/role/{self.role}/permissions", json={"menuIds": [button]})
        follower = await made("/api/role", {"roleName": "follower", "roleCode": "follower"})
        await http.put(f"/api/role/{follower}/permissions", json={"menuIds": [follow]})
        account = {"userName": "pdp", "nickName": "pdp", "kind": "service", "service": "orders"}
        account_id = await made("/api/user", account | {"roleIds": [follower]})
        self.key = (await http.post(f"/api/user/{account_id}/keys", json={"name": "k"})).json()["data"]["key"]
        for number in range(USERS):
            name = f"user-{number}"
            body = {"userName": name, "nickName": name, "password": "correct horse battery 7", "roleIds": []}
            began = since_boot()
            self.ids[name] = await made("/api/user", body)
            self.truth.changes[name] = [(began, since_boot(), False)]

    def start(self, number: int, **variables: str) -> None:
        """Start a process beside a service."""
        key, place = self.folder / "key", self.folder / f"pdp-{number}.sock"
        if not key.exists():
            key.write_text(self.key)
            key.chmod(0o600)
        words = command(
            "pdp", "--hub", f"http://127.0.0.1:{self.port}", "--key-file", str(key), "--services", "orders",
            "--listen", str(place), "--name", f"pdp-{number}", "--bound", str(self.bound),
            "--file", str(self.folder / f"pdp-{number}.state"),
        )  # fmt: skip
        made = environment(self.folder, **variables)
        with (self.folder / f"pdp-{number}.log").open("ab") as log:
            self.processes.append(subprocess.Popen(words, env=made, stdout=log, stderr=log, cwd=self.folder))
        self.places.append(str(place))

    async def change(self, http: httpx.AsyncClient, pauses: random.Random) -> None:
        """Give and take the role, for ever."""
        while True:
            name = pauses.choice(list(self.ids))
            changes = self.truth.changes[name]
            state = not changes[-1][2]
            began = since_boot()
            # Before it is answered it may be true already, and may be for ever if no answer comes.
            changes.append((began, float("inf"), state))
            with suppress(httpx.HTTPError):
                body = {"roleIds": [self.role] if state else []}
                answer = await http.patch(f"/api/user/{self.ids[name]}", json=body, timeout=30)
                if answer.status_code == 200:
                    changes[-1] = (began, since_boot(), state)
                    await asyncio.sleep(pauses.random() * 0.4)
                    continue
            # It may have been done or not: say so of both, and find out.
            changes.append((began, float("inf"), not state))
            await asyncio.sleep(0.5)
            with suppress(httpx.HTTPError):
                answer = await http.patch(f"/api/user/{self.ids[name]}", json={"roleIds": []}, timeout=30)
                if answer.status_code == 200:
                    changes.append((began, since_boot(), False))

    async def ask(self, place: str, seed: int, until: Callable[[], bool]) -> None:
        """Ask about users as a service does; look at each accepted answer."""
        chance = random.Random(seed)
        async with AsyncPortcullis.beside(place, service="orders", bound=self.bound) as portcullis:
            while not until():
                names = chance.choices(list(self.ids), k=10)
                questions = [
                    Question(Subject.user(name), "GET", Resource.route("/orders/7")) for name in names
                ]
                asked = since_boot()
                answers = await portcullis.evaluations(questions)
                accepted = since_boot()
                for name, answer in zip(names, answers, strict=True):
                    if answer.reason == "unavailable":
                        self.dropped += 1
                    elif answer.reason == "stale":
                        self.denied_stale += 1
                    else:
                        self.accepted += 1
                        if not self.truth.could_be(name, answer.allowed, asked, accepted):
                            self.wrong.append(
                                f"{name} {answer} at {accepted}: {self.truth.changes[name][-4:]}"
                            )
                await asyncio.sleep(self.pause)


@contextmanager
def stopped(*processes: int) -> Iterator[None]:
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@asynccontextmanager
async def site(
    folder: Path,
    processes: int,
    bound: float = BOUND,
    variables: Mapping[str, str] = {},
    of_hub: Mapping[str, str] = {},
) -> AsyncIterator[Site]:
    """Yield a hub and processes beside services; ``variables`` are those of the first process."""
    pair = new_pair("ES256")
    for name, pem in (("private", pair.private), ("public", pair.public)):
        (folder / name).write_bytes(pem)
        (folder / name).chmod(0o600)
    keys = {
        "PORTCULLIS_AUTH__JWT_ALGORITHM": "ES256",
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(folder / "private"),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(folder / "public"),
    }
    keys |= of_hub
    async with AsyncExitStack() as stack:
        hub = stack.enter_context(running(folder, "--workers", "2", **keys))
        line = Line(hub.port)
        port = await stack.enter_async_context(line.open())
        http = httpx.AsyncClient(base_url=hub.url, timeout=60, trust_env=False)
        await stack.enter_async_context(http)
        made = Site(hub, folder, line, port)
        made.bound, made.variables = bound, keys
        await made.prepare(http)

        def end() -> None:
            for process in made.processes:
                process.kill()
                process.wait()

        stack.callback(end)
        for number in range(processes):
            made.start(number, **(variables if number == 0 else {}))
        for place in made.places:
            assert await until(partial(leased, place), 60)
        changing = asyncio.create_task(made.change(http, random.Random(1)))
        stack.callback(changing.cancel)
        yield made


async def leased(place: str) -> bool:
    transport = httpx.AsyncHTTPTransport(uds=place)
    with suppress(httpx.HTTPError, OSError):
        async with httpx.AsyncClient(transport=transport, base_url="http://x", timeout=5) as http:
            return (await http.get("/health/ready")).status_code == 200
    return False


async def through_faults(
    made: Site, answers: int, clock: SetClock | None = None, *, longer: float = 0.7
) -> None:
    """Let everything happen while callers ask, until as many answers were accepted and all is well again."""
    done = False
    asking = [
        asyncio.create_task(made.ask(place, seed, lambda: done)) for seed, place in enumerate(made.places)
    ]
    try:
        while True:
            await asyncio.sleep(0.5)
            with stopped(made.processes[0].pid):  # frozen, with questions on their way
                await asyncio.sleep(BOUND + longer)
            await asyncio.sleep(0.5)
            with stopped(*made.hub.workers):
                await asyncio.sleep(BOUND + longer)
            await asyncio.sleep(1)
            made.line.cut = True
            await asyncio.sleep(BOUND + longer)
            made.line.cut = False
            await asyncio.sleep(1)
            made.line.slow = True
            await asyncio.sleep(BOUND)
            made.line.slow = False
            if clock is not None:
                for ahead in (7200, -7200, 0):
                    clock.set(ahead)
                    await asyncio.sleep(0.7)
            made.processes[-1].kill()
            made.processes[-1].wait()
            last = len(made.processes) - 1
            made.processes.pop()
            made.places.pop()
            made.start(last)
            for place in made.places:
                assert await until(partial(leased, place), 60)
            if made.accepted >= answers or made.wrong:
                break
        before = made.accepted
        assert await eventually_here(lambda: made.accepted > before + 50, patience=30)
    finally:
        done = True
        await asyncio.gather(*asking)


async def until(holds: Callable[[], Awaitable[bool]], patience: float) -> bool:
    """Ask again and again until ``holds`` is true; False when ``patience`` (seconds) is over."""
    deadline = since_boot() + patience
    while not await holds():
        if since_boot() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


async def test_no_accepted_answer_is_older_than_the_bound(tmp_path: Path) -> None:
    clock = SetClock(tmp_path)
    async with site(tmp_path, 2, variables=clock.variables) as made:
        made.pause = 0.05
        await through_faults(made, 2_000, clock)
        assert made.wrong == []
        assert made.dropped + made.denied_stale, "no fault was felt"


@pytest.mark.extended
async def test_with_a_longer_bound_the_same_faults_give_older_answers(tmp_path: Path) -> None:
    async with site(tmp_path, 2, bound=20.0) as made:
        await through_faults(made, 2_000, longer=5.0)
        assert made.wrong, "what is compared would notice nothing"


@pytest.mark.extended
async def test_of_fifty_thousand_answers_beside_twenty_services_none_is_older(tmp_path: Path) -> None:
    clock = SetClock(tmp_path)
    async with site(tmp_path, 20, variables=clock.variables) as made:
        await through_faults(made, 50_000, clock)
        assert made.wrong == []
        assert made.accepted >= 50_000
        assert made.dropped + made.denied_stale


@pytest.mark.extended  # test_following.py: a file gives no lease
async def test_it_answers_from_its_file_only_once_the_hub_is_back(tmp_path: Path) -> None:
    async with site(tmp_path, 1) as made:
        (process,), (place,) = made.processes, made.places
        process.terminate()
        assert process.wait(30) == 0
        made.line.cut = True
        made.processes.clear()
        made.places.clear()
        made.start(0)
        assert await until(lambda: up(place), 60)
        async with AsyncPortcullis.beside(place, service="orders", bound=BOUND) as portcullis:
            denied = await portcullis.evaluate(Subject.user("user-1"), "GET", Resource.route("/orders/7"))
            assert denied.reason in ("stale", "unavailable")
            made.line.cut = False
            assert await until(lambda: leased(place), 30)
            known = await portcullis.evaluate(Subject.user("user-1"), "GET", Resource.route("/orders/7"))
            assert known.reason in ("opened", "not_held")


@pytest.mark.extended
@pytest.mark.parametrize("killed", [True, False])
async def test_a_hub_that_was_stopped_and_started_again_is_followed_again_by_itself(
    tmp_path: Path, killed: bool
) -> None:
    async with site(tmp_path, 1) as made:
        (place,) = made.places
        if killed:
            made.hub.kill()
        else:
            made.hub.stop()
        async with AsyncPortcullis.beside(place, service="orders", bound=BOUND) as portcullis:

            async def reason() -> str:
                question = ("GET", Resource.route("/orders/7"))
                return (await portcullis.evaluate(Subject.user("user-1"), *question)).reason

            async def is_denied() -> bool:
                return await reason() in ("stale", "unavailable")

            assert await until(is_denied, 30)
            with running(tmp_path, "--workers", "2", **made.variables) as hub:
                made.line.port = hub.port
                assert await until(partial(leased, place), 60)
                assert await reason() in ("opened", "not_held")


async def up(place: str) -> bool:
    transport = httpx.AsyncHTTPTransport(uds=place)
    with suppress(httpx.HTTPError, OSError):
        async with httpx.AsyncClient(transport=transport, base_url="http://x", timeout=5) as http:
            return (await http.get("/health/live")).status_code == 200
    return False
