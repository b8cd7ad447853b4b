#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`varve export --to clickhouse` against servers of Debian's package clickhouse-server on loopback:
a load that is killed and repeated, a damaged store, and the cluster of docs/clickhouse.md with two
servers. Says so and ends well where the package is absent.

    clickhouse.py VARVE"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ORACLE = pathlib.Path(__file__).resolve().parent.parent / "oracle"
SEGMENTS, EVENTS, PER_BLOCK = 4, 120_000, 256

CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><log>{home}/log</log><errorlog>{home}/errors</errorlog></logger>
  <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
  <path>{home}/data/</path><tmp_path>{home}/tmp/</tmp_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size>
  <remote_servers><archive>{shards}</archive></remote_servers>
</yandex>
"""
SHARD = """<shard><replica><host>127.0.0.1</host><port>{}</port></replica></shard>"""
USERS = """<?xml version="1.0"?>
<yandex><profiles><default/></profiles><quotas><default/></quotas>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
  <profile>default</profile><quota>default</quota></default></users></yandex>
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, binary, home, ports, tcp_ports):
        home.mkdir()
        self.url = f"http://127.0.0.1:{ports[0]}"
        shards = "".join(SHARD.format(port) for port in tcp_ports)
        (home / "config.xml").write_text(CONFIG.format(home=home, http=ports[0], tcp=ports[1],
                                                       shards=shards))
        (home / "users.xml").write_text(USERS)
        with open(home / "out", "wb") as out:
            self.process = subprocess.Popen([binary, f"--config-file={home}/config.xml"], cwd=home,
                                            stdout=out, stderr=out)

    def ask(self, sql):
        request = urllib.request.Request(self.url, data=sql.encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode().strip()

    def wait(self):
        for _ in range(600):
            try:
                return self.ask("SELECT 1")
            except OSError:
                time.sleep(0.1)
        raise SystemExit("failed: clickhouse-server does not start")


def sums_of_cat(varve, store):
    """What SUMS asks for, from the lines of `cat`."""
    out = subprocess.run([varve, "cat", "--payload", "none", str(store)], capture_output=True,
                         text=True, check=False).stdout
    count = seqs = times = letters = 0
    for line in out.splitlines():
        event = json.loads(line)
        count += 1
        seqs += event["seq"]
        times += event["witnessed_at"] % 1000003
        letters += sum(len(event[name]) for name in ("did", "collection", "rkey", "kind"))
    return f"{count}\t{seqs}\t{times}\t{letters}"


SUMS = """SELECT count(), sum(seq), sum(witnessed_at % 1000003), sum(length(did) +
          length(collection) + length(rkey) + length(kind)) FROM {} FINAL"""


def load(varve, server, store, *options):
    return subprocess.run([varve, "export", "--to", "clickhouse", "--url", server.url, *options,
                           str(store)], capture_output=True, text=True, check=False)


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"failed: {what}: {found} instead of {wanted}")
    print(f"{what}: {found}".replace("\t", " "))


def check_killed(varve, server, store, wanted):
    words = [varve, "export", "--to", "clickhouse", "--url", server.url, "--table", "events",
             "--create", "--batch", "1", str(store)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        arrived = 0
        while arrived == 0 and process.poll() is None:
            if server.ask("EXISTS TABLE events") == "1":
                arrived = int(server.ask("SELECT count() FROM events"))
        process.send_signal(signal.SIGKILL)
    if not 0 < arrived < EVENTS:
        raise SystemExit(f"failed: {arrived} rows had arrived when the load was killed")
    for _ in range(2):
        run = load(varve, server, store, "--table", "events")
        expect(run.returncode, 0, "a repeated load " + run.stderr.strip())
    expect(server.ask(SUMS.format("events")), wanted, f"killed after {arrived} rows, then repeated")


def check_damaged(varve, server, store):
    hurt = store.parent / "hurt"
    shutil.copytree(store, hurt)
    segment = sorted(hurt.iterdir())[0]
    subprocess.run([sys.executable, str(ORACLE / "hurt.py"), str(segment), "flip 90000.1", "-o",
                    str(segment)], check=True, stdout=subprocess.DEVNULL)
    run = load(varve, server, hurt, "--table", "hurt", "--create")
    expect(run.returncode, 2, "the exit code of a damaged store")
    expect(server.ask(SUMS.format("hurt")), sums_of_cat(varve, hurt), "what is left of it")


def check_cluster(varve, servers, store, wanted):
    """docs/clickhouse.md: node K loads the segments whose number is K modulo the nodes."""
    for node, server in enumerate(servers):
        for segment in sorted(store.glob("seg_*.jss")):
            if int(re.search(r"\d+", segment.name)[0]) % len(servers) == node:
                run = load(varve, server, segment, "--table", "shard", "--create")
                expect(run.returncode, 0, f"node {node}, {segment.name}")
    for server in servers:
        server.ask("CREATE TABLE everything AS shard ENGINE = "
                   "Distributed(archive, default, shard, seq)")
    parts = [int(server.ask("SELECT count() FROM shard")) for server in servers]
    expect(all(parts) and sum(parts) == EVENTS, True, f"the nodes have {parts} rows")
    for server in servers:
        expect(server.ask(SUMS.format("everything")), wanted, "all of them through either node")


def main():
    binary = shutil.which("clickhouse-server", path=os.environ["PATH"] + ":/usr/sbin")
    if binary is None:
        print("skipped: loading ClickHouse needs clickhouse-server to be tested")
        return
    varve = os.path.realpath(sys.argv[1])
    scratch = pathlib.Path(tempfile.mkdtemp())
    servers = []
    try:
        store = scratch / "jss"
        subprocess.run([sys.executable, str(ORACLE / "make_jss.py"), "--out", str(store),
                        "--segments", str(SEGMENTS), "--events", str(EVENTS), "--events-per-block",
                        str(PER_BLOCK), "--reuse", "8", "--seed", "3"],
                       check=True, stdout=subprocess.DEVNULL)
        ports = [(free_port(), free_port()) for _ in range(2)]
        tcp_ports = [tcp for _, tcp in ports]
        servers += [Server(binary, scratch / f"node{i}", pair, tcp_ports)
                    for i, pair in enumerate(ports)]
        for server in servers:
            server.wait()
        wanted = sums_of_cat(varve, store)
        check_killed(varve, servers[0], store, wanted)
        check_damaged(varve, servers[0], store)
        check_cluster(varve, servers, store, wanted)
    finally:
        for server in servers:
            server.process.kill()
            server.process.wait()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
