# SPDX-License-Identifier: BSD-2-Clause
"""Checks CPython's threads, thread pools and asyncio. Prints the same on every machine, and ends with 1 if a
check has failed:

    python threads.py threads|pool|asyncio|signals [THREADS]
"""

import concurrent.futures
import contextvars
import functools
import hashlib
import json
import os
import queue
import signal
import sys
import tempfile
import threading
import time

wrong = 0


def check(what: str, got: object, expected: object) -> None:
    global wrong
    right = got == expected
    wrong += not right
    print(f"{what}: {got!r}" + ("" if right else f" WRONG, expected {expected!r}"), flush=True)


def threads(count: int) -> None:
    sum_, lock = 0, threading.Lock()
    barrier, own = threading.Barrier(count), threading.local()
    leaders, names = [], set()

    def add() -> None:
        nonlocal sum_
        own.part = 0
        for i in range(2000):
            with lock:
                sum_ += i
            own.part += i
        if barrier.wait() == 0:
            leaders.append(own.part)
        names.add(threading.current_thread().name)

    crew = [threading.Thread(target=add, name=f"adds {i}") for i in range(count)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    check("a sum with a lock", sum_ == count * 1999000, True)
    check("a barrier's leader", leaders, [1999000])
    check("threads with names", len(names) == count, True)

    # The threads wait for each other in a ring.
    ring = [threading.Event() for _ in range(count)]
    rounds = []

    def turn(i: int) -> None:
        for _ in range(50):
            ring[i].wait()
            ring[i].clear()
            rounds.append(i)
            ring[(i + 1) % count].set()

    crew = [threading.Thread(target=turn, args=(i,)) for i in range(count)]
    for thread in crew:
        thread.start()
    ring[0].set()
    for thread in crew:
        thread.join()
    check("turns in a ring", rounds == list(range(count)) * 50, True)

    # Time limits, and a daemon that never ends.
    begun = time.monotonic()
    check("an event that never comes", threading.Event().wait(0.005), False)
    check("a lock that is taken", lock.acquire() and lock.acquire(timeout=0.005), False)
    check("not too early", time.monotonic() - begun >= 0.01, True)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    timer = threading.Timer(0.002, functools.partial(rounds.append, "timer"))
    timer.start()
    timer.join()
    check("a timer", rounds[-1], "timer")


def pool(count: int) -> None:
    text = "".join(f"line {i}\n" for i in range(3000))
    with concurrent.futures.ThreadPoolExecutor(count) as crew:
        sums = list(crew.map(lambda i: hashlib.sha256(text.encode() * i).hexdigest(), range(20)))
        check(
            "sums of a pool", sums == [hashlib.sha256(text.encode() * i).hexdigest() for i in range(20)], True
        )
        failed = crew.submit(lambda: 1 // 0)
        check("an exception comes back", type(failed.exception()).__name__, "ZeroDivisionError")
        futures = [crew.submit(pow, 3, i, 1000003) for i in range(50)]
        done = sum(future.result() for future in concurrent.futures.as_completed(futures))
        check("as they are completed", done, sum(pow(3, i, 1000003) for i in range(50)))

    numbers: queue.Queue[int | None] = queue.Queue(5)
    found: queue.SimpleQueue[int] = queue.SimpleQueue()

    def consume() -> None:
        while (number := numbers.get()) is not None:
            found.put(number * number)
            numbers.task_done()

    crew = [threading.Thread(target=consume) for _ in range(count)]
    for thread in crew:
        thread.start()
    for i in range(500):
        numbers.put(i)
    numbers.join()
    for _ in crew:
        numbers.put(None)
    for thread in crew:
        thread.join()
    check(
        "squares through queues",
        sum(found.get() for _ in range(found.qsize())),
        sum(i * i for i in range(500)),
    )

    # JSON through files of threads.
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        concurrent.futures.ThreadPoolExecutor(count) as crew,
    ):

        def kept(i: int) -> int:
            path = os.path.join(folder, f"{i}.json")
            with open(path, "w") as file:
                json.dump({"number": i, "list": list(range(i)), "text": "é\n" * i, "half": i / 2}, file)
            with open(path) as file:
                read = json.load(file)
            return read["number"] + len(read["list"]) + len(read["text"]) + int(2 * read["half"])

        check("JSON in files", sum(crew.map(kept, range(60))), sum(5 * i for i in range(60)))
        check("files", sorted(os.listdir(folder)) == sorted(f"{i}.json" for i in range(60)), True)


def loop(count: int) -> None:
    import asyncio

    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=-1)

    async def sleeper(i: int) -> int:
        variable.set(i)
        begun = time.monotonic()
        await asyncio.sleep(i % 10 / 1000)
        return i if time.monotonic() - begun >= i % 10 / 1000 - 1e-6 and variable.get() == i else -1

    async def main() -> None:
        check("sleepers", sum(await asyncio.gather(*(sleeper(i) for i in range(300)))), 299 * 150)
        check("their variables are their own", variable.get(), -1)

        numbers: asyncio.Queue[int] = asyncio.Queue(3)
        got = []

        async def consume() -> None:
            while (number := await numbers.get()) >= 0:
                got.append(number)

        async with asyncio.TaskGroup() as group:
            group.create_task(consume())
            for i in [*range(100), -1]:
                await numbers.put(i)
        check("through a queue", got == list(range(100)), True)

        squares = await asyncio.gather(*(asyncio.to_thread(pow, i, 2) for i in range(40)))
        check("squares of threads", sum(squares), sum(i * i for i in range(40)))
        try:
            async with asyncio.timeout(0.005):
                await asyncio.Event().wait()
            check("a time limit", "missed", "kept")
        except TimeoutError:
            check("a time limit", "kept", "kept")

        reader, writer = os.pipe()
        stream = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), open(reader, "rb", 0)
        )

        def write() -> None:
            with open(writer, "w") as file:
                file.writelines(f"line {i}\n" for i in range(200))

        _, text = await asyncio.gather(asyncio.to_thread(write), stream.read())
        check("lines of a thread through a pipe", text.count(b"\n"), 200)

        arrived = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, arrived.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(arrived.wait(), 30)
        check("a signal", arrived.is_set(), True)

    asyncio.run(main())


def signals(count: int) -> None:
    caught = []
    signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(threading.current_thread().name))
    stop = threading.Event()
    sums = [0] * count

    def compute(i: int) -> None:
        while not stop.is_set():
            sums[i] += sum(range(1000))

    crew = [threading.Thread(target=compute, args=(i,)) for i in range(count)]
    for thread in crew:
        thread.start()
    for i in range(40):
        if i % 2:
            os.kill(os.getpid(), signal.SIGUSR1)
        else:
            signal.pthread_kill(crew[i % count].ident, signal.SIGUSR1)
        while len(caught) <= i:
            time.sleep(0.001)
    stop.set()
    for thread in crew:
        thread.join()
    check("handlers run in the main thread", caught == ["MainThread"] * 40, True)
    check("whole sums", all(s % 499500 == 0 for s in sums), True)
    signal.signal(signal.SIGALRM, lambda number, frame: caught.append("alarm"))
    signal.setitimer(signal.ITIMER_REAL, 0.003)
    while caught[-1] != "alarm":
        time.sleep(0.001)
    check("an alarm", caught[-1], "alarm")


PARTS = {"threads": threads, "pool": pool, "asyncio": loop, "signals": signals}
PARTS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 4)
sys.exit(wrong != 0)
