//! What a dataset says of itself: names and versions, dataset_info.json, shard files, labels (§1).
