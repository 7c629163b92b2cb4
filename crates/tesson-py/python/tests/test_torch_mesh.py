"""Groups of processes that work on the same data: a mesh of data-parallel and tensor-parallel ranks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

#: Each process writes the keys of its batches; a state is taken in the middle and read by all.
PROGRAM = """\
import json, sys
from pathlib import Path

import numpy as np
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import tesson

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
data = tesson.from_arrays(x=np.arange(50))
loader = data.loader(batch_size=8, shuffle=True, seed=1, world=mesh["dp"])
keys = []
for batch in loader:
    keys.append(list(batch.keys))
    if loader.step == 3:
        state = loader.state_dict()
resumed = data.loader(batch_size=8, shuffle=True, seed=1, world=mesh["dp"])
resumed.load_state_dict(state)
rest = [list(batch.keys) for batch in resumed]
Path(sys.argv[1], f"{dist.get_rank()}.json").write_text(json.dumps({"keys": keys, "rest": rest}))
dist.destroy_process_group()
"""


def test_ranks_of_one_group_get_the_same_batches(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", str(program), str(tmp_path)]
    run = subprocess.run(launch, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(4)]
    # Ranks 0 and 1 are the first row of the mesh, and share the first half of each batch.
    assert found[0] == found[1] != found[2] == found[3]
    assert all(ranks["rest"] == ranks["keys"][3:] for ranks in found)
    assert sorted(key for ranks in (found[0], found[2]) for step in ranks["keys"] for key in step) == list(range(50))
