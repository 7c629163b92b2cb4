"""The order of a prepared dataset: what decides it, and resuming anywhere in it.

Walks through the points of TFDS' page on determinism, on a dataset of 1,024 shards that `tfds.Writer` prepares first. Of what
the page does, a program for TFDS has only two lines otherwise: the import, and the id, which is a tensor there. Prints:

the order of the files, 16 at a time: 0 1 2 3 4 5 6 7
twice the same without a shuffle: True
files of train[44%:45%]: 00450 11+9 of 20, 00451 0+20 of 20, … 00460 0+16 of 20
a part of the split: 13722 13723 13724 13725 13726 13727
three files in turns, two examples a turn: 0 1 20 21 40 41 2 3
another turn, another order: True
a part has the examples of its numbers, in another order: True
take(25) of the stream is not train[:25]: True
shuffled files: 2820 2821 2822 2823 2824 2825
the same seed, made anew: True
the next pass over the same dataset: 15540 15541 15542 15543 15544 15545
no seed, and yet the same again: True
files from the last to the first: 20460 20461 20462 20463 20464 20465
skip(40) of the stream is not train[40:]: True
one file at a time, train[137:] is the rest: True
behind whole turns, a sort function goes on: True
stopped after 1000 examples, gone on in another iterator: True
the order from the plan alone: True
"""

import json
import re
import tempfile
from pathlib import Path

import tesson.tfds as tfds


def id_to_number(tfds_id, builder):
    """The number of an example in its split, from its file and its number in that."""
    ((split, shard, record),) = re.findall(r"\w+-(\w+)\.\w+-(\d+)-of-\d+__(\d+)", tfds_id)
    return sum(builder.info.splits[split].shard_lengths[: int(shard)]) + int(record)


def first_ids(builder, *, take, skip=0, split="train", read_config=None, **options):
    """The numbers of the first examples of a split."""
    read_config = (read_config or tfds.ReadConfig()).replace(add_tfds_id=True)
    ds = builder.as_dataset(split=split, read_config=read_config, **options)
    return ids_of(builder, ds.skip(skip).take(take))


def ids_of(builder, ds):
    return [id_to_number(example["tfds_id"].decode(), builder) for example in ds]


def show(what, ids):
    print(f"{what}:", *ids)


def describe(file):
    """The range that is read of a file."""
    shard = file.filename.split("-")[-3]
    return f"{shard} {file.skip}+{file.take} of {file.examples_in_shard}"


def main(folder):
    features = {"n": tfds.FeatureInfo((), "int64")}
    with tfds.Writer(folder, "numbers", "1.0.0", features, {"train": 1024}) as writer:
        for n in range(20 * 1024):
            writer.write("train", {"n": n})
    builder = tfds.builder("numbers", data_dir=folder)

    show("the order of the files, 16 at a time", first_ids(builder, take=8))
    print("twice the same without a shuffle:", first_ids(builder, take=300) == first_ids(builder, take=300))
    first, second, *_, last = map(describe, builder.info.splits["train[44%:45%]"].file_instructions)
    print(f"files of train[44%:45%]: {first}, {second}, … {last}")
    show("a part of the split", first_ids(builder, take=6, split="train[67%:84%]"))
    in_turns = tfds.ReadConfig(interleave_cycle_length=3, interleave_block_length=2)
    show("three files in turns, two examples a turn", first_ids(builder, take=8, read_config=in_turns))
    other = first_ids(builder, take=300, read_config=in_turns)
    print("another turn, another order:", other != first_ids(builder, take=300))
    part = first_ids(builder, take=-1, split="train[67%:84%]")
    numbers = list(range(13722, 17203))
    print("a part has the examples of its numbers, in another order:", sorted(part) == numbers != part)
    part = first_ids(builder, take=25, split="train[:25]")
    print("take(25) of the stream is not train[:25]:", first_ids(builder, take=25) != part)

    seeded = tfds.ReadConfig(shuffle_seed=32, add_tfds_id=True)
    shuffled = builder.as_dataset(split="train", shuffle_files=True, read_config=seeded).take(6)
    first = ids_of(builder, shuffled)
    show("shuffled files", first)
    again = first_ids(builder, take=6, shuffle_files=True, read_config=seeded)
    print("the same seed, made anew:", again == first)
    show("the next pass over the same dataset", ids_of(builder, shuffled))
    by_chance = builder.as_dataset(split="train", shuffle_files=True, read_config=tfds.ReadConfig(add_tfds_id=True))
    reported = tfds.ReadConfig(shuffle_seed=by_chance.seeds["shuffle_seed"])
    again = first_ids(builder, take=300, shuffle_files=True, read_config=reported)
    print("no seed, and yet the same again:", again == ids_of(builder, by_chance.take(300)))

    backwards = tfds.ReadConfig(experimental_interleave_sort_fn=lambda files: files[::-1])
    show("files from the last to the first", first_ids(builder, take=6, read_config=backwards))
    rest = first_ids(builder, take=22, split="train[40:]")
    print("skip(40) of the stream is not train[40:]:", first_ids(builder, take=22, skip=40) != rest)

    one_by_one = tfds.ReadConfig(interleave_cycle_length=1)
    rest = first_ids(builder, take=-1, split="train[137:]", read_config=one_by_one)
    print("one file at a time, train[137:] is the rest:", first_ids(builder, take=-1, read_config=one_by_one)[137:] == rest)

    def behind_one_turn(files):
        """The rest of the files after each of the first 16 has delivered the 16 examples of its turn."""
        begun = [file.replace(skip=file.skip + 16, take=file.take - 16) for file in files[:16]]
        return begun + files[16:]

    rest = first_ids(builder, take=-1, read_config=tfds.ReadConfig(experimental_interleave_sort_fn=behind_one_turn))
    print("behind whole turns, a sort function goes on:", first_ids(builder, take=-1, skip=256) == rest)

    def pipeline():
        return builder.as_dataset(split="train", shuffle_files=True, read_config=seeded).shuffle(500, seed=7)

    ids = ids_of(builder, pipeline())
    stopped = iter(pipeline())
    for _ in range(1000):
        next(stopped)
    state = json.dumps(stopped.state_dict())
    gone_on = iter(pipeline())
    gone_on.load_state_dict(json.loads(state))
    print("stopped after 1000 examples, gone on in another iterator:", ids_of(builder, gone_on) == ids[1000:])
    print("the order from the plan alone:", pipeline().ids().tolist() == ids)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
