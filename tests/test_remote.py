"""The judge over ssh: sources go there, records come back, nothing stays, and each way to fail is one line."""

from __future__ import annotations

import getpass
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel_wiki.harness import discover, remote
from kernel_wiki.harness.remote import Remote, RemoteError
from tests.corpora import REPOSITORY
from tests.test_harness import CONTRACT

HONEST = "def run(x):\n    return x + x\n"
WRONG = "def run(x):\n    return x * 2.1\n"
SLOW = "import time\n\ntime.sleep(300)\n\n\ndef run(x):\n    return x + x\n"
STUB = """#!/bin/sh
# An ssh that is no ssh: what stands behind `-- host` runs here.
while [ "$1" != "--" ]; do shift; done
shift 2
exec sh -c "$1"
"""


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """An operator that doubles its input, with an honest and a wrong implementation."""
    folder = tmp_path / "zoo" / "double"
    folder.mkdir(parents=True)
    (folder / "contract.py").write_text(textwrap.dedent(CONTRACT), encoding="utf-8")
    (folder / "honest.py").write_text(HONEST, encoding="utf-8")
    (folder / "off.py").write_text(WRONG, encoding="utf-8")
    return folder.parent


@pytest.fixture
def far_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the other machine makes its temporary folders."""
    folder = tmp_path / "far"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far_folder: Path) -> Path:
    """An `ssh` on the path that runs its command on this machine."""
    return _on_path(tmp_path / "bin", STUB, monkeypatch)


def _on_path(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "ssh").write_text(script, encoding="utf-8")
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far_folder: Path) -> Iterator[Path]:
    """A real sshd on 127.0.0.1 with keys of its own, and a real ssh that knows them; gives ssh's configuration file."""
    sshd, ssh = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"), shutil.which("ssh")
    if not sshd or not ssh or not shutil.which("ssh-keygen"):
        pytest.skip("needs sshd, ssh and ssh-keygen (package openssh-server)")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd's own privilege separation wants it
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "user", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
    shutil.copy(keys / "user.pub", keys / "authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = f"""
        ListenAddress 127.0.0.1
        Port {port}
        HostKey {keys / "host"}
        AuthorizedKeysFile {keys / "authorized"}
        PidFile none
        UsePAM no
        StrictModes no
        PasswordAuthentication no
        KbdInteractiveAuthentication no
        PermitRootLogin prohibit-password
        SetEnv TMPDIR={far_folder}
    """
    (keys / "sshd_config").write_text(textwrap.dedent(server), encoding="utf-8")
    client = f"""
        Host *
            IdentityFile {keys / "user"}
            IdentitiesOnly yes
            UserKnownHostsFile {keys / "known"}
            StrictHostKeyChecking accept-new
        Host far
            HostName 127.0.0.1
            Port {port}
            User {getpass.getuser()}
    """
    (keys / "ssh_config").write_text(textwrap.dedent(client), encoding="utf-8")
    _on_path(tmp_path / "bin", f'#!/bin/sh\nexec {ssh} -F {keys / "ssh_config"} "$@"\n', monkeypatch)
    log = (keys / "log").open("w")
    daemon = subprocess.Popen([sshd, "-D", "-e", "-f", str(keys / "sshd_config")], stderr=log)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            pytest.skip(f"sshd does not start: {(keys / 'log').read_text(encoding='utf-8')[-200:]}")
        yield keys / "ssh_config"
    finally:
        daemon.terminate()
        daemon.wait(10)
        log.close()


def here(python: str = sys.executable, device: str = "cpu") -> Remote:
    return Remote("far", python, device)


def judge_there(zoo: Path, what: str = "double/honest") -> list[dict]:
    return remote.validate(discover.select(what, zoo), here(), ("--rounds", "0"), say=lambda line: None)


def fails(zoo: Path, where: Remote) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        remote.validate(discover.select("double/honest", zoo), where, ("--rounds", "0"), say=lambda line: None)
    assert "\n" not in str(caught.value)
    return caught.value


def test_over_a_real_connection_records_come_back_and_nothing_stays_there(zoo: Path, loopback: Path, far_folder: Path) -> None:
    said: list[str] = []
    found = remote.validate(discover.select("double", zoo), here(), ("--rounds", "0"), said.append)
    assert [(record["impl"], record["verdict"]) for record in found] == [("honest", "accepted"), ("off", "rejected")]
    assert found[1]["category"] == "mismatch"
    assert found[0]["hashes"] == discover.source_hashes("double", "honest", zoo)
    assert any("double/honest" in line for line in said)
    assert not list(far_folder.glob("warplore-*/kernel_wiki"))
    assert not list(zoo.rglob("*.json"))  # what is written is the caller's business


def test_a_key_that_is_not_authorized_is_refused_without_a_prompt(zoo: Path, loopback: Path) -> None:
    loopback.write_text(loopback.read_text(encoding="utf-8").replace("/user\n", "/stranger\n"), encoding="utf-8")
    error = fails(zoo, here())
    assert str(error).startswith("far refused the login") and error.exit_code == 2


def test_a_host_that_does_not_answer_is_named(zoo: Path, loopback: Path) -> None:
    loopback.write_text(loopback.read_text(encoding="utf-8").replace("Port ", "Port 1 #"), encoding="utf-8")
    assert str(fails(zoo, here())).startswith("far cannot be reached")


def test_without_ssh_the_package_is_named(zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "ssh client, which is not installed" in str(fails(zoo, here()))


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "a b", "far;id", "me@-x", ""])
def test_a_host_that_ssh_would_read_as_an_option_is_refused(zoo: Path, stub: Path, host: str) -> None:
    assert "is no machine" in str(fails(zoo, Remote(host)))


def test_what_the_other_machine_lacks_is_said(zoo: Path, stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(fails(zoo, here("python-that-is-not-there"))).startswith("far has no python-that-is-not-there")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "finds no GPU" in str(fails(zoo, here(device="cuda")))
    (tmp_path / "torch.py").write_text("raise ImportError('no torch')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "cannot import torch" in str(fails(zoo, here()))


def test_the_words_of_the_command_survive_the_login_shell(tmp_path: Path) -> None:
    words = ["it's", '"$(touch pwned)"', "; touch pwned", "a\nb", "*"]
    command = remote.remote_command(sys.executable, words).replace("sys.exit(main(*sys.argv[1:]))", "print(repr(sys.argv[1:]))")
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(words) and not list(tmp_path.iterdir())


def test_a_candidate_from_elsewhere_takes_its_place_in_the_operator_s_folder(zoo: Path, tmp_path: Path) -> None:
    (tmp_path / "honest.py").write_text("# another\n", encoding="utf-8")
    entry = discover.Entry("double", "honest", tmp_path, contract=zoo / "double" / "contract.py")
    files = remote.sources([entry])
    assert files["kernel_wiki/zoo/double/honest.py"] == b"# another\n"
    assert {"kernel_wiki/zoo/double/contract.py", "kernel_wiki/harness/judge.py", "kernel_wiki/__init__.py"} <= files.keys()
    assert remote.pack(files) == remote.pack(remote.sources([entry]))


def archive(files: dict[str, bytes], link: str = "") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(data)
            tar.addfile(item, io.BytesIO(data))
        if link:
            item = tarfile.TarInfo(link)
            item.type, item.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(item)
    return stream.getvalue()


def test_only_records_of_the_sources_that_were_sent_are_taken(zoo: Path) -> None:
    entries = discover.select("double", zoo)
    files = remote.sources(entries)

    def body(name: str, **changes: object) -> bytes:
        record = {"operator": "double", "impl": name, "hashes": discover.source_hashes("double", name, zoo), **changes}
        return json.dumps(record).encode()

    def taken(names: dict[str, bytes], link: str = "") -> list[str]:
        return [record["impl"] for record in remote.read_records(archive(names, link), entries, files)]

    there = "double/validation/nvidia-h200"
    assert taken({f"{there}/off.json": body("off"), f"{there}/honest.json": body("honest")}) == ["honest", "off"]
    assert taken({f"../{there}/honest.json": body("honest"), f"/{there}/off.json": body("off")}) == []
    assert taken({f"{there}/honest.json": body("off")}) == []
    assert taken({f"{there}/honest.json": body("honest", hashes={})}) == []
    changed = dict.fromkeys(discover.source_hashes("double", "honest", zoo), "0" * 64)
    assert taken({f"{there}/honest.json": body("honest", hashes=changed)}) == []
    assert taken({}, link=f"{there}/honest.json") == []
    with pytest.raises(RemoteError, match="cannot be read"):
        taken({f"{there}/honest.json": b"{"})


def test_what_a_login_script_prints_is_passed_over() -> None:
    assert remote._after(b"Welcome!\n\nnonce 3\nabcrest", "nonce") == b"abc"
    assert remote._after(b"Welcome!\n", "nonce") == b""


def test_an_interrupted_run_stops_the_other_machine_and_cleans_it(zoo: Path, stub: Path, far_folder: Path) -> None:
    (zoo / "double" / "honest.py").write_text(SLOW, encoding="utf-8")
    code = textwrap.dedent(f"""
        import signal, sys
        from pathlib import Path
        from kernel_wiki.harness import discover, remote

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would have it ignored
        try:
            entries, far = discover.select("double/honest", Path({str(zoo)!r})), remote.Remote("far", sys.executable, "cpu")
            remote.validate(entries, far, ("--rounds", "0"), say=lambda line: print(line, flush=True))
        except remote.RemoteError as error:
            print("ERROR", error.exit_code, error, flush=True)
    """)
    near = subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert "double/honest" in near.stdout.readline()  # the harness there has begun
        assert list(far_folder.glob("warplore-*/kernel_wiki"))
        os.kill(near.pid, signal.SIGINT)
        output, _ = near.communicate(timeout=60)
    finally:
        near.kill()
        near.wait()
    assert "ERROR 130 interrupted" in output
    assert not list(far_folder.glob("warplore-*/kernel_wiki"))
