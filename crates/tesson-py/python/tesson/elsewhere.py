"""Names that other libraries have for what is here under another one: errors about them say what to write in their place.

Each table is of one owner: the package, a class, or a function's keywords. A name that stands in none gets the nearest one there is. Nothing
imports this before an error needs it.
"""

from __future__ import annotations

__all__ = ["OF_BATCH", "OF_DATASET", "OF_LOADER", "OF_LOADER_OPTIONS", "OF_PACKAGE", "OF_RAGGED", "OF_SPARSE", "hinted"]


def _each(remedy: str, *names: str) -> dict[str, str]:
    """The names that have one remedy."""
    return dict.fromkeys(names, remedy)


#: Functions and classes of a package.
OF_PACKAGE = {
    **_each("`data.loader(batch_size=32)` makes one, where `data` is from `tesson.read_csv` and the like", "DataLoader", "IterableDataset"),
    **_each("there is a function for each kind of data, such as `tesson.read_csv`; `tesson info FILE` says which", "load", "open", "read", "scan"),
    **_each("`tesson.from_arrays(x=array)`", "from_numpy", "from_dict", "from_list", "from_tensors", "from_tensor_slices", "from_torch"),
    **_each("`tesson.from_table(table)`", "from_pandas", "from_polars", "from_pyarrow", "from_dataframe"),
    **_each("a class of `tesson.UserDeserializer` gives data that code makes", "from_generator", "from_iterable", "from_callable"),
    **_each("`data.concat(other)`", "concat", "concatenate", "concatenate_datasets"),
    **_each("`data.join(other)`", "join", "merge", "zip"),
    **_each("`tesson.read_json(path)` reads JSON lines", "read_jsonl", "read_ndjson", "scan_ndjson"),
    **_each("`tesson.read_arrow(path)`", "read_feather", "read_ipc", "load_from_disk"),
    **_each("`tesson.read_numpy(path)`", "read_npy", "read_npz"),
    **_each("`tesson.read_parquet(path)`", "scan_parquet"),
    **_each("`tesson.read_csv(path)`", "scan_csv", "read_tsv", "read_table"),
    **_each("`tesson.read_libsvm(path)`", "read_svmlight", "load_svmlight_file"),
    **_each("`tesson.read_arff(path)`", "loadarff", "load_arff", "fetch_openml"),
    **_each("`tesson.read_vw(path)`", "read_vowpal_wabbit", "DFtoVW"),
    **_each("`tesson.read_array_records(path)`", "ArrayRecordDataSource"),
    **_each("`tesson.read_images(path)` reads folders of classes", "ImageFolder", "image_dataset_from_directory"),
}

#: Methods of a dataset.
OF_DATASET = {
    **_each("`data.loader(batch_size=32, shuffle=True)` shuffles the whole", "shuffle", "random_shuffle", "sample"),
    **_each("`data.loader(batch_size=32)` gives batches", "batch", "iter_batches", "to_batches", "as_numpy_iterator", "minibatches", "to_loader"),
    **_each("`data.transform(x=function)` changes a stream", "map", "apply", "map_batches", "with_transform", "set_transform", "with_columns"),
    **_each("a loader goes on with the next epoch by itself; `epochs=3` gives it an end", "repeat", "epochs"),
    **_each("`data.head(n)` reads the first examples", "take", "limit", "show", "peek"),
    **_each("`data.select(name, …)` keeps streams", "drop", "remove_columns", "drop_columns", "select_columns", "with_format"),
    **_each("`data.rename(old=\"new\")`", "rename_column", "rename_columns"),
    **_each("`data.schema`", "columns", "column_names", "features", "dtypes", "element_spec", "streams", "shape"),
    **_each("`data.loader(batch_size=32).torch()`", "torch", "to_torch", "to_pytorch", "iter_torch_batches", "dataloader"),
    **_each("`data.loader(batch_size=32).jax()`", "jax", "to_jax"),
    **_each("`data.loader(batch_size=32, rank=0, world_size=2)` shares the batches", "shard", "split_by_node", "num_shards"),
    **_each("a loader reads ahead by itself", "prefetch", "cache"),
    **_each("filter the table before `tesson.from_table(table)`", "filter", "where"),
    **_each("`data.concat(other)`", "concatenate", "union", "extend", "append"),
    **_each("`data.join(other)`", "zip", "merge"),
    **_each("`len(data.loader(batch_size=1))` counts the examples", "count", "num_rows", "cardinality", "num_examples"),
}

#: Methods of a loader.
OF_LOADER = {
    **_each("each `for` is the next epoch, shuffled anew", "set_epoch", "reset", "shuffle"),
    **_each("`loader.skip_to(step)`", "skip", "seek", "skip_first_batches"),
    **_each("`loader.steps(n)` gives the next batches", "take", "islice", "iter_batches"),
    **_each("`loader.torch()`", "to_torch", "iter_torch_batches"),
    **_each("`loader.jax()`", "to_jax"),
    **_each("`loader.state_dict()`", "state", "get_state", "save", "get_checkpoint_state", "checkpoint"),
    **_each("`loader.load_state_dict(state)`", "load_state", "set_state", "restore", "restore_from_checkpoint"),
}

#: Options of a loader.
OF_LOADER_OPTIONS = {
    **_each("batches are made by threads without Python; `threads` is their number", "num_workers", "workers", "num_threads", "num_proc"),
    **_each("a loader reads ahead by itself, within `memory_limit`", "prefetch_factor", "prefetch", "persistent_workers", "num_prefetch_batches"),
    **_each("`shuffle=tesson.Window(samples=…)`", "buffer_size", "shuffle_buffer_size", "shuffle_buffer"),
    **_each("`loader.torch()` takes it", "pin_memory", "device", "layouts"),
    **_each("`loader.jax()` takes it", "sharding"),
    **_each("batches are arrays already; `batch[\"x\"].pad()` pads those of several lengths", "collate_fn", "batchify_fn"),
    **_each("`shuffle` and `world` take its place", "sampler", "batch_sampler"),
}

#: Methods of a batch.
OF_BATCH = {
    **_each("`batch.as_dict()`", "items", "values", "to_dict", "numpy", "get"),
    **_each("batches of `loader.torch(device=…)` are tensors", "to", "cuda", "cpu", "torch", "to_torch", "pin_memory"),
    **_each("`batch.as_arrow()`", "to_arrow", "to_pandas", "to_polars"),
    **_each("`len(batch)`", "size", "num_rows", "batch_size"),
}

#: Methods of ragged arrays.
OF_RAGGED = {
    **_each("`x.pad()` gives an array and a mask", "to_tensor", "to_padded", "to_padded_tensor", "pad_sequence", "numpy", "to_numpy"),
    **_each("`x.values`", "flat_values", "data"),
    **_each("`x.offsets`", "row_splits", "indptr"),
    **_each("`x.lengths`", "row_lengths", "shape"),
    **_each("`x.to_list()`", "tolist", "to_pylist", "unbind"),
}

#: Methods of sparse arrays.
OF_SPARSE = {
    **_each("`x.to_dense()`", "toarray", "todense", "numpy", "to_numpy"),
    **_each("`x.to_scipy()`", "tocsr", "to_csr"),
    **_each("`x.values`", "data"),
}


def hinted(name: str, table: dict[str, str], known: list[str]) -> str:
    """The end of an error about an unknown name: the remedy of the table, or the nearest of the names that are known."""
    if name.startswith("_"):
        return ""
    if (remedy := table.get(name)) is not None:
        return f"; {remedy}"
    # Only an error needs it.
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    return f", did you mean {near[0]!r}?" if near else ""
