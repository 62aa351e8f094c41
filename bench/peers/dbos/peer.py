# One round of DBOS: workflows and steps in this process, on a new database of a PostgreSQL server.
#
#   peer.py <p5|s5> <in flight> <seconds> <folder> <where the server is, as libpq takes it>
import asyncio
import importlib.metadata
import itertools
import json
import os
import platform
import sys
import time

from dbos import DBOS, SetWorkflowID
from psycopg.conninfo import conninfo_to_dict

ACTIVITIES = 5
RUN_UP = 1.5
# More than its default of 20: with one for each instance in flight the server has the most commits to group.
CONNECTIONS = 64

steps = 0


@DBOS.step()
async def charge_card(order: str) -> str:
    global steps
    steps += 1
    return order


@DBOS.workflow()
async def in_parallel(order: str) -> str:
    receipts = await asyncio.gather(*(charge_card(order) for _ in range(ACTIVITIES)))
    return receipts[-1]


@DBOS.workflow()
async def in_sequence(order: str) -> str:
    receipt = ""
    for _ in range(ACTIVITIES):
        receipt = await charge_card(order)
    return receipt


async def client(shape, ids, begin, end, latencies):
    while True:
        order = f"order-20300101-{next(ids)}"
        started = time.monotonic()
        with SetWorkflowID(order):
            receipt = await shape(order)
        now = time.monotonic()
        if receipt != order:
            raise RuntimeError(f"instance {order} gave {receipt!r}")
        if now >= begin:
            latencies.append((now - started) * 1000)
        if now >= end:
            return


# How many steps ran while the clock did.
async def count_steps(begin, end):
    await asyncio.sleep(begin - time.monotonic())
    before = steps
    await asyncio.sleep(end - time.monotonic())
    return steps - before


async def load(shape, in_flight, seconds):
    ids = itertools.count()
    latencies = []
    begin = time.monotonic() + RUN_UP
    end = begin + seconds
    done, *_ = await asyncio.gather(
        count_steps(begin, end),
        *(client(shape, ids, begin, end, latencies) for _ in range(in_flight)),
    )
    return done, sorted(latencies)


def quantile(ordered, part):
    return ordered[int(part * (len(ordered) - 1))] if ordered else 0


def main():
    shape, in_flight, seconds, _, server = sys.argv[1:6]
    seconds = float(seconds)
    where = conninfo_to_dict(server)
    database = f"postgresql://{where['user']}@/peer_{os.getpid()}?host={where['host']}"
    DBOS(
        config={
            "name": "peer",
            "system_database_url": database,
            "sys_db_pool_size": CONNECTIONS,
            "log_level": "ERROR",
        }
    )
    DBOS.launch()
    done, latencies = asyncio.run(
        load(in_sequence if shape == "s5" else in_parallel, int(in_flight), seconds)
    )
    print(
        json.dumps(
            {
                "versions": f"dbos {importlib.metadata.version('dbos')}, "
                f"Python {platform.python_version()}",
                "settings": f"one process, asyncio, PostgreSQL by a unix socket, synchronous_commit=on, "
                f"a pool of {CONNECTIONS} connections",
                "steps": done,
                "seconds": seconds,
                "p50_ms": quantile(latencies, 0.5),
                "p99_ms": quantile(latencies, 0.99),
            }
        ),
        flush=True,
    )
    # Nothing is to be drained.
    os._exit(0)


if __name__ == "__main__":
    main()
