"""What an agent sees: a client of each era that follows what the server says is worth asking, and finds the kernel to
improve in at most four calls; then strangers, whom the server survives."""
import json
import os
import subprocess
import sys
import tempfile
import time

PROGRAM, FABRICATE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MAX_CALLS = 4
MAX_TOKENS = 10_000
MAX_BYTES_A_TOKEN = 3  # of JSON; most tokenisers take more bytes a token
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "transcript", "version": "1"},
}


class Client:
    """The program, spoken to a line at a time."""

    def __init__(self, root, handshake, *more):
        self.server = subprocess.Popen([PROGRAM, "mcp", "--root", root, *more], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.meta = None if handshake else STATELESS
        self.last_id = 0
        self.calls = 0
        if handshake:
            begun = self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                            "clientInfo": {"name": "transcript", "version": "1"}})
            assert begun["protocolVersion"] == "2025-11-25", begun
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            assert "2026-07-28" in self.ask("server/discover", {})["supportedVersions"]

    def send(self, message):
        self.server.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self.server.stdin.flush()

    def receive(self):
        line = self.server.stdout.readline()
        assert line.endswith(b"\n"), (line[:200], self.server.stderr.read()[:500])
        return json.loads(line)

    def ask(self, method, params):
        self.last_id += 1
        if self.meta:
            params = dict(params, _meta=self.meta)
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        answer = self.receive()
        assert answer["id"] == self.last_id, answer
        assert "result" in answer, answer
        return answer["result"]

    def call(self, tool, arguments):
        self.calls += 1
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = result["content"][0]["text"]
        assert len(text.encode()) / MAX_BYTES_A_TOKEN < MAX_TOKENS, (tool, len(text))
        assert not result["isError"], text
        assert json.loads(text) == result["structuredContent"]
        return result["structuredContent"]

    def end(self):
        self.server.stdin.close()
        assert self.server.wait(timeout=60) == 0, self.server.stderr.read()
        rest = self.server.stdout.read()
        self.server.stdout.close()
        self.server.stderr.close()
        return rest


def expected_kernel(capture):
    """What the program itself ranks first."""
    document = subprocess.run([PROGRAM, "rank", capture, "--format", "json", "--top", "1"], check=True,
                              capture_output=True, text=True).stdout
    return json.loads(document)["rows"][0]["kernel"]


def finds_the_kernel(root, capture, handshake):
    client = Client(root, handshake)
    tool, arguments = "captures", {}
    while True:
        answer = client.call(tool, arguments)
        if tool == "explain":
            break
        assert answer["next"], (tool, answer)
        tool, arguments = answer["next"][0]["tool"], answer["next"][0]["arguments"]
    assert client.calls <= MAX_CALLS, client.calls
    assert answer["kernel"]["kernel"] == expected_kernel(capture), answer["kernel"]
    assert answer["limits"] and answer["holds"], answer
    assert all("error_ratio" in limit and "tier" in limit for limit in answer["limits"]), answer["limits"]
    command = client.call("ncu_command", {"capture": arguments["capture"], "kernel": "1"})["command"]
    assert command.startswith("ncu "), command
    assert client.end() == b"", "nothing but answers is on standard output"
    print(f"found in {client.calls - 1} calls: {answer['kernel']['name']}")


def survives(root):
    client = Client(root, False, "--time-limit", "2")
    for line, code in [(b"{", -32700), (b"[" * 2_000_000, -32600), (b'{"jsonrpc":"2.0","id":1,"method":"x"}', -32602),
                       (b"\x00\xff\xfe", -32700), (b'"' + b"a" * 3_000_000 + b'"', -32600), (b"[1,2]", -32600)]:
        client.send(line)
        assert client.receive()["error"]["code"] == code, line[:40]
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"
    begun = time.monotonic()
    result = client.ask("tools/call", {"name": "sql", "arguments": {"capture": "c.ridge", "query": endless}})
    assert result["isError"] and "stopped after 2 s" in result["content"][0]["text"], result
    assert 1 < time.monotonic() - begun < 30
    # One that is cancelled is not answered, and the next is.
    client.send({"jsonrpc": "2.0", "id": "endless", "method": "tools/call",
                 "params": {"name": "sql", "arguments": {"capture": "c.ridge", "query": endless}, "_meta": STATELESS}})
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "endless"}})
    assert client.call("captures", {})["rows_total"] == 1
    # What was asked before the end is answered.
    client.send({"jsonrpc": "2.0", "id": "last", "method": "tools/list", "params": {"_meta": STATELESS}})
    assert json.loads(client.end())["id"] == "last"
    nowhere = subprocess.run([PROGRAM, "mcp", "--root", root + "/nowhere"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
    assert nowhere.returncode == 4 and "nowhere" in nowhere.stderr and nowhere.stderr.count("\n") == 1, nowhere


with tempfile.TemporaryDirectory() as folder:
    made = os.path.join(folder, "c.ridge")
    subprocess.run([FABRICATE, made, "samples"], check=True)
    for with_handshake in (False, True):
        finds_the_kernel(folder, made, with_handshake)
    survives(folder)
