"""A Parquet file: two of its columns, in a shuffled order that is the same on one rank and on two.

Prints:

<Dataset people.parquet: id int64 [], name str []>
one rank reads [1152921504606846982, 1152921504606846977, 1152921504606846981]
two ranks read [1152921504606846982, 1152921504606846977, 1152921504606846981]
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import tesson

people = pa.table({"id": [2**60 + i for i in range(8)], "name": list("abcdefgh"), "age": range(8)})

with tempfile.TemporaryDirectory() as folder:
    pq.write_table(people, Path(folder, "people.parquet"))
    data = tesson.read_parquet(Path(folder, "people.parquet"), columns=["id", "name"])
    print(repr(data).replace(f"{folder}/", ""))
    options = {"batch_size": 3, "shuffle": True, "seed": 1}
    print("one rank reads", next(iter(data.loader(**options)))["id"].tolist())
    ranks = [data.loader(**options, rank=rank, world_size=2) for rank in range(2)]
    shares = [next(iter(rank))["id"].tolist() for rank in ranks]
    print("two ranks read", [ids.pop(0) for ids in (shares * 2)[:3]])
