"""Runs the questions of `ask_node.mjs` against a switchtower of their own. Run by `node`."""

import os
import subprocess
import sys
import tempfile

from tower import TOKEN, Tower

LIMIT_S = 120


def main():
    with tempfile.TemporaryDirectory(prefix="switchtower-node-") as folder:
        tower = Tower(folder).start().wait_ready()
        try:
            address = "http://%s:%d" % tower.address
            command, environment = ["node", os.environ["ASK"], address], {**os.environ, "TOKEN": TOKEN}
            return subprocess.run(command, env=environment, timeout=LIMIT_S, check=False).returncode
        finally:
            tower.stop()


if __name__ == "__main__":
    sys.exit(main())
