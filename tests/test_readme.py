"""The README's walk-through, run as it stands: a stranger types these very lines."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```sh\n(.*?)^```", README)


def block(word):
    return next(text for text in BLOCKS if word in text)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def told(process, word):
    """Wait until the process says it; its lines are read as they come."""
    said = ""
    for line in process.stderr:
        said += line
        if word in line:
            return True
    raise AssertionError(said)


@pytest.fixture
def shell(tmp_path):
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
    }

    def run(script, folder=tmp_path):
        done = subprocess.run(["bash", "-euc", script], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done

    run.env = env
    return run


def test_the_first_issue_goes_out_as_the_readme_says(shell, tmp_path):
    first = block("newsletter init my-letter").replace(". .venv/bin/activate ", "# ")
    shell(first)
    folder = tmp_path / "my-letter"
    port, web = free_port(), free_port()
    settings = folder / "newsletter.toml"
    settings.write_text(settings.read_text("utf-8").replace("port = 1025", f"port = {port}"), "utf-8")
    command = [*block("newsletter mailbox").split(), "--port", str(port), "--web-port", str(web), "--no-open"]
    mailbox = subprocess.Popen(command, cwd=folder, env=shell.env, stderr=subprocess.PIPE, text=True)
    try:
        assert told(mailbox, f":{web}")
        done = shell(block("newsletter send issues"), folder)
        people = (folder / "subscribers" / "example.csv").read_text("utf-8").count("\n") - 1
        assert f"{people} sent of {people}" in done.stdout
        with urllib.request.urlopen(f"http://127.0.0.1:{web}/") as page:
            assert page.read().decode().count("/m/") >= people
    finally:
        mailbox.send_signal(signal.SIGTERM)
        assert mailbox.wait(20) == 0
        mailbox.stderr.close()


def test_every_shell_block_is_known_to_a_test():
    known = ("newsletter demo", "newsletter init my-letter", "newsletter mailbox", "newsletter send issues", "pytest")
    assert all(any(word in text for word in known) for text in BLOCKS)


def test_links_lead_to_files_that_are_there():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    assert not [link for link in links if not (ROOT / link).is_file()]
